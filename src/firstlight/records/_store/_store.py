"""The store: runs, claims, fits, probes and figures in one SQLite file, arrays in a folder beside it."""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

import numpy as np

from firstlight.records._base import Record
from firstlight.records._claim import ClaimRecord, ClaimScale
from firstlight.records._fit import FitRecord
from firstlight.records._identity import run_id
from firstlight.records._notebook import html_rows
from firstlight.records._probe import ProbeRecord
from firstlight.records._run import RunRecord
from firstlight.records._spec import RunSpec
from firstlight.records._status import RunStatus
from firstlight.records._store import _documents, _runs, _schema
from firstlight.records._store._blobs import SAFETENSORS, blobs_of, pack, unpack
from firstlight.records._store._database import open_reader, open_writer, require_a_store
from firstlight.records._store._errors import StoreError, damaged
from firstlight.records._store._integrity import IntegrityReport, inspect
from firstlight.records._store._lock import WriterLock
from firstlight.records._store._path import locate, require_own_folders
from firstlight.records._store._stream import RunHandle, remove_unlinked
from firstlight.records._table import Row
from firstlight.records._titles import run_title
from firstlight.records.figure import FigureData

R = TypeVar("R", bound=Record)


class Store:
    """A store of records, each written completely or not at all, even if the writer is killed.

    One process opens the store with `mode="rw"`; any number of processes read at the same time with `mode="r"`.
    The attribute `path` is the absolute path, with every symbolic link followed.

    **Arguments:**

    - `path`: the file of the store; `"rw"` creates it if it does not exist.
    - `mode`: `"r"` to read, `"rw"` to read and write.
    - `wait`: how many seconds a writer waits for another writer; readers never wait.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store(f"{folder.name}/runs.sqlite", "rw") as store:
    ...     with store.open_run(RunSpec(seed=1)) as run:
    ...         run.append(0, {"loss": 1.0})
    ...         run.append(10, {"loss": 0.25})
    ...         record = run.finish("finished", weights={"final": {"W": np.eye(2)}})
    >>> with Store(f"{folder.name}/runs.sqlite") as store:
    ...     store.get_run(record.id[:8]).table["loss"].tolist(), store.weights(record.id)["W"].shape
    ([1.0, 0.25], (2, 2))
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], mode: Literal["r", "rw"] = "r", *, wait: float = 0.0) -> None:
        if mode not in ("r", "rw"):
            raise ValueError(f"mode is 'r' or 'rw'; got {mode!r}")
        self.path = locate(path)
        self.mode = mode
        self._blobs = blobs_of(self.path)
        self._handles: dict[str, RunHandle] = {}
        self._lock: WriterLock | None = None
        if mode == "r":
            self._database = open_reader(self.path)
            return
        # Check everything else before the lock creates a file.
        require_own_folders(self.path)
        require_a_store(self.path)
        self._lock = WriterLock(self.path, wait)
        try:
            self._database = open_writer(self.path, self._lock.require_held)
        except BaseException:
            self._lock.release()
            raise

    def put_run(
        self,
        record: RunRecord,
        weights: Mapping[str, Mapping[str, np.ndarray]] | None = None,
        *,
        replace: bool = False,
    ) -> RunRecord:
        """Write a whole run and return the stored record.

        A stored `finished` run stays unless `replace`; a run with another status is replaced.
        `weights` maps a name such as `final` to named arrays.
        """
        self._require_closed(record.id)
        with self._writing() as connection:
            if _runs.status(connection, record.id) == "finished" and not replace:
                return _runs.load(connection, record.id)
            old = _runs.files(connection, record.id)
            record = self._with_files(record, weights or {})
            _runs.insert(connection, record)
        remove_unlinked(self._database, self._blobs, old)
        return record

    def put_runs(self, runs: Iterable[tuple[RunRecord, Mapping[str, Mapping[str, np.ndarray]]]]) -> int:
        """Write whole runs in one transaction, replacing stored ones; return their number.

        All of them are stored or none. One transaction takes a hundredth of the time of one per run.
        """
        count, old = 0, set()
        with self._writing() as connection:
            for record, weights in runs:
                self._require_closed(record.id)
                old |= _runs.files(connection, record.id)
                _runs.insert(connection, self._with_files(record, weights))
                count += 1
        remove_unlinked(self._database, self._blobs, old)
        return count

    def run_digests(self) -> dict[str, tuple[RunStatus, str]]:
        """Return status and digest of every run's record by id, without reading the records."""
        with self._database.read() as connection:
            return _runs.digests(connection)

    def open_run(self, spec: RunSpec, *, restart: bool = False, rows: Sequence[Row] = ()) -> RunHandle:
        """Begin a run; it replaces a stored run that is not `finished`, or any stored run with `restart`.

        `rows` are the first observations, such as the rows of the replaced run. Readers see the old rows or the new
        rows, never an empty run.
        """
        record = RunRecord(spec=spec, status="interrupted", message="not finished")
        self._require_closed(record.id)
        with self._writing() as connection:
            if _runs.status(connection, record.id) == "finished" and not restart:
                raise StoreError(
                    f"run {record.id[:12]} is already finished; read it with get_run, or pass restart=True."
                )
            old = _runs.files(connection, record.id)
            _runs.insert(connection, record, in_progress=True)
            handle = RunHandle(self._database, self._blobs, record)
            for step, values in rows:
                handle.append(step, values)
            if rows:
                handle.commit()
        remove_unlinked(self._database, self._blobs, old)
        self._handles[record.id] = handle
        return handle

    def get_run(self, run: str | RunSpec) -> RunRecord:
        """Return the record of a run, given by its spec, its id or the first digits of its id."""
        with self._database.read() as connection:
            return _runs.load(connection, self._id(connection, run))

    def run_status(self, run: str | RunSpec) -> RunStatus | None:
        """Return how a run ended, without reading its record; None if the store does not have the run."""
        id = run_id(run) if isinstance(run, RunSpec) else run
        with self._database.read() as connection:
            return _runs.status(connection, id)  # type: ignore[return-value]

    def rows_from(self, run: str | RunSpec, first: int = 0) -> list[Row]:
        """Return the rows of a run from number `first` on, in the order of steps; rows are numbered from 0.

        Reading the last rows of a run in progress does not read the others.
        """
        if first < 0:
            raise ValueError(f"first must be at least 0; got {first}")
        with self._database.read() as connection:
            id = self._id(connection, run)
            rows = _runs.rows_from(connection, id, first)
            return [*_runs.load(connection, id).table.rows(first)] if rows is None else rows

    def run_ids(self, status: RunStatus | None = None) -> list[str]:
        """Return the ids of all runs, or of the runs with a status, in the order of writing."""
        with self._database.read() as connection:
            return [id for id, stored in _runs.listing(connection) if status in (stored, None)]

    def runs(self, status: RunStatus | None = None) -> list[RunRecord]:
        """Return a snapshot of all records, or of the records with a status."""
        with self._database.read() as connection:
            return [_runs.load(connection, id) for id in self.run_ids(status)]

    def recent_runs(self, count: int = 20) -> list[RunRecord]:
        """Return the last written records, newest first, without their rows and figures: enough for a list of runs."""
        with self._database.read() as connection:
            return _runs.recent(connection, count)

    def runs_frame(self):
        """Return a data frame with one row per run: its outcome, the fields of its spec, its summary."""
        from firstlight.records._store import _frames

        return _frames.runs_frame(self.runs())

    def weights(self, run: str | RunSpec | RunRecord, name: str = "final") -> dict[str, np.ndarray]:
        """Return the arrays stored under a name with a run; a record of this store is not read again."""
        record = run if isinstance(run, RunRecord) else self.get_run(run)
        if name not in record.weights:
            names = ", ".join(record.weights) or "none"
            raise StoreError(f"run {record.id[:12]} has no weights under {name!r}; its weights are: {names}.")
        try:
            return unpack(self._blobs.read(record.weights[name] + SAFETENSORS))
        except StoreError:
            # A writer may have replaced the run between the two reads.
            stored = self.get_run(record.id)
            if stored.weights == record.weights:
                raise
            return self.weights(stored, name)

    def delete_run(self, run: str | RunSpec) -> str:
        """Remove a run with its files and return its id."""
        with self._writing() as connection:
            id = self._id(connection, run)
            self._require_closed(id)
            old = _runs.files(connection, id)
            _runs.delete(connection, id)
        remove_unlinked(self._database, self._blobs, old)
        return id

    def export_run(self, run: str | RunSpec, directory: str | os.PathLike[str]) -> Path:
        """Write a run as JSON, TOML, CSV and safetensors files, readable without firstlight."""
        from firstlight.records._store import _export

        return _export.export_run(self.get_run(run), self._blobs, Path(directory))

    def put_claim(self, record: ClaimRecord) -> None:
        """Add the outcome of a check; earlier outcomes stay."""
        with self._writing() as connection:
            _documents.insert_claim(connection, record)

    def get_claim(self, id: str, scale: ClaimScale | None = None) -> ClaimRecord:
        """Return the latest outcome of a claim, at a given scale or at any scale."""
        query = "SELECT record, digest, max(rowid) FROM claims WHERE id = ? AND ? IN (scale, '') GROUP BY id"
        records = self._parsed(ClaimRecord, query, (id, scale or ""))
        if not records:
            raise StoreError(f"this store has no outcome of claim {id!r}; `firstlight reproduce {id}` makes one.")
        return records[0]

    def claims(self, *, latest: bool = True) -> list[ClaimRecord]:
        """Return the latest outcome of each claim at each scale, or all outcomes."""
        of = "GROUP BY id, scale" if latest else "GROUP BY rowid"
        query = f"SELECT record, digest, max(rowid) FROM claims {of} ORDER BY max(rowid)"
        return self._parsed(ClaimRecord, query)

    def claims_frame(self):
        """Return a data frame with the latest outcome of each claim at each scale."""
        from firstlight.records._store import _frames

        return _frames.claims_frame(self.claims())

    def put_fit(self, record: FitRecord) -> None:
        """Add the outcome of fitting an estimator."""
        with self._writing() as connection:
            _documents.insert_fit(connection, record)

    def fits(self) -> list[FitRecord]:
        """Return all fits, in the order they were written."""
        return self._parsed(FitRecord, "SELECT record, digest, rowid FROM fits ORDER BY rowid")

    def get_fit(self, id: str) -> FitRecord:
        """Return the latest fit with an id."""
        records = self._parsed(FitRecord, "SELECT record, digest, max(rowid) FROM fits WHERE id = ? GROUP BY id", (id,))
        if not records:
            raise StoreError(f"this store has no fit {id[:12]!r}; it may have been made in another store.")
        return records[0]

    def put_probe(self, record: ProbeRecord) -> None:
        """Add the outcome of probing a model."""
        with self._writing() as connection:
            _documents.insert_probe(connection, record)

    def probes(self) -> list[ProbeRecord]:
        """Return all probes, in the order they were written."""
        with self._database.read() as connection:
            if not _schema.has_probes(connection):
                return []
            return self._parsed(ProbeRecord, "SELECT record, digest, rowid FROM probes ORDER BY rowid")

    def get_probe(self, id: str) -> ProbeRecord:
        """Return the latest probe with an id."""
        record = next((record for record in reversed(self.probes()) if record.id == id), None)
        if record is None:
            raise StoreError(f"this store has no probe {id[:12]!r}; it may have been made in another store.")
        return record

    def put_figure(self, figure: FigureData) -> str:
        """Store a figure and return its digest."""
        with self._writing() as connection:
            _documents.insert_figure(connection, self._blobs, figure)
        return figure.digest

    def get_figure(self, digest: str) -> FigureData:
        """Return the figure with this digest."""
        with self._database.read() as connection:
            query = "SELECT digest, header, blob FROM figures WHERE digest = ?"
            row = connection.execute(query, (digest,)).fetchone()
            if row is None:
                raise StoreError(f"no figure with the digest {digest[:12]} is in this store.")
            return _documents.figure(self._blobs, *row)

    def figures_of(self, claims: Sequence[ClaimRecord]) -> tuple[FigureData, ...]:
        """Return the figures that claims name by their digests, each once."""
        digests = dict.fromkeys(digest for claim in claims for digest in claim.figures)
        return tuple(self.get_figure(digest) for digest in digests)

    def integrity_check(self) -> IntegrityReport:
        """Read all records and files and compare them with their digests."""
        return inspect(self.path, self._database, self._blobs)

    def collect_garbage(self) -> tuple[str, ...]:
        """Delete files that no record needs, such as files of a killed writer, and return their names."""
        with self._writing():
            report = self.integrity_check()
            if report.database or report.records:
                # In a damaged store, an unneeded file may be all that is left of a record.
                raise damaged(self.path, (report.database + report.records)[0])
            for name in report.orphans:
                self._blobs.remove(name)
            leftovers = [path.name for path in self._blobs.sweep()]
        return (*report.orphans, *leftovers)

    def vacuum(self) -> None:
        """Collect garbage and free the disk space of deleted records."""
        self.collect_garbage()
        self._database.execute("VACUUM")

    def close(self) -> None:
        """Commit the buffered rows of open runs, close the store and release the writer's lock."""
        with ExitStack() as stack:
            if self._lock:
                stack.callback(self._lock.release)
                self._lock = None
            stack.callback(self._database.close)
            # A run that cannot be committed does not prevent the commits of the others.
            for handle in self._handles.values():
                stack.push(handle)

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r}, {self.mode!r})"

    def _repr_html_(self) -> str:
        ids = self.run_ids()
        newest = [self.get_run(id) for id in reversed(ids[-8:])]
        rows = [(run.id[:12], run_title(run.spec), run.spec.seed, run.status) for run in newest]
        kinds = {"run": ids, "claim": self.claims(), "fit": self.fits(), "probe": self.probes()}
        held = ", ".join(f"{len(of)} {kind}{'s' * (len(of) != 1)}" for kind, of in kinds.items() if of) or "empty"
        runs = html_rows(("run", "title", "seed", "status"), rows, "the newest runs") if rows else ""
        return f"<p><b>{escape(repr(self))}</b>: {held}</p>{runs}"

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        self._require_writer()
        with self._database.write() as connection:
            yield connection

    def _require_writer(self) -> None:
        if self.mode != "rw":
            raise StoreError(f"the store {self.path} is open for reading; open it with mode='rw' to write.")

    def _require_closed(self, id: str) -> None:
        if id in self._handles and self._handles[id].is_open:
            raise StoreError(f"run {id[:12]} is open in this process; finish it first.")

    def _with_files(self, record: RunRecord, weights: Mapping[str, Mapping[str, np.ndarray]]) -> RunRecord:
        """Write the weights of a run as files; return the record that names them."""
        blobs = {name: self._blobs.put(pack(arrays)) for name, arrays in weights.items()}
        digests = {name: blob.removesuffix(SAFETENSORS) for name, blob in blobs.items()}
        self._require_files(record.weights, given=digests)
        if not digests:
            return record
        return RunRecord.model_validate({**dict(record), "weights": {**record.weights, **digests}})

    def _require_files(self, weights: Mapping[str, str], given: Mapping[str, str]) -> None:
        for name in weights.keys() - given.keys():
            problem = self._blobs.problem(weights[name] + SAFETENSORS)
            if problem:
                raise StoreError(f"the weights {name!r} of the record are {problem} in this store; pass the arrays.")

    def _id(self, connection: sqlite3.Connection, run: str | RunSpec) -> str:
        return _runs.find(connection, run_id(run) if isinstance(run, RunSpec) else run)

    def _parsed(self, kind: type[R], query: str, arguments: tuple[Any, ...] = ()) -> list[R]:
        with self._database.read() as connection:
            rows = connection.execute(query, arguments).fetchall()
            return [_documents.document(kind, text, digest) for text, digest, _ in rows]
