"""Numbers that users paste: checked, stored under their digest, read again by the name in an address."""

import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np

from firstlight._files import write_atomically
from firstlight.lab._form import FormError

MOST_ROWS, MOST_COLUMNS = 2000, 50
_NAME = re.compile(r"[0-9a-f]{24}\.csv")


def keep_pasted(folder: Path, text: Any) -> dict[str, Any]:
    """Check pasted numbers, write them into the folder of the lab and return the name and size of the file.

    A first line without any number is a heading and is left out. A `FormError` names the line that is wrong.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = keep_pasted(Path(folder), "a b y\\n1 2 3\\n4 5 6")
    ...     stored["rows"], stored["columns"], read_pasted(Path(folder), stored["data"])[1]
    (2, 3, array([4., 5., 6.]))
    """
    array = _parsed(text if isinstance(text, str) else "")
    content = "\n".join(",".join(repr(float(value)) for value in row) for row in array) + "\n"
    name = f"{hashlib.sha256(content.encode()).hexdigest()[:24]}.csv"
    write_atomically(folder / name, content.encode())
    return {"data": name, "rows": array.shape[0], "columns": array.shape[1]}


def read_pasted(folder: Path | None, name: str) -> np.ndarray:
    """Return the numbers of a stored file; `ValueError` if the name is not one that `keep_pasted` gave."""
    text = pasted_text(folder, name)
    if text is None:
        raise ValueError("these data are not in this lab any more; paste them again")
    return np.array([[float(word) for word in line.split(",")] for line in text.splitlines()])


def pasted_text(folder: Path | None, name: str) -> str | None:
    """Return a stored file as text, or None if there is none with this name."""
    if folder is None or not _NAME.fullmatch(name):
        return None
    try:
        return (folder / name).read_text(encoding="utf-8")
    except OSError:
        return None


def _parsed(text: str) -> np.ndarray:
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    rows = [(number, re.findall(r"[^\s,;]+", line)) for number, line in lines]
    if rows and not any(_as_number(word) is not None for word in rows[0][1]):
        rows = rows[1:]
    if len(rows) < 2:
        raise FormError({"data": "paste at least two lines of numbers: one example per line, the target last"})
    if len(rows) > MOST_ROWS:
        raise FormError({"data": f"the page takes at most {MOST_ROWS} lines; got {len(rows)}"})
    width = len(rows[0][1])
    if not 2 <= width <= MOST_COLUMNS:
        raise FormError({"data": f"a line needs from 2 to {MOST_COLUMNS} numbers; line {rows[0][0]} has {width}"})
    array = np.empty((len(rows), width))
    for place, (number, words) in enumerate(rows):
        if len(words) != width:
            raise FormError(
                {"data": f"every line needs {width} numbers like the first; line {number} has {len(words)}"}
            )
        for column, word in enumerate(words):
            value = _as_number(word)
            if value is None:
                raise FormError({"data": f"line {number} has {word[:40]!r}, which is no finite number"})
            array[place, column] = value
    return array


def _as_number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
