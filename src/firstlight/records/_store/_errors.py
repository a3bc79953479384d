"""What a store says when it cannot do what it was asked."""

import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Any


class StoreError(RuntimeError):
    """A store that cannot be opened, read or written: what happened, and the way out.

    `problem` is what happened without the way out, for those who are on it already.
    """

    def __init__(self, message: str, problem: str = "") -> None:
        super().__init__(message)
        self.problem = problem or message


class Damage(ValueError):
    """A row that does not say what was written into it; it leaves the store as a `StoreError`."""


def damaged(path: str | os.PathLike[str], problem: str) -> StoreError:
    """The error for a file that is not what was written."""
    return StoreError(
        f"the store {path} is damaged: {problem}. It was left as it is. "
        f"List the damage with `firstlight store check {path}`, "
        f"and save all that is readable into a new store with `firstlight store repair {path} NEW.sqlite`.",
        problem,
    )


def require_types(table: str, row: Sequence[Any], *types: type | UnionType) -> None:
    """Refuse a row whose values are not of the types that were written, as a damaged page may yield."""
    if len(row) != len(types) or not all(isinstance(value, kind) for value, kind in zip(row, types, strict=True)):
        raise Damage(f"a row of the table {table} holds values of the wrong type")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors and damaged rows into `StoreError`s that name the file and the way out."""
    try:
        yield
    except Damage as error:
        raise damaged(path, str(error)) from None
    except SQLITE_ERRORS as error:
        raise _translate(path, error) from error


# Python decodes the message of an error, in which SQLite quotes what it found in a damaged file.
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)


_NO_ROOM = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE")
"""SQLite names only `ENOSPC` full; a quota and a limit on the size of files come as failed writes."""


def is_out_of_room(error: Exception) -> bool:
    """Whether SQLite failed because the disk took no more."""
    return getattr(error, "sqlite_errorname", "") in _NO_ROOM


def no_room(path: Path, reason: str) -> StoreError:
    """The error for a disk that takes no more."""
    return StoreError(
        f"no space left to write the store {path} ({reason}): the disk is full, or a quota or a limit on the size of "
        "files is reached. All that was recorded before is there. Free some space and try again."
    )


def unwritable(path: Path, error: OSError) -> StoreError:
    """The error for a place where no file can be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return no_room(path, str(error.strerror))
    return StoreError(f"the store {path} cannot be written ({error.strerror}); choose another place.")


def _translate(path: Path, error: Exception) -> StoreError:
    text = str(error)
    if "closed database" in text:
        return StoreError(f"the store {path} is closed; open it again to use it.")
    if "locked" in text or "busy" in text:
        return StoreError(f"the store {path} stayed locked by another program ({text}); try again.")
    if is_out_of_room(error):
        return no_room(path, text)
    if "readonly" in text or "unable to open" in text or "disk I/O" in text:
        return StoreError(f"the store {path} cannot be used ({text}); check that its folder exists and is writable.")
    return damaged(path, f"SQLite says {text!r}")
