"""Groups from a Cayley table in memory or in a file, and groups of specs."""

import io
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from firstlight._files import read_from_cache, write_to_cache
from firstlight.groups._group import Group
from firstlight.groups._laws import whole_table
from firstlight.groups._parse import order_of, parse
from firstlight.records import GroupTask, SpecError
from firstlight.records._cayley import TABLE_FILES, digest_cayley, read_cayley
from firstlight.records._identity import find_arrays


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
        source = read_cayley(source)
    return Group(whole_table(source), name or "table", labels)


def as_group(value: Group | str | Path | Shaped[np.ndarray, "..."] | list | tuple) -> Group:
    """Return a group from itself, its name, its Cayley table, or a file with the table.

    **Arguments:**

    - `value`: a `Group`; a name such as "S4"; (M, M) integers; or the path of a `.csv`, `.txt` or `.npy` file.

    >>> as_group("Z5").order, as_group([[0, 1], [1, 0]]).order
    (5, 2)
    """
    if isinstance(value, Group):
        return value
    if isinstance(value, Path) or (isinstance(value, str) and Path(value).suffix.lower() in TABLE_FILES):
        return from_table(value)
    return parse(value) if isinstance(value, str) else from_table(value)


def of_task(task: GroupTask, data: str | os.PathLike[str] | None = None) -> Group:
    """Return the group of a spec's task: the group with its name, or of its Cayley table.

    A table is read from its file. It is also written to the user's cache folder, so that a stored run can be shown
    after the file has moved.

    **Arguments:**

    - `task`: the task of a spec.
    - `data`: the folder of files that specs name; by default the environment variable `FIRSTLIGHT_DATA`.

    >>> of_task(GroupTask(group="S3")).order
    6
    """
    if task.table is None:
        return parse(task.group)
    return _with_digest(task.table, task.digest, task.group, None if data is None else os.fspath(data))


def order_of_task(task: GroupTask, data: str | os.PathLike[str] | None = None) -> int:
    """Return the order of the group of a spec's task, without building the table of a named group.

    >>> order_of_task(GroupTask(group="Z5000"))
    5000
    """
    return order_of(task.group) if task.table is None else of_task(task, data).order


@lru_cache(maxsize=32)
def _known(digest: str, name: str) -> list[Group]:
    """Return a place for the group with a digest: a list that is empty until the table has been read."""
    return []


def _with_digest(path: str, digest: str, name: str, data: str | None) -> Group:
    known = _known(digest, name) if digest else []
    if known:
        return known[0]
    problem: Exception | None = None
    try:
        table: Any = read_cayley(find_arrays(path, data, field="task.table"))
    except SpecError as error:
        problem, table = error, _cached(digest)
        if table is None:
            raise
    group = from_table(table, name)
    if problem is None:
        if digest and digest != (own := group.digest):
            raise SpecError(
                [
                    f"task.digest: the table in {path!r} has digest {own[:12]}…, the spec names {digest[:12]}…; "
                    "give the file it was written for, or leave digest out"
                ]
            )
        _cache(group)
    known.append(group)
    return group


def _cached(digest: str) -> np.ndarray | None:
    content = read_from_cache(f"tables/{digest}.npy") if digest else None
    if content is None:
        return None
    try:
        table = np.load(io.BytesIO(content), allow_pickle=False)
        return table if digest_cayley(table) == digest else None
    except (ValueError, EOFError):
        return None


def _cache(group: Group) -> None:
    name = f"tables/{group.digest}.npy"
    if read_from_cache(name) is None:
        buffer = io.BytesIO()
        np.save(buffer, group.table.astype(np.int32))
        write_to_cache(name, buffer.getvalue())
