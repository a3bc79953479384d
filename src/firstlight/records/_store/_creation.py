"""Create a store under a temporary name, then rename it."""

import glob
import os
from pathlib import Path

from firstlight._files import sync_folder
from firstlight.records._store import _schema
from firstlight.records._store._connection import connect, has_log, log_of
from firstlight.records._store._errors import SQLITE_ERRORS, StoreError, damaged, no_room, translated, unwritable


def create(path: Path) -> None:
    """Create an empty store atomically. The caller holds the writer's lock."""
    if has_log(path):
        raise damaged(path, f"the file is gone, but {log_of(path).name} is there")
    _remove_attempts(path)
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with translated(path):
            _lay_out(new)
        problem = _problem(new)
        if problem:
            raise no_room(path, problem)
        _sync(new)
        if os.path.lexists(path):
            raise StoreError(f"another program has just created {path}; it was left as it is. Name another file.")
        os.rename(new, path)
        sync_folder(path.parent)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        _remove_attempts(path)


def _lay_out(new: Path) -> None:
    connection = connect(new, "new")
    try:
        _schema.create(connection)
    finally:
        connection.close()


def _problem(new: Path) -> str:
    """Return what a full disk has left out of a new file, or ''; closing a connection reports no such error."""
    pages, rest = divmod(new.stat().st_size, _schema.PAGE_SIZE)
    if rest or has_log(new):
        return "the new file is cut short"
    connection = connect(new, "frozen")
    try:
        complaints = [text for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
        if complaints or connection.execute("PRAGMA page_count").fetchone() != (pages,):
            return "the new file is not whole"
        return "" if _schema.version(connection) == _schema.SCHEMA_VERSION else "the new file lacks its tables"
    except SQLITE_ERRORS as error:
        return f"the new file is not whole, {error}"
    finally:
        connection.close()


def _sync(new: Path) -> None:
    descriptor = os.open(new, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_attempts(path: Path) -> None:
    """Delete the temporary files of this attempt and of killed attempts."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.new*"):
        leftover.unlink(missing_ok=True)
