"""Runs in a store: skipped if already there, streamed during training, resumed bit for bit."""

import functools
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from firstlight import _interrupts as interrupts
from firstlight import flow
from firstlight.records import RunRecord, RunSpec, Store, pin_arrays, run_id
from firstlight.runs._checkpoints import OVER, Checkpoints
from firstlight.runs._compute import (
    OnRecord,
    ProgressOption,
    RunOutcome,
    compute,
    in_batches,
    outcomes_of,
    train,
    without_step,
)
from firstlight.runs._resolve import Resolved, resolve

StoreLike = Store | str | os.PathLike[str]
Folder = str | os.PathLike[str]


def run(
    spec: RunSpec | Resolved,
    *,
    store: StoreLike | None = None,
    resume: bool = True,
    force: bool = False,
    progress: ProgressOption = "auto",
    on_record: Callable[[dict[str, Any]], None] | None = None,
    data: Folder | None = None,
    checkpoint_seconds: float = 30.0,
    allow_large: bool = False,
) -> RunRecord:
    """Train the run that a spec describes and return its record.

    With a `store`, observations are written during training. A run that the store holds as finished or diverged is
    not trained again unless `force`. An interrupted or killed run continues from its checkpoint unless `resume` is
    False, and ends with the same numbers as a run without interruption. Ctrl-C saves the state and raises
    `flow.TrainingInterrupted`. If training diverges or raises, the record says so. An invalid spec raises `SpecError`.

    **Arguments:**

    - `spec`: a spec, or the result of `resolve`, for which `data` and `allow_large` are not needed.
    - `store`: an open store, or the path of a store.
    - `resume`: continue an interrupted run from its checkpoint.
    - `force`: train again even if the store holds the run.
    - `progress`: `"auto"` (a bar on a terminal), `"off"`, or a callback.
    - `on_record`: called with each row of observations, from the thread that trains.
    - `data`: the folder of arrays the spec names; by default the environment variable `FIRSTLIGHT_DATA`.
    - `checkpoint_seconds`: seconds between two checkpoints.
    - `allow_large`: start also a run that does not fit into memory or on the disk, see `estimate`.

    >>> from firstlight.records import spec_from_mapping
    >>> spec = spec_from_mapping({"task": {"group": "Z5"}, "model": {"width": 16}, "steps": 20})
    >>> record = run(spec, progress="off")
    >>> record.status, record.steps, sorted(record.table.columns)
    ('finished', 20, ['test_accuracy', 'test_loss', 'train_accuracy', 'train_loss'])
    """
    callback = (lambda _, row: on_record(row)) if on_record else None

    def resolved(place: Path | None) -> Resolved:
        return spec if isinstance(spec, Resolved) else resolve(spec, data, allow_large=allow_large, store=place)

    if store is None:
        return train([resolved(None)], callback, progress=progress)[0].record
    id = spec.id if isinstance(spec, Resolved) else run_id(pin_arrays(spec, data))
    with writing(store) as opened:
        if not force and opened.run_status(id) in OVER:
            return opened.get_run(id)
        session = _Session(opened, resume and not force, progress, checkpoint_seconds)
        return session.train([resolved(opened.path)], callback)[0].record


def run_many(
    specs: Sequence[RunSpec],
    *,
    store: StoreLike | None = None,
    resume: bool = True,
    force: bool = False,
    progress: ProgressOption = "auto",
    on_record: OnRecord | None = None,
    data: Folder | None = None,
    checkpoint_seconds: float = 30.0,
    keep_weights: bool = True,
    allow_large: bool = False,
) -> list[RunRecord]:
    """Train many specs and return their records in order; specs that share shapes use one compiled program.

    Like `run` for each spec, with two differences: `on_record` is called with (position, row), and a spec that cannot
    be trained gives a record of status `failed`, while the others continue. `keep_weights=False` leaves the weights
    out of the store.

    >>> from firstlight.records import spec_from_mapping
    >>> base = spec_from_mapping({"task": {"group": "Z5"}, "model": {"width": 16}, "steps": 20})
    >>> records = run_many([base.model_copy(update={"seed": s}) for s in range(3)], progress="off")
    >>> [record.spec.seed for record in records]
    [0, 1, 2]
    """
    if store is None:
        options = {"data": data, "progress": progress, "allow_large": allow_large}
        outcomes = compute(specs, on_record=on_record, **options)
        return [outcome.record for outcome in outcomes]
    specs = [pin_arrays(spec, data) for spec in specs]
    ids = [run_id(spec) for spec in specs]
    with writing(store) as opened:
        over = [] if force else [id for id in set(ids) if opened.run_status(id) in OVER]
        left = [i for i, id in enumerate(ids) if id not in over and ids.index(id) == i]
        callback = (lambda place, row: on_record(left[place], row)) if on_record else None
        session = _Session(opened, resume and not force, progress, checkpoint_seconds, keep_weights)
        resolver = functools.partial(resolve, data=data, allow_large=allow_large, store=opened.path)
        for outcome in in_batches([specs[i] for i in left], session.train, resolver, on_record=callback):
            session.keep(outcome)
        return [opened.get_run(id) for id in ids]


