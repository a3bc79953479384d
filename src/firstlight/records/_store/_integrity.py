"""Check that all records and files of a store are intact, bit for bit."""

import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from firstlight.records._claim import ClaimRecord
from firstlight.records._fit import FitRecord
from firstlight.records._probe import ProbeRecord
from firstlight.records._store import _documents, _runs, _schema
from firstlight.records._store._blobs import Blobs, blobs_of
from firstlight.records._store._database import Database, open_reader
from firstlight.records._store._errors import Damage, StoreError
from firstlight.records._store._path import locate


@dataclass(frozen=True)
class IntegrityReport:
    """The result of checking a store.

    **Attributes:**

    - `path`: the file of the store.
    - `database`: SQLite's own complaints.
    - `records`: records that do not match their digests.
    - `missing`: missing files that records need.
    - `corrupt`: damaged files that records need.
    - `orphans`: files that no record needs; they are harmless, and active or killed writers leave some.
    - `counts`: the number of records of each kind.
    """

    path: Path
    database: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    corrupt: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no record or file is lost or damaged."""
        return not (self.database or self.records or self.missing or self.corrupt)

    def lines(self) -> list[str]:
        """Return the report as text, the verdict first, then one finding per line."""
        held = ", ".join(f"{count} {what}" for what, count in self.counts)
        verdict = "sound" if self.ok else "damaged"
        lines = [f"{self.path} is {verdict}: {held}." if held else f"{self.path} is {verdict}."]
        for words, findings in (
            ("database", self.database),
            ("damaged record", self.records),
            ("missing file", self.missing),
            ("damaged file", self.corrupt),
            ("file no record needs", self.orphans),
        ):
            lines += [f"{words}: {finding}" for finding in findings]
        if not self.ok:
            lines.append(f"Save what is readable: firstlight store repair {self.path} NEW.sqlite")
        return lines


def check_store(path: str | os.PathLike[str]) -> IntegrityReport:
    """Check a store, even if it is too damaged to open; raise only if the file does not exist."""
    file = locate(path)
    if not file.exists():
        raise StoreError(f"there is no store at {file}.")
    try:
        database = open_reader(file)
    except StoreError as error:
        return IntegrityReport(file, database=(error.problem,))
    try:
        return inspect(file, database, blobs_of(file))
    finally:
        database.close()


def inspect(path: Path, database: Database, blobs: Blobs) -> IntegrityReport:
    """Read every row and every file of an open store."""
    try:
        complaints = tuple(text for (text,) in database.execute("PRAGMA integrity_check") if text != "ok")
        with database.read() as connection:
            records = tuple(_damaged_records(connection, blobs))
            needed = {name for (name,) in connection.execute("SELECT blob FROM links")}
            problems = {name: blobs.problem(name) for name in sorted(needed)}
            kinds = ("runs", "claims", "fits", "figures", *("probes",) * _schema.has_probes(connection))
            counts = tuple((kind, connection.execute(f"SELECT count(*) FROM {kind}").fetchone()[0]) for kind in kinds)
    except StoreError as error:
        return IntegrityReport(path, database=(error.problem,))
    return IntegrityReport(
        path,
        database=complaints,
        records=records,
        missing=tuple(name for name, problem in problems.items() if problem == "missing"),
        corrupt=tuple(name for name, problem in problems.items() if problem == "damaged"),
        orphans=tuple(sorted(set(blobs.names()) - needed)),
        counts=counts,
    )


def _damaged_records(connection: sqlite3.Connection, blobs: Blobs) -> Iterator[str]:
    for id, _ in _runs.listing(connection):
        try:
            _runs.load(connection, id)
        except Damage as damage:
            yield str(damage)
    probes = ((ProbeRecord, "probes"),) * _schema.has_probes(connection)
    for kind, table in ((ClaimRecord, "claims"), (FitRecord, "fits"), *probes):
        for text, digest in connection.execute(f"SELECT record, digest FROM {table}"):
            try:
                _documents.document(kind, text, digest)
            except Damage as damage:
                yield str(damage)
    for row in connection.execute("SELECT digest, header, blob FROM figures"):
        try:
            _documents.figure(blobs, *row)
        except (Damage, StoreError) as damage:
            yield str(damage)
