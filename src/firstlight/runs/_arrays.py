"""A user's arrays: where they are, and how large they are, without reading them."""

import math
import os
import zipfile
from pathlib import Path

import numpy as np

from firstlight._files import DATA_VARIABLE, data_directory
from firstlight.records import ArraysTask, SpecError

_CLASSES = 100
"""Outputs assumed for a target of classes."""


def find_arrays(path: str, data: str | os.PathLike[str] | None) -> Path:
    """The file itself, or the one of that name in the data folder."""
    folder = data_directory(data)
    places = [Path(path)] + ([folder / path] if folder else [])
    for place in places:
        if _exists(place):
            return place
    looked = f"; also looked in {folder}" if folder else f"; give its folder with --data or {DATA_VARIABLE}"
    raise SpecError([f"task.path: there is no file {path!r} here{looked}"])


def array_shapes(task: ArraysTask, data: str | os.PathLike[str] | None = None) -> tuple[int, int, int, int]:
    """Rows, columns, outputs and bytes of the arrays X and y by the headers of their file; zeros if it is damaged.

    A file that cannot be read is explained where it is read. Classes are not counted before they are read.
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


def _exists(place: Path) -> bool:
    try:
        return place.exists()
    except (OSError, ValueError):  # a name that no file can have: too long, or with a null byte
        return False
