"""The tables of a store, their version, and the migration of older files."""

import sqlite3

from firstlight.records._base import utc_now

APPLICATION_ID = 0x46_4C_48_54
PAGE_SIZE = 4096
SCHEMA_VERSION = 2
OLDEST_READABLE = 1
"""The oldest version that a reader takes as it is; it has no table of probes."""

_PROBES = "CREATE TABLE probes (id TEXT NOT NULL, record TEXT NOT NULL, digest TEXT UNIQUE NOT NULL)"

# Every table has a rowid, by which repair finds rows without indexes. Tables come before indexes, so that their root
# pages are the same as in an empty store; only a migrated file has its probes elsewhere (see `_roots`).
_TABLES = (
    "CREATE TABLE meta (key TEXT UNIQUE NOT NULL, value TEXT NOT NULL)",
    """CREATE TABLE runs (id TEXT UNIQUE NOT NULL, status TEXT NOT NULL,
                          record TEXT NOT NULL, data BLOB, digest TEXT NOT NULL, observed INTEGER)""",
    """CREATE TABLE rows (run TEXT NOT NULL, step INTEGER NOT NULL, scalars TEXT NOT NULL, arrays BLOB,
                          checksum INTEGER NOT NULL, UNIQUE (run, step))""",
    """CREATE TABLE claims (id TEXT NOT NULL, scale TEXT NOT NULL, record TEXT NOT NULL,
                            digest TEXT UNIQUE NOT NULL)""",
    "CREATE TABLE fits (id TEXT NOT NULL, record TEXT NOT NULL, digest TEXT UNIQUE NOT NULL)",
    "CREATE TABLE figures (digest TEXT UNIQUE NOT NULL, header TEXT NOT NULL, blob TEXT NOT NULL)",
    "CREATE TABLE links (owner TEXT NOT NULL, blob TEXT NOT NULL, UNIQUE (owner, blob))",
    _PROBES,
    "CREATE INDEX claims_by_id ON claims (id, scale)",
    "CREATE INDEX links_by_blob ON links (blob)",
)

MIGRATIONS: dict[int, tuple[str, ...]] = {1: (_PROBES,)}
"""Version → statements that migrate a file to the next version."""


def create(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty file."""
    connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("INSERT INTO meta VALUES ('created', ?)", (utc_now(),))
    _set_version(connection, SCHEMA_VERSION)
    connection.execute("COMMIT")


def version(connection: sqlite3.Connection) -> int | None:
    """Return the schema version, which the file states twice; None if the file is not a store."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        return None
    stated = connection.execute("PRAGMA user_version").fetchone()[0]
    noted = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    return stated if noted == (str(stated),) else None


def has_probes(connection: sqlite3.Connection) -> bool:
    """Return whether the file has a table of probes, which version 1 lacks."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'probes'").fetchone() is not None


def migrate(connection: sqlite3.Connection, old_version: int) -> None:
    """Migrate a file of an older version to the current version, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in range(old_version, SCHEMA_VERSION):
            for statement in MIGRATIONS[step]:
                connection.execute(statement)
        _set_version(connection, SCHEMA_VERSION)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _set_version(connection: sqlite3.Connection, number: int) -> None:
    connection.execute(f"PRAGMA user_version = {number}")
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('schema', ?)", (str(number),))
