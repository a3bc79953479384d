"""Runs in the database: a finished run is one row, a run in progress is a row and a log of observations."""

import json
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from firstlight.records._canonical import canonical_json
from firstlight.records._run import RunRecord
from firstlight.records._shorten import shorten
from firstlight.records._store._blobs import SAFETENSORS, pack, unpack
from firstlight.records._store._errors import Damage, StoreError, require_types
from firstlight.records._table import Row, Table
from firstlight.records.figure import FigureData


def find(connection: sqlite3.Connection, key: str) -> str:
    """Return the id of the only run whose id begins with `key`."""
    pattern = (key, key + "g")  # ids are hexadecimal, so ids that begin with key are between these two
    matches = [id for (id,) in connection.execute("SELECT id FROM runs WHERE id >= ? AND id < ? LIMIT 5", pattern)]
    if len(matches) == 1:
        return matches[0]
    if matches and key:
        shown = ", ".join(id[:12] for id in matches)
        raise StoreError(f"several runs begin with {key!r} ({shown}, …); give more digits.")
    raise StoreError(f"no run in this store has an id that begins with {key!r}; `firstlight runs list` shows them.")


def status(connection: sqlite3.Connection, id: str) -> str | None:
    """Return the status of the run, or None if the store does not have the run."""
    row = connection.execute("SELECT status FROM runs WHERE id = ?", (id,)).fetchone()
    return row and row[0]


