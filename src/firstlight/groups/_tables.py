"""Groups from a Cayley table in memory or in a file."""

import re
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

from firstlight.groups._group import Group
from firstlight.groups._laws import whole_table


def from_table(
    source: Shaped[np.ndarray, "..."] | list | tuple | str | Path,
    name: str | None = None,
    labels: tuple[str, ...] | None = None,
) -> Group:
    """Return the group with a Cayley table, table[g, h] = index of gh counted from 0; the group laws are checked.

    **Arguments:**

    - `source`: (M, M) integers, or the path of a `.csv`, `.txt` (numbers separated by commas, semicolons or
      spaces; `#` starts a comment) or `.npy` file.
    - `name`: name of the group; by default the file's name.
    - `labels`: names of the elements.

    >>> from_table([[0, 1], [1, 0]], name="flip").irreps()[1].character.real
    array([ 1., -1.])
    """
    if isinstance(source, str | Path):
        name = Path(source).stem if name is None else name
        source = _read(Path(source))
    return Group(whole_table(source), name or "table", labels)


def _read(path: Path) -> np.ndarray:
    if not path.is_file():
        raise FileNotFoundError(f"no Cayley table at {path}; give the path of a .csv, .txt or .npy file")
    suffix = path.suffix.lower()
    if suffix == ".npy":
        try:
            return np.load(path, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ValueError(
                f"{path} is not a plain NumPy array of integers ({error}); write it with np.save"
            ) from error
    if suffix not in (".csv", ".txt"):
        raise ValueError(f"a Cayley table is read from a .csv, .txt or .npy file, got {path.name}")
    # utf-8-sig accepts the byte-order mark that spreadsheets write.
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    words = (re.findall(r"[^\s,;]+", line.split("#")[0]) for line in text.splitlines())
    return _parsed([row for row in words if row], path)


def _parsed(rows: list[list[str]], path: Path) -> np.ndarray:
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
