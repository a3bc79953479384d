"""The root page of the table of probes in a file whose first page was rebuilt.

Every table but `probes` has the same root page in every store. A file of version 1 has no probes, and a migrated file
has them on the page that was free at the migration.
"""

import sqlite3
from contextlib import suppress
from pathlib import Path

from firstlight.records._probe import ProbeRecord
from firstlight.records._store import _documents, _schema
from firstlight.records._store._errors import SQLITE_ERRORS, Damage

# The first byte of a page, by SQLite's file format.
_INTERIOR, _LEAF = 0x05, 0x0D
_TABLE_PAGES = (_INTERIOR, _LEAF)
_INDEX_PAGES = (0x02, 0x0A)


def restore_probes(connection: sqlite3.Connection, path: Path) -> None:
    """Make the rebuilt first page of `path` name the root page of its probes; without probes, remove the table."""
    if _stated_version(connection) == "1":
        _edit(connection, "DELETE FROM sqlite_master WHERE tbl_name = 'probes'")
        return
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    content = path.read_bytes()
    row = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'probes'").fetchone()
    # In a migrated file an index lies where a new file has its probes.
    if row is None or _kind(content, row[0]) not in _INDEX_PAGES:
        return
    expected = row[0]
    # The roots of all other tables come before this page.
    counts = {page: _count_probes(connection, page) for page in _table_roots(content) if page > expected}
    best = max(counts, key=lambda page: counts[page], default=expected)
    _move(connection, best if counts.get(best, -1) >= 0 else expected)


def _table_roots(content: bytes) -> list[int]:
    """Return the pages of tables that no other page of a table has as its child."""
    tables = [page for page in range(2, len(content) // _schema.PAGE_SIZE + 1) if _kind(content, page) in _TABLE_PAGES]
    children = {child for page in tables if _kind(content, page) == _INTERIOR for child in _children(content, page)}
    return [page for page in tables if page not in children]


def _children(content: bytes, number: int) -> list[int]:
    page = content[(number - 1) * _schema.PAGE_SIZE : number * _schema.PAGE_SIZE]
    cells = int.from_bytes(page[3:5], "big")
    starts = [8, *(int.from_bytes(page[12 + 2 * cell : 14 + 2 * cell], "big") for cell in range(cells))]
    return [int.from_bytes(page[start : start + 4], "big") for start in starts]


def _kind(content: bytes, page: int) -> int:
    start = (page - 1) * _schema.PAGE_SIZE
    return content[start] if start < len(content) else 0


def _stated_version(connection: sqlite3.Connection) -> str | None:
    try:
        row = connection.execute("SELECT value FROM meta NOT INDEXED WHERE key = 'schema'").fetchone()
    except SQLITE_ERRORS:
        return None
    return row[0] if row else None


def _count_probes(connection: sqlite3.Connection, page: int) -> int:
    """Return how many probes are readable from a root page; -1 if its rows are not probes."""
    _move(connection, page)
    rows = probes = 0
    try:
        for row in connection.execute("SELECT record, digest FROM probes NOT INDEXED ORDER BY rowid"):
            rows += 1
            with suppress(Damage, TypeError, ValueError):
                _documents.document(ProbeRecord, *row)
                probes += 1
    except SQLITE_ERRORS:
        pass  # Repair reads the rows after the damage by their numbers.
    return probes if probes or not rows else -1


def _move(connection: sqlite3.Connection, page: int) -> None:
    _edit(connection, "UPDATE sqlite_master SET rootpage = ? WHERE name = 'probes'", page)


def _edit(connection: sqlite3.Connection, statement: str, *values: int) -> None:
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(statement, values)
    connection.execute("PRAGMA writable_schema = RESET")
