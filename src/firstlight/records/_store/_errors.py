"""Errors of the store, each with a way to fix it."""

import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Any


class StoreError(RuntimeError):
    """Raised if a store cannot be opened, read or written; the message has the problem and a fix.

    `problem` is the message without the fix, for callers that already apply the fix.
    """

    def __init__(self, message: str, problem: str = "") -> None:
        super().__init__(message)
        self.problem = problem or message


class Damage(ValueError):
    """Raised inside the store for a damaged row; callers of the store see a `StoreError`."""


def damaged(path: str | os.PathLike[str], problem: str) -> StoreError:
    """Return the error for a damaged file."""
    return StoreError(
        f"the store {path} is damaged: {problem}. It was left as it is. "
        f"List the damage with `firstlight store check {path}`, "
        f"and save all that is readable into a new store with `firstlight store repair {path} NEW.sqlite`.",
        problem,
    )


def require_types(table: str, row: Sequence[Any], *types: type | UnionType) -> None:
    """Raise `Damage` for a row with values of wrong types, which a damaged page may yield."""
    if len(row) != len(types) or not all(isinstance(value, kind) for value, kind in zip(row, types, strict=True)):
        raise Damage(f"a row of the table {table} holds values of the wrong type")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors and damaged rows into `StoreError`s with the file and a fix."""
    try:
        yield
    except Damage as error:
        raise damaged(path, str(error)) from None
    except SQLITE_ERRORS as error:
        raise _translate(path, error) from error


# SQLite quotes the content of a damaged file in its messages, which Python may fail to decode.
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)


_NO_ROOM = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE")
"""SQLite reports only `ENOSPC` as full; a quota or a limit on file sizes appears as a failed write."""


def is_out_of_room(error: Exception) -> bool:
    """Return whether SQLite failed because the disk is full."""
    return getattr(error, "sqlite_errorname", "") in _NO_ROOM


def no_room(path: Path, reason: str) -> StoreError:
    """Return the error for a full disk."""
    return StoreError(
        f"no space left to write the store {path} ({reason}): the disk is full, or a quota or a limit on the size of "
        "files is reached. All that was recorded before is there. Free some space and try again."
    )


def unwritable(path: Path, error: OSError) -> StoreError:
    """Return the error for a place where no file can be written."""
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