@contextmanager
def writing(store: StoreLike, *, wait: float = 0.0) -> Iterator[Store]:
    """Yield an open store as it is; open the store at a path for writing and close it afterwards.

    **Arguments:**

    - `wait`: seconds to wait for another process that writes the store at the path.
    """
    if isinstance(store, Store):
        yield store
    else:
        with Store(store, "rw", wait=wait) as opened:
            yield opened


def keep(store: Store, outcome: RunOutcome) -> RunRecord:
    """Write an outcome with its weights; an unfinished run never replaces a finished or diverged one."""
    record = outcome.record
    if record.status not in OVER and store.run_status(record.id) in OVER:
        return record
    return store.put_run(record, outcome.weights, replace=True)


class _Session:
    """Trains batches of runs into a store."""

    def __init__(
        self,
        store: Store,
        resume: bool,
        progress: ProgressOption,
        checkpoint_seconds: float,
        keep_weights: bool = True,
    ) -> None:
        self._store, self._resume, self._keep_weights = store, resume, keep_weights
        self._options = {"progress": progress, "checkpoint_seconds": checkpoint_seconds}
        self._checkpoints = Checkpoints(store)
        self._checkpoints.clear()
        self._kept: set[str] = set()

    def train(self, runs: Sequence[Resolved], on_record: OnRecord | None) -> list[RunOutcome]:
        """Train runs that share shapes, and write their outcomes."""
        folder = self._checkpoints.folder([run.id for run in runs])
        if not self._resume:
            self._checkpoints.discard(folder)
        with ExitStack() as stack:
            streams = [stack.enter_context(_Stream(self._store, run, self._resume)) for run in runs]

            def forward(lane: int, row: dict[str, Any]) -> None:
                streams[lane].append(row)
                if on_record is not None:
                    on_record(lane, row)

            try:
                outcomes = self._attempt(runs, folder, forward)
            except flow.TrainingInterrupted as stopped:
                self._close(streams, outcomes_of(runs, stopped.trajectory))
                raise
            done = self._close(streams, outcomes)
        self._checkpoints.discard(folder)
        return done

    def keep(self, outcome: RunOutcome) -> RunOutcome:
        """Write an outcome once."""
        if outcome.record.id in self._kept:
            return outcome
        self._kept.add(outcome.record.id)
        stored = outcome if self._keep_weights else RunOutcome(outcome.record)
        return RunOutcome(keep(self._store, stored), outcome.weights)

    def _attempt(self, runs: Sequence[Resolved], folder: Path, forward: OnRecord) -> list[RunOutcome]:
        try:
            return train(runs, forward, checkpoint=folder, resume=self._resume, **self._options)
        except flow.CheckpointError as error:
            # Only time is lost: the run repeats to the same bits.
            warnings.warn(f"{error}. The run starts again from the beginning.", stacklevel=2)
            self._checkpoints.discard(folder)
            return train(runs, forward, checkpoint=folder, **self._options)

    def _close(self, streams: Sequence["_Stream"], outcomes: Sequence[RunOutcome]) -> list[RunOutcome]:
        done = []
        with interrupts.deferred():
            for stream, outcome in zip(streams, outcomes, strict=True):
                stream.close()
                seconds = stream.seconds_before + outcome.record.seconds
                record = outcome.record.model_copy(update={"seconds": seconds})
                done.append(self.keep(RunOutcome(record, outcome.weights)))
        return done


class _Stream:
    """Writes the rows of a run to the store during training; the whole record is written at the end."""

    def __init__(self, store: Store, run: Resolved, resume: bool) -> None:
        status = store.run_status(run.id)
        earlier = store.get_run(run.id) if status == "interrupted" and resume else None
        self.seconds_before = earlier.seconds if earlier else 0.0
        # A finished record stays until its replacement is complete.
        rows = earlier.table.rows() if earlier else ()
        self._handle = None if status in OVER else store.open_run(run.spec, restart=True, rows=rows)

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a row."""
        if self._handle is not None:
            self._handle.append(row["step"], without_step(row))

    def close(self) -> None:
        """Write the buffered rows."""
        if self._handle is not None:
            self._handle.__exit__(None, None, None)

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
