"""Connections to an SQLite file, and its write-ahead log."""

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

from firstlight.records._store._errors import StoreError, is_out_of_room

BUSY_SECONDS = 10.0
_MODES = {"r": "mode=ro", "rw": "mode=rw", "new": "mode=rwc", "frozen": "immutable=1"}


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a connection without Python's implicit transactions."""
    return sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?{_MODES[mode]}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open a read-only connection, also in a folder that cannot be written."""
    connection = connect(path, "r")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        text = str(error)
        if not ("readonly" in text or "unable to open" in text or is_out_of_room(error)):
            raise
        # A folder that cannot be written (a DVD, a colleague's archive, a full disk) has no room for the shared
        # index of a log. Without a log there is no writer, and the file can be read as it is.
        if has_log(path):
            raise StoreError(
                f"the store {path} cannot be read here ({text}): records wait in {log_of(path).name}, and reading them "
                "needs a folder that can be written. Copy the store with its log and its arrays to such a folder, "
                f"or run `firstlight store repair {path} NEW.sqlite`."
            ) from error
        return connect(path, "frozen")
    return connection


def log_of(path: Path) -> Path:
    """Return the path of a store's write-ahead log."""
    return path.with_name(f"{path.name}-wal")


def has_log(path: Path) -> bool:
    """Return whether the write-ahead log holds commits."""
    try:
        return log_of(path).stat().st_size > 0
    except FileNotFoundError:
        return False
