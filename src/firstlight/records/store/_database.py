"""One SQLite file: opening it with suspicion, reading a snapshot, writing all or nothing.

WAL lets readers work while one process writes. With `synchronous = NORMAL` a commit survives the death of the
process (kill -9) at any moment; after a power cut the file is sound, but the last commits may be missing.
"""

import glob
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from firstlight.records.store import _schema
from firstlight.records.store._errors import StoreError, damaged, translated

BUSY_SECONDS = 10.0
_MAGIC = b"SQLite format 3\0"


class Database:
    """A connection, shared by the threads of a process one transaction at a time."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._turn = threading.RLock()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """All that is read inside is of one moment."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """All that is written inside happens, or nothing of it does."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def execute(self, statement: str) -> list[tuple]:
        """One statement outside any transaction."""
        with self._turn, translated(self.path):
            return self._connection.execute(statement).fetchall()

    def close(self) -> None:
        """Close the connection; the last one out folds the write-ahead log into the file."""
        with self._turn, translated(self.path):
            self._connection.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._turn, translated(self.path):
            connection = self._connection
            if connection.in_transaction:
                yield connection
                return
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise


def open_reader(path: Path) -> Database:
    """Open an existing store for reading, while another process may be writing it."""
    if not path.exists():
        raise StoreError(f"there is no store at {path}; the first record written there creates it.")
    _require_whole(path)
    with translated(path):
        connection = _connect_reader(path)
        try:
            found = _require_version(path, connection)
            if found < _schema.SCHEMA_VERSION:
                raise StoreError(
                    f"the store {path} has schema {found}; this firstlight reads {_schema.SCHEMA_VERSION}. "
                    "Open it once with mode='rw', which brings it up to date."
                )
        except BaseException:
            connection.close()
            raise
    return Database(path, connection)


def open_writer(path: Path) -> Database:
    """Open a store for writing, creating or migrating it. The caller holds the writer's lock."""
    if not path.exists():
        _create(path)
    _require_whole(path)
    with translated(path):
        connection = connect(path, "rw")
        try:
            found = _require_version(path, connection)
            if found < _schema.SCHEMA_VERSION:
                _schema.migrate(connection, found)
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
    return Database(path, connection)


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A bare connection without Python's implicit transactions."""
    return sqlite3.connect(
        f"file:{quote(str(path.resolve()))}?{_MODES[mode]}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


_MODES = {"r": "mode=ro", "rw": "mode=rw", "new": "mode=rwc", "frozen": "immutable=1"}


def log_of(path: Path) -> Path:
    """The write-ahead log that belongs to a store."""
    return path.with_name(f"{path.name}-wal")


def has_log(path: Path) -> bool:
    """Whether commits are waiting in the write-ahead log."""
    try:
        return log_of(path).stat().st_size > 0
    except FileNotFoundError:
        return False


def _connect_reader(path: Path) -> sqlite3.Connection:
    connection = connect(path, "r")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        # A folder that cannot be written (a DVD, a colleague's archive) has no room for the shared index of
        # a log; without a log nobody writes, and the file can be read as it lies.
        if has_log(path) or not ("readonly" in str(error) or "unable to open" in str(error)):
            raise
        return connect(path, "frozen")
    return connection


def _create(path: Path) -> None:
    if has_log(path):
        raise damaged(path, f"the file is gone, but {log_of(path).name} is there")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Made under another name, so that a file under this one is always a whole store.
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.new*"):
        leftover.unlink(missing_ok=True)
    with translated(path):
        connection = connect(new, "new")
        try:
            _schema.create(connection)
        finally:
            connection.close()
    os.replace(new, path)


def _require_whole(path: Path) -> None:
    # A writer that folds its log into the file between our looks makes us see one half old, one half new.
    for pause in (0.02, 0.1, 0.3, 0):
        problem = outside_problem(path)
        if not problem:
            return
        time.sleep(pause)
    raise damaged(path, problem)


def outside_problem(path: Path) -> str:
    """What can be seen to be wrong with a file before SQLite touches it, or nothing."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
        size = path.stat().st_size
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if size == 0:
        return "it is empty (0 bytes), and a store never is"
    if not header.startswith(_MAGIC):
        return "it does not begin like an SQLite file, so it is something else or was overwritten"
    expected = int.from_bytes(header[28:32], "big") * _schema.PAGE_SIZE
    if size != expected and not has_log(path):
        return f"it has {size} bytes where its header says {expected}"
    return ""


def _require_version(path: Path, connection: sqlite3.Connection) -> int:
    found = _schema.version(connection)
    if found is None:
        raise damaged(path, "it is an SQLite file without the marks of a firstlight store")
    if found > _schema.SCHEMA_VERSION:
        raise StoreError(
            f"the store {path} was written by a newer firstlight (schema {found}; this one knows up to "
            f"{_schema.SCHEMA_VERSION}). It was left as it is; upgrade with `pip install -U firstlight`."
        )
    return found
