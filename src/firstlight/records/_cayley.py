"""Files with the Cayley table of a user's group; `groups` checks the group laws."""

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

TABLE_FILES = (".csv", ".txt", ".npy")
"""The endings of files with a Cayley table."""

LARGEST_FILE = 500_000_000
"""Bytes of the largest file that is read; the largest table, of order 5040, needs 203 MB as int64."""


def read_cayley(path: str | os.PathLike[str]) -> "np.ndarray":
    """Read the numbers of a `.csv`, `.txt` or `.npy` file; raise ValueError if they are no table of numbers."""
    import numpy as np

    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"no Cayley table at {file}; give the path of a .csv, .txt or .npy file")
    suffix = file.suffix.lower()
    if suffix not in TABLE_FILES:
        raise ValueError(f"a Cayley table is read from a .csv, .txt or .npy file, got {file.name}")
    if (size := file.stat().st_size) > LARGEST_FILE:
        raise ValueError(f"{file} has {size:,} bytes; a Cayley table of the largest order, 5040, needs fewer")
    if suffix == ".npy":
        try:
            return np.load(file, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ValueError(
                f"{file} is not a plain NumPy array of integers ({error}); write it with np.save"
            ) from error
    # utf-8-sig accepts the byte-order mark that spreadsheets write.
    text = file.read_text(encoding="utf-8-sig", errors="replace")
    words = (re.findall(r"[^\s,;]+", line.split("#")[0]) for line in text.splitlines())
    return _parsed([row for row in words if row], file)


def digest_cayley(table: Any) -> str:
    """Return the SHA-256 of a table of whole numbers; the type of the numbers and the format of the file do not matter.

    >>> digest_cayley([[0, 1], [1, 0]]) == digest_cayley([[0.0, 1.0], [1.0, 0.0]])
    True
    """
    import numpy as np

    numbers = np.asarray(table)
    try:
        whole = np.ascontiguousarray(numbers, dtype="<i8")
        same = numbers.ndim == 2 and bool((whole == numbers).all())
    except (TypeError, ValueError, OverflowError):
        same = False
    if not same:
        raise ValueError(f"a Cayley table is a square table of whole numbers, got {repr(table)[:80]}")
    return hashlib.sha256(f"cayley{whole.shape}".encode() + whole.tobytes()).hexdigest()


def _parsed(rows: list[list[str]], path: Path) -> "np.ndarray":
    import numpy as np

    table = []
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"the rows of {path} must have equal lengths, but row 0 has {len(rows[0])} entries and "
                f"row {i} has {len(row)}"
            )
        try:
            table.append([float(word) for word in row])
        except ValueError as error:
            raise ValueError(
                f"{path} must hold the indices of elements only, 0…M−1, but row {i} is not all numbers "
                f"({error}); leave out headers"
            ) from error
    return np.array(table)
