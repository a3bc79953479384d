"""A run in progress: observations go to the store during the run."""

import sqlite3
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import numpy as np

from firstlight.records._run import RunRecord
from firstlight.records._status import RunStatus
from firstlight.records._store import _runs
from firstlight.records._store._blobs import SAFETENSORS, Blobs, pack
from firstlight.records._store._database import Database
from firstlight.records._store._errors import StoreError
from firstlight.records._table import Row, Table

COMMIT_ROWS = 64
COMMIT_SECONDS = 1.0


class RunHandle:
    """Writes one run. Until `finish`, readers see the run as `interrupted` with the rows committed so far.

    Rows are buffered. A full buffer is committed, and so is a buffer older than a second when the next row comes.
    """

    def __init__(self, database: Database, blobs: Blobs, record: RunRecord) -> None:
        self.id = record.id
        self.spec = record.spec
        self._database, self._blobs, self._record = database, blobs, record
        self._buffer: list[Row] = []
        self._last_step = 0
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._begun = time.monotonic()
        self._committed = self._begun
        self._open = True

    @property
    def seconds(self) -> float:
        """Seconds since the run was opened."""
        return time.monotonic() - self._begun

    @property
    def is_open(self) -> bool:
        """Whether more rows can be written."""
        return self._open

    def append(self, step: int, values: Mapping[str, float | np.ndarray]) -> None:
        """Add the observations after `step` steps: numbers, or arrays whose shape stays the same."""
        self._require_open()
        for name, value in values.items():
            if name == "step":
                raise ValueError("'step' is the index of a table; give the observable another name")
            shape = np.shape(value)
            if self._shapes.setdefault(name, shape) != shape:
                raise ValueError(f"observable {name!r} had shape {self._shapes[name]}; got {shape}")
        self._buffer.append((int(step), dict(values)))
        self._last_step = max(self._last_step, int(step))
        if len(self._buffer) >= COMMIT_ROWS or time.monotonic() - self._committed >= COMMIT_SECONDS:
            self.commit()

    def commit(self) -> None:
        """Write the buffered rows now."""
        self._require_open()
        with self._database.write() as connection:
            self._flush(connection)
        self._flushed()

    def finish(
        self,
        status: RunStatus = "finished",
        *,
        steps: int | None = None,
        seconds: float | None = None,
        message: str = "",
        summary: Mapping[str, Any] | None = None,
        weights: Mapping[str, Mapping[str, np.ndarray]] | None = None,
    ) -> RunRecord:
        """Close the run and return its record.

        `weights` maps a name such as `final` to named arrays. `steps` is the last recorded step if not given.
        """
        self._require_open()
        said = {
            "status": status,
            "steps": self._last_step if steps is None else steps,
            "seconds": self.seconds if seconds is None else seconds,
            "message": message,
            "summary": dict(summary or {}),
        }
        with self._database.write() as connection:
            old = _runs.files(connection, self.id)
            self._flush(connection)
            blobs = {name: self._blobs.put(pack(arrays)) for name, arrays in (weights or {}).items()}
            said["weights"] = {name: blob.removesuffix(SAFETENSORS) for name, blob in blobs.items()}
            record = RunRecord.model_validate({**dict(self._record), **said})
            if status == "interrupted":
                _runs.update(connection, record)
            else:
                table = Table.from_rows(_runs.observations(connection, self.id))
                _runs.insert(connection, record.model_copy(update={"table": table}))
            record = _runs.load(connection, self.id)
        self._flushed()
        self._open = False
        remove_unlinked(self._database, self._blobs, old)
        return record

    def __enter__(self) -> "RunHandle":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self.commit()
            self._open = False

    def _flush(self, connection: sqlite3.Connection) -> None:
        _runs.append(connection, self.id, self._buffer)
        so_far = {"steps": self._last_step, "seconds": self.seconds}
        _runs.update(connection, self._record.model_copy(update=so_far))

    def _flushed(self) -> None:
        # After the commit: if the transaction fails, the rows must still be here for another attempt.
        self._buffer = []
        self._committed = time.monotonic()

    def _require_open(self) -> None:
        if not self._open:
            raise StoreError(f"run {self.id[:12]} is closed; open it again with open_run to write more.")


def remove_unlinked(database: Database, blobs: Blobs, names: set[str]) -> None:
    """Delete the given files that no committed record needs."""
    with database.read() as connection:
        gone = _runs.unlinked(connection, names)
    for name in gone:
        blobs.remove(name)
