"""One SQLite file: checks on opening, snapshots for readers, transactions for writers.

WAL lets readers work while one process writes. With `synchronous = NORMAL` a commit survives the death of the
process (kill -9) at any moment. After a power cut the file is intact, but the last commits may be missing.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from firstlight.records._store import _schema
from firstlight.records._store._connection import connect, connect_reader, has_log
from firstlight.records._store._creation import create
from firstlight.records._store._errors import StoreError, damaged, translated
from firstlight.records._store._head import Connected, read_head

_MAGIC = b"SQLite format 3\0"


class Database:
    """A connection that the threads of a process share, one transaction at a time."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        connected: Connected,
        before_writing: Callable[[], None] | None = None,
    ) -> None:
        self.path = path
        self._connection, self._connected = connection, connected
        self._before_writing = before_writing
        self._file = os.stat(path)
        self._turn = threading.RLock()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction in which all reads see the same state."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction in which all writes take effect together or not at all."""
        self._require_in_place()
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def execute(self, statement: str) -> list[tuple]:
        """Execute one statement outside any transaction."""
        with self._turn, translated(self.path):
            return self._connection.execute(statement).fetchall()

    def close(self) -> None:
        """Close the connection; the last connection folds the write-ahead log into the file."""
        with self._turn, translated(self.path):
            self._connection.close()
            self._connected.release()

    def _require_in_place(self) -> None:
        """Raise if the file was moved, replaced or deleted: the next reader would not find the record."""
        try:
            is_same = os.path.samestat(self._file, os.stat(self.path))
        except OSError:
            is_same = False
        if not is_same:
            raise StoreError(
                f"the store {self.path} was moved, replaced or deleted while it was open. "
                "Nothing more was written; put the file back, or open the store again."
            )
        if self._before_writing:
            self._before_writing()

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
    with ExitStack() as stack, translated(path):
        connected = Connected(path)
        stack.callback(connected.release)
        connection = connect_reader(path)
        stack.callback(connection.close)
        version = _require_version(path, connection)
        if version < _schema.OLDEST_READABLE:
            raise StoreError(
                f"the store {path} has schema {version}; this firstlight reads {_schema.OLDEST_READABLE}. "
                "Open it once with mode='rw', which brings it up to date."
            )
        stack.pop_all()
        return Database(path, connection, connected)


def open_writer(path: Path, before_writing: Callable[[], None] | None = None) -> Database:
    """Open a store for writing, creating or migrating it. The caller holds the writer's lock.

    `before_writing` is called before each transaction and raises to prevent it.
    """
    if not path.exists():
        create(path)
    _require_whole(path)
    if not os.access(path, os.W_OK):
        raise StoreError(f"the store {path} is read-only; allow writing (`chmod u+w`), or write another store.")
    with ExitStack() as stack, translated(path):
        connected = Connected(path)
        stack.callback(connected.release)
        connection = connect(path, "rw")
        stack.callback(connection.close)
        version = _require_version(path, connection)
        if version < _schema.SCHEMA_VERSION:
            _schema.migrate(connection, version)
        connection.execute("PRAGMA synchronous = NORMAL")
        stack.pop_all()
        return Database(path, connection, connected, before_writing)


def _require_whole(path: Path) -> None:
    # If a writer folds its log into the file between two reads, header and size may disagree for a moment.
    for pause in (0.02, 0.1, 0.3, 0):
        problem = outside_problem(path)
        if not problem:
            return
        time.sleep(pause)
    raise damaged(path, problem)


def require_a_store(path: Path) -> None:
    """Raise for a file that was never a store, by marks in the header that writing never changes."""
    try:
        header = read_head(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise damaged(path, f"it cannot be read ({error.strerror})") from None
    if not header.startswith(_MAGIC):
        raise damaged(path, outside_problem(path))
    if header[68:72] != _schema.APPLICATION_ID.to_bytes(4, "big"):
        raise damaged(path, "it is an SQLite file without the marks of a firstlight store")


def outside_problem(path: Path) -> str:
    """Return what is visibly wrong with a file before SQLite opens it, or ''."""
    try:
        header = read_head(path)
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
    version = _schema.version(connection)
    if version is None:
        raise damaged(path, "it is an SQLite file without the marks of a firstlight store")
    if version > _schema.SCHEMA_VERSION:
        raise StoreError(
            f"the store {path} was written by a newer firstlight (schema {version}; this one knows up to "
            f"{_schema.SCHEMA_VERSION}). It was left as it is; upgrade with `pip install -U firstlight`."
        )
    return version