def listing(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return id and status of every run, in the order of writing."""
    rows = connection.execute("SELECT id, status FROM runs NOT INDEXED ORDER BY rowid").fetchall()
    # The table and its index are two lists of the same runs; a damaged page drops a run from one of them.
    if len(rows) != connection.execute("SELECT count(*) FROM runs INDEXED BY sqlite_autoindex_runs_1").fetchone()[0]:
        raise Damage("the table of runs and its index disagree")
    for row in rows:
        require_types("runs", row, str, str)
    return rows


def recent(connection: sqlite3.Connection, count: int) -> list[RunRecord]:
    """Return the last written records, newest first, without rows and figures; no digest is checked."""
    rows = connection.execute("SELECT id, record FROM runs NOT INDEXED ORDER BY rowid DESC LIMIT ?", (count,))
    records = []
    for row in rows.fetchall():
        require_types("runs", row, str, str)
        try:
            records.append(RunRecord.model_validate({**json.loads(row[1]), "figures": (), "table": Table()}))
        except (ValueError, TypeError, RecursionError) as error:
            raise Damage(f"run {row[0][:12]} cannot be read ({str(error).splitlines()[0]})") from None
    return records


def digests(connection: sqlite3.Connection) -> dict[str, tuple[Any, str]]:
    """Return status and digest of every run by id."""
    rows = connection.execute("SELECT id, status, digest FROM runs").fetchall()
    for row in rows:
        require_types("runs", row, str, str, str)
    return {id: (status, digest) for id, status, digest in rows}


def insert(connection: sqlite3.Connection, record: RunRecord, *, in_progress: bool = False) -> None:
    """Write the record, replacing any earlier record of this run."""
    delete(connection, record.id)
    data = None if in_progress else pack({**record.table.arrays, **_figure_arrays(record)})
    row = (record.id, record.status, _text(record), data, record.digest, 0 if in_progress else None)
    connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", row)
    _link(connection, record)


def stored_bytes(record: RunRecord) -> int:
    """Return the bytes of a record in the database, without its weights."""
    return len(_text(record).encode()) + len(pack({**record.table.arrays, **_figure_arrays(record)}))


def update(connection: sqlite3.Connection, record: RunRecord) -> None:
    """Rewrite the record of a run in progress without changing its observations."""
    values = (_text(record), record.digest, record.id)
    connection.execute("UPDATE runs SET record = ?, digest = ? WHERE id = ?", values)
    connection.execute("DELETE FROM links WHERE owner = ?", (f"run:{record.id}",))
    _link(connection, record)


def delete(connection: sqlite3.Connection, id: str) -> None:
    """Remove the run from all tables; its files stay."""
    connection.execute("DELETE FROM runs WHERE id = ?", (id,))
    connection.execute("DELETE FROM rows WHERE run = ?", (id,))
    connection.execute("DELETE FROM links WHERE owner = ?", (f"run:{id}",))


def files(connection: sqlite3.Connection, id: str) -> set[str]:
    """Return the names of the files that the run needs."""
    return {name for (name,) in connection.execute("SELECT blob FROM links WHERE owner = ?", (f"run:{id}",))}


def unlinked(connection: sqlite3.Connection, names: set[str]) -> list[str]:
    """Return the files that no record needs."""
    query = "SELECT 1 FROM links WHERE blob = ?"
    return [name for name in sorted(names) if not connection.execute(query, (name,)).fetchone()]


def load(connection: sqlite3.Connection, id: str) -> RunRecord:
    """Return the whole record, checked against its digest."""
    row = connection.execute("SELECT * FROM runs WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise Damage(f"run {id[:12]} is listed but not there")
    record, observed = decode(row), row[5]
    if observed is None:
        return record
    rows = observations(connection, id)
    if len(rows) != observed:
        raise Damage(f"run {id[:12]} has {len(rows)} of its {observed} observations")
    return record.model_copy(update={"table": Table.from_rows(rows)})


def decode(row: Sequence[Any]) -> RunRecord:
    """Return a stored record, checked against its digest; a run in progress has no observations yet."""
    require_types("runs", row, str, str, str, bytes | None, str, int | None)
    id, status, text, data, digest, _ = row
    try:
        values, arrays = json.loads(text), None if data is None else unpack(data)
        values["figures"] = _take_figures(values.get("figures", ()), arrays or {})
        values["table"] = Table() if arrays is None else Table.from_arrays(arrays)
        record = RunRecord.model_validate(values)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Damage(f"run {id[:12]} cannot be read ({str(error).splitlines()[0]})") from None
    if (record.digest, record.id, record.status) != (digest, id, status):
        raise Damage(f"run {id[:12]} does not match its digest")
    return record


def observations(connection: sqlite3.Connection, id: str) -> list[Row]:
    """Return the rows of a run in progress, in the order of steps."""
    query = "SELECT run, step, scalars, arrays, checksum FROM rows WHERE run = ? ORDER BY step"
    return [decode_row(row) for row in connection.execute(query, (id,))]


def rows_from(connection: sqlite3.Connection, id: str, first: int) -> list[Row] | None:
    """Return the rows of a run in progress from number `first` on, or None if the run has ended."""
    observed = connection.execute("SELECT observed FROM runs WHERE id = ?", (id,)).fetchone()
    if observed is None or observed[0] is None:
        return None
    query = "SELECT run, step, scalars, arrays, checksum FROM rows WHERE run = ? ORDER BY step LIMIT -1 OFFSET ?"
    return [decode_row(row) for row in connection.execute(query, (id, first))]


def decode_row(row: Sequence[Any]) -> Row:
    """Return a stored observation, checked against its checksum."""
    require_types("rows", row, str, int, str, bytes | None, int)
    id, step, scalars, arrays, stored = row
    if checksum(id, step, scalars, arrays) != stored:
        raise Damage(f"run {id[:12]} at step {step} does not match its checksum")
    try:
        values: dict[str, Any] = {name: float(value) for name, value in json.loads(scalars).items()}
        return step, {**values, **(unpack(arrays) if arrays else {})}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Damage(f"run {id[:12]} at step {step} cannot be read ({shorten(str(error), 80)})") from None


def append(connection: sqlite3.Connection, id: str, rows: Sequence[Row]) -> None:
    """Add observations; an observation replaces an earlier one of the same step."""
    encoded = [(id, step, *_encode(values)) for step, values in rows]
    statement = "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?)"
    connection.executemany(statement, [(*row, checksum(*row)) for row in encoded])
    _count(connection, id)


def checksum(*parts: Any) -> int:
    """Return the CRC-32 of the parts, which detects a flipped bit."""
    total = 0
    for part in parts:
        content = part if isinstance(part, bytes) else repr(part).encode()
        total = zlib.crc32(content, zlib.crc32(b"%d:" % len(content), total))
    return total


def _count(connection: sqlite3.Connection, id: str) -> None:
    # The count reveals rows that were lost with a damaged page.
    count = "SELECT count(*) FROM rows WHERE run = ?"
    connection.execute(f"UPDATE runs SET observed = ({count}) WHERE id = ?", (id, id))


def _link(connection: sqlite3.Connection, record: RunRecord) -> None:
    links = [(f"run:{record.id}", digest + SAFETENSORS) for digest in record.weights.values()]
    connection.executemany("INSERT OR IGNORE INTO links VALUES (?, ?)", links)


def _text(record: RunRecord) -> str:
    """Return the record as JSON, with the headers of its figures but without the arrays of table and figures."""
    headers = [figure.header() for figure in record.figures]
    return canonical_json({**record.model_dump(exclude={"table", "figures"}), "figures": headers})


def _figure_arrays(record: RunRecord) -> dict[str, np.ndarray]:
    return {
        f"figures/{number}/{name}": array
        for number, figure in enumerate(record.figures)
        for name, array in figure.arrays.items()
    }


def _take_figures(headers: Sequence[Mapping[str, Any]], arrays: dict[str, np.ndarray]) -> tuple[FigureData, ...]:
    """Build the figures from their headers; their arrays are removed from `arrays`."""
    figures = []
    for number, header in enumerate(headers):
        own = {name: arrays.pop(f"figures/{number}/{name}") for name in header["arrays"]}
        figures.append(FigureData.from_parts(header, own))
    return tuple(figures)


def _encode(values: Mapping[str, Any]) -> tuple[str, bytes | None]:
    scalars = {name: float(value) for name, value in values.items() if np.ndim(value) == 0}
    arrays = {name: value for name, value in values.items() if name not in scalars}
    return canonical_json(scalars), pack(arrays) if arrays else None
