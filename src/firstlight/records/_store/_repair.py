"""Save the readable records of a damaged store into a new store. The damaged store is only read."""

import itertools
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firstlight.records._claim import ClaimRecord
from firstlight.records._fit import FitRecord
from firstlight.records._probe import ProbeRecord
from firstlight.records._run import RunRecord
from firstlight.records._store import _documents, _roots, _runs, _schema
from firstlight.records._store._blobs import SAFETENSORS, Blobs, blobs_of
from firstlight.records._store._connection import connect, has_log, log_of
from firstlight.records._store._database import open_writer, outside_problem
from firstlight.records._store._errors import SQLITE_ERRORS, Damage, StoreError
from firstlight.records._store._lock import WriterLock, without_writers
from firstlight.records._store._path import locate, require_own_folders
from firstlight.records._table import Row
from firstlight.records.figure import FigureData

# After this many consecutive row numbers without a row, the search for rows stops.
_GIVE_UP = 20_000


@dataclass(frozen=True)
class RepairReport:
    """The number of saved records by kind, and one line for each loss."""

    source: Path
    output: Path
    saved: tuple[tuple[str, int], ...]
    lost: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return the report as text."""
        saved = ", ".join(f"{count} {kind}" for kind, count in self.saved)
        lines = [f"saved {saved} from {self.source} into {self.output}"]
        return [*lines, *(f"lost: {line}" for line in self.lost)] if self.lost else [*lines, "nothing was lost"]


@dataclass
class _Salvage:
    runs: list[RunRecord] = field(default_factory=list)
    started: list[RunRecord] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    claims: list[ClaimRecord] = field(default_factory=list)
    fits: list[FitRecord] = field(default_factory=list)
    figures: list[FigureData] = field(default_factory=list)
    probes: list[ProbeRecord] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def counts(self) -> tuple[tuple[str, int], ...]:
        runs = len(self.runs) + len(self.started)
        return (
            ("runs", runs),
            ("claims", len(self.claims)),
            ("fits", len(self.fits)),
            ("figures", len(self.figures)),
            ("probes", len(self.probes)),
        )

    def total(self) -> int:
        return sum(count for _, count in self.counts()) + sum(map(len, self.rows.values()))


def repair_store(path: str | os.PathLike[str], output: str | os.PathLike[str], *, wait: float = 0.0) -> RepairReport:
    """Write every intact record of `path` into a new store at `output`.

    `path` may be read-only. `wait` is how many seconds to wait for a process that writes `path`.
    """
    source, target = locate(path), locate(output)
    require_own_folders(target)
    if target.exists():
        raise StoreError(f"{target} exists already; name a file that does not, to keep the saved records in.")
    if not source.exists() and not has_log(source):
        raise StoreError(f"there is no store at {source}.")
    blobs = blobs_of(source)
    with without_writers(source, wait):
        salvage = _best(source, blobs)
    if salvage is None:
        held = sum(1 for _ in blobs.names())
        raise StoreError(f"nothing in {source} is readable. {held} files of arrays are still in {blobs.folder}.")
    _write(salvage, blobs, target)
    return RepairReport(source, target, salvage.counts(), tuple(salvage.lost))


def _best(source: Path, blobs: Blobs) -> _Salvage | None:
    """Read copies of the file, each with more of it rebuilt, and return the reading with the most records."""
    readings: list[tuple[_Salvage, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (with_log, mended) in enumerate(itertools.product((True, False), (0, 100, _schema.PAGE_SIZE))):
            if with_log and not has_log(source):
                continue
            copy = Path(folder) / f"{number}.sqlite"
            _copy(source, copy, mended, with_log)
            salvage = _read_copy(copy, blobs, rebuilt=mended >= _schema.PAGE_SIZE)
            if salvage:
                readings.append((salvage, "its beginning had to be rebuilt" if mended else ""))
                if not salvage.lost:
                    break
    if not readings:
        return None
    best, rebuilt = max(readings, key=lambda reading: (reading[0].total(), -len(reading[0].lost)))
    problem = outside_problem(source) or rebuilt
    if problem:
        best.lost.insert(0, f"whatever was in the damaged parts of the file: {problem}")
    return best if best.total() or not best.lost else None


def _copy(source: Path, copy: Path, mended: int, with_log: bool) -> None:
    """Copy the store and replace its first `mended` bytes, and missing first pages, by those of an empty store."""
    content = source.read_bytes() if source.exists() else b""
    if mended:
        empty = _empty_store(copy.with_suffix(".empty"))
        content = empty[:mended] + content[mended:] + empty[max(len(content), mended) :]
        pages = len(content) // _schema.PAGE_SIZE
        content = content[:28] + pages.to_bytes(4, "big") + content[32:]
    copy.write_bytes(content)
    if with_log:
        shutil.copyfile(log_of(source), log_of(copy))


def _empty_store(path: Path) -> bytes:
    open_writer(path).close()
    return path.read_bytes()


def _read_copy(copy: Path, blobs: Blobs, *, rebuilt: bool) -> _Salvage | None:
    try:
        connection = connect(copy, "rw")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if rebuilt:
                with suppress(*SQLITE_ERRORS):
                    _roots.restore_probes(connection, copy)
            return _read(connection, blobs)
        finally:
            connection.close()
    except SQLITE_ERRORS:
        return None


def _read(connection: sqlite3.Connection, blobs: Blobs) -> _Salvage:
    salvage = _Salvage()
    for row in _rows(connection, "runs", salvage.lost):
        with _noting(salvage.lost):
            record = _runs.decode(row)
            (salvage.runs if row[5] is None else salvage.started).append(record)
    for row in _rows(connection, "rows", salvage.lost):
        with _noting(salvage.lost):
            salvage.rows.setdefault(row[0], []).append(_runs.decode_row(row))
    for row in _rows(connection, "claims", salvage.lost):
        with _noting(salvage.lost):
            salvage.claims.append(_documents.document(ClaimRecord, *row[2:4]))
    for row in _rows(connection, "fits", salvage.lost):
        with _noting(salvage.lost):
            salvage.fits.append(_documents.document(FitRecord, *row[1:3]))
    for row in _rows(connection, "figures", salvage.lost):
        with _noting(salvage.lost):
            salvage.figures.append(_documents.figure(blobs, *row))
    for row in _rows(connection, "probes", salvage.lost) if _schema.has_probes(connection) else ():
        with _noting(salvage.lost):
            salvage.probes.append(_documents.document(ProbeRecord, *row[1:3]))
    return salvage


def _rows(connection: sqlite3.Connection, table: str, lost: list[str]) -> Iterator[tuple[Any, ...]]:
    """Yield every readable row: in order until an error, then by trying one row number at a time."""
    number = 0
    try:
        for row in connection.execute(f"SELECT *, rowid FROM {table} NOT INDEXED ORDER BY rowid"):
            number = row[-1]
            yield row[:-1]
        return
    except SQLITE_ERRORS as error:
        lost.append(f"some of the table {table} ({error})")
        if "no such" in str(error) or "malformed database schema" in str(error):
            return
    misses = 0
    while misses < _GIVE_UP:
        number += 1
        try:
            row = connection.execute(f"SELECT * FROM {table} WHERE rowid = ?", (number,)).fetchone()
        except SQLITE_ERRORS:
            row = None
        misses = 0 if row else misses + 1
        if row:
            yield row


def _write(salvage: _Salvage, old: Blobs, target: Path) -> None:
    lock = WriterLock(target)
    try:
        database = open_writer(target)
        try:
            with database.write() as connection:
                _insert(connection, salvage, old, blobs_of(target))
        except BaseException:
            database.close()
            # The next attempt needs the name; arrays are used again or collected as garbage.
            for file in (target, log_of(target)):
                file.unlink(missing_ok=True)
            raise
        database.close()
    finally:
        lock.release()


def _insert(connection: sqlite3.Connection, salvage: _Salvage, old: Blobs, new: Blobs) -> None:
    for record in salvage.runs:
        _runs.insert(connection, _with_files(record, old, new, salvage.lost))
    for record in salvage.started:
        _runs.insert(connection, _with_files(record, old, new, salvage.lost), in_progress=True)
        _runs.append(connection, record.id, salvage.rows.get(record.id, []))
    for claim in salvage.claims:
        _documents.insert_claim(connection, claim)
    for fit in salvage.fits:
        _documents.insert_fit(connection, fit)
    for figure in salvage.figures:
        _documents.insert_figure(connection, new, figure)
    for probe in salvage.probes:
        _documents.insert_probe(connection, probe)


def _with_files(record: RunRecord, old: Blobs, new: Blobs, lost: list[str]) -> RunRecord:
    saved = {}
    for name, digest in record.weights.items():
        with _noting(lost):
            new.put(old.read(digest + SAFETENSORS))
            saved[name] = digest
    return record.model_copy(update={"weights": saved})


@contextmanager
def _noting(lost: list[str]) -> Iterator[None]:
    """Add an error of the block to the list instead of raising it."""
    try:
        yield
    except (Damage, StoreError, TypeError, ValueError) as error:
        lost.append(str(error))
