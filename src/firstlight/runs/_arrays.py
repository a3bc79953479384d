"""The sizes of a user's arrays, without reading them."""

import math
import os
import zipfile

import numpy as np

from firstlight.records import ArraysTask
from firstlight.records._identity import find_arrays

_CLASSES = 100
"""Outputs assumed for a target of classes."""


def array_shapes(task: ArraysTask, data: str | os.PathLike[str] | None = None) -> tuple[int, int, int, int]:
    """Return rows, columns, outputs and bytes of the arrays X and y, from the headers of their file.

    All are zero if the file is damaged; reading the file explains why. Classes are not counted before they are read.
    """
    try:
        with zipfile.ZipFile(find_arrays(task.path, data)) as file:
            heads = {name: _header(file, f"{name}.npy") for name in ("X", "y")}
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, NotImplementedError, SyntaxError):
        return 0, 0, 0, 0
    (X, of_x), (y, of_y) = heads["X"], heads["y"]
    rows, columns = (*X, 1, 1)[:2]
    outputs = y[1] if len(y) > 1 else 1 if of_y.kind == "f" else min(rows, _CLASSES)
    return rows, columns, outputs, math.prod(X) * of_x.itemsize + math.prod(y) * of_y.itemsize


def _header(file: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype]:
    with file.open(name) as array:
        version = np.lib.format.read_magic(array)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(array)
    return shape, dtype
