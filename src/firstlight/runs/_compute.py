"""Training without a store: specs that share shapes are trained together by one compiled program."""

import functools
import hashlib
import os
import shutil
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from firstlight import flow, models
from firstlight.records import RunRecord, RunSpec, SpecError, StoreError, Table, canonical_json, pin_arrays
from firstlight.runs._complete import complete
from firstlight.runs._resolve import Resolved, resolve

Weights = dict[str, dict[str, np.ndarray]]
ProgressOption = Literal["auto", "off"] | Callable[[flow.Progress], None]
OnRecord = Callable[[int, dict[str, Any]], None]

MAX_LANES = 32
"""Largest number of runs in one call; a larger number needs more memory and is not faster."""


_RATES = {"learning_rate", "weight_decay"}
_DRAW = {"init", "scale"}


@dataclass(frozen=True)
class RunOutcome:
    """A run's record with the weights it leaves: `final`, and `step-<n>` for each snapshot."""

    record: RunRecord
    weights: Weights = field(default_factory=dict)


Trainer = Callable[[Sequence[Resolved], OnRecord | None], list[RunOutcome]]
"""A function that trains runs with equal `batch_key`."""


def batch_key(spec: RunSpec) -> str:
    """Return the part of a spec that runs trained together must share: all but seed, name, rates and initial weights.

    >>> a = RunSpec.model_validate({"seed": 1, "optimizer": {"learning_rate": 0.1}})
    >>> batch_key(a) == batch_key(RunSpec()), batch_key(a) == batch_key(RunSpec(steps=10))
    (True, False)
    """
    free = {"name": True, "seed": True, "optimizer": _RATES, "model": _DRAW}
    return canonical_json(spec.model_dump(exclude=free))  # type: ignore[arg-type]


def batches(specs: Sequence[RunSpec], most: int = MAX_LANES) -> list[list[int]]:
    """Return the positions of specs that can be trained together, at most `most` in a batch, in order of appearance.

    >>> batches([RunSpec(seed=0), RunSpec(seed=1, steps=9), RunSpec(seed=2)])
    [[0, 2], [1]]
    """
    alike: dict[str, list[int]] = {}
    for i, spec in enumerate(specs):
        alike.setdefault(batch_key(spec), []).append(i)
    return [group[k : k + most] for group in alike.values() for k in range(0, len(group), most)]


def compute(
    specs: Sequence[RunSpec],
    *,
    data: str | os.PathLike[str] | None = None,
    progress: ProgressOption = "auto",
    on_record: OnRecord | None = None,
    keep_weights: bool = True,
    allow_large: bool = False,
    checkpoints: Path | None = None,
    checkpoint_seconds: float = 30.0,
) -> list[RunOutcome]:
    """Train every spec and return the outcomes in order; nothing but checkpoints is written to disk.

    A spec that cannot be trained gives a record of status `failed` with the traceback. So does a spec that does not
    fit into memory, unless `allow_large`. With `checkpoints`, a folder, an interrupted or killed call continues where
    it stopped if it is repeated with the same specs, and ends with the same numbers. The caller removes the folder
    once the outcomes are stored.

    >>> spec = RunSpec.model_validate({"task": {"group": "Z5"}, "model": {"width": 8}, "steps": 5})
    >>> [outcome.record.status for outcome in compute([spec], progress="off")]
    ['finished']
    """
    specs = [pin_arrays(spec, data) for spec in specs]
    ready = functools.partial(resolve, data=data, allow_large=allow_large)
    trainer = (
        functools.partial(_train_resumably, folder=checkpoints, seconds=checkpoint_seconds, progress=progress)
        if checkpoints is not None
        else functools.partial(train, progress=progress)
    )
    outcomes = in_batches(specs, trainer, ready, on_record=on_record)
    return outcomes if keep_weights else [RunOutcome(outcome.record) for outcome in outcomes]


def in_batches(
    specs: Sequence[RunSpec],
    trainer: Trainer,
    resolver: Callable[[RunSpec], Resolved],
    *,
    on_record: OnRecord | None,
) -> list[RunOutcome]:
    """Pass the specs to `trainer` in batches that share shapes; a spec that cannot be resolved fails alone."""
    outcomes: dict[int, RunOutcome] = {}
    for batch in batches(specs):
        ready: dict[int, Resolved] = {}
        for i in batch:
            try:
                ready[i] = resolver(specs[i])
            except Exception as error:
                outcomes[i] = RunOutcome(failure(specs[i], error))
        if ready:
            callback = _renumbered(on_record, list(ready))
            outcomes.update(zip(ready, trainer(list(ready.values()), callback), strict=True))
    return [outcomes[i] for i in range(len(specs))]


def train(
    runs: Sequence[Resolved],
    on_record: OnRecord | None = None,
    *,
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 30.0,
    resume: bool = False,
    progress: ProgressOption = "auto",
) -> list[RunOutcome]:
    """Train runs with equal `batch_key` in one call; a run that raises fails alone."""
    first = runs[0]
    try:
        trajectory = flow.train_lanes(
            [run.lane for run in runs],
            loss=first.spec.loss,
            steps=first.spec.steps,
            recording=first.spec.recording,
            observables=first.observables,
            stop=first.spec.stop,
            snapshots=first.snapshots,
            checkpoint=checkpoint,
            checkpoint_seconds=checkpoint_seconds,
            resume=resume,
            progress=progress,
            on_record=on_record,
        )
    except (flow.CheckpointError, StoreError):
        raise  # the files failed, not the runs
    except Exception as error:
        if len(runs) == 1:
            return [RunOutcome(failure(first.spec, error))]
        # The engine does not say which run raised; trained alone, only that run fails.
        callback = [_renumbered(on_record, [i]) for i in range(len(runs))]
        return [train([runs[i]], callback[i], progress=progress)[0] for i in range(len(runs))]
    return outcomes_of(runs, trajectory)


def _train_resumably(
    runs: Sequence[Resolved], on_record: OnRecord | None, *, folder: Path, seconds: float, progress: ProgressOption
) -> list[RunOutcome]:
    """Train runs with their checkpoints in a subfolder named by their ids."""
    own = folder / hashlib.sha256("\n".join(run.id for run in runs).encode()).hexdigest()[:32]
    own.mkdir(parents=True, exist_ok=True)
    options = {"checkpoint": own, "checkpoint_seconds": seconds, "progress": progress}
    try:
        outcomes = train(runs, on_record, resume=True, **options)
    except flow.CheckpointError as error:
        # Only time is lost: the runs repeat to the same bits.
        warnings.warn(f"{error}. The runs start again from the beginning.", stacklevel=2)
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir(parents=True)
        outcomes = train(runs, on_record, **options)
    return outcomes


def _renumbered(on_record: OnRecord | None, places: Sequence[int]) -> OnRecord | None:
    return None if on_record is None else lambda lane, row: on_record(places[lane], row)


def outcomes_of(runs: Sequence[Resolved], trajectory: flow.Trajectory) -> list[RunOutcome]:
    """Return the outcome of each run of a trajectory; the seconds of the call are shared equally."""
    seconds = trajectory.seconds / len(runs)
    return [_outcome(run, lane, seconds) for run, lane in zip(runs, trajectory.lanes, strict=True)]


def failure(spec: RunSpec, error: BaseException) -> RunRecord:
    """Return the record of a run that raised: the error in one line, and the traceback."""
    said = "; ".join(error.problems) if isinstance(error, SpecError) else f"{type(error).__name__}: {error}"
    where = "".join(traceback.format_exception(error))
    message = next(iter(said.splitlines()), type(error).__name__)
    return complete(RunRecord(spec=spec, status="failed", message=message, traceback=where))


def _outcome(run: Resolved, lane: flow.LaneResult, seconds: float) -> RunOutcome:
    rows = [(int(row["step"]), without_step(row)) for row in lane.rows]
    record = RunRecord(
        spec=run.spec,
        status=lane.status,
        steps=lane.step,
        seconds=seconds,
        message=lane.message,
        table=Table.from_rows(rows),
    )
    networks = {"final": lane.model, **{f"step-{step}": model for step, model in lane.snapshots.items()}}
    return RunOutcome(complete(record), {name: _exported(model) for name, model in networks.items()})


def _exported(model: Any) -> dict[str, np.ndarray]:
    # The engine returns networks of NumPy arrays; `export_parameters` takes JAX arrays.
    return models.export_parameters(jax.tree.map(jnp.asarray, model))


def without_step(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the observed values of a row."""
    return {name: value for name, value in row.items() if name != "step"}


def train_apart(
    run: Resolved,
    folder: Path,
    *,
    on_record: Callable[[dict[str, Any]], None] | None = None,
    checkpoint_seconds: float = 30.0,
    resume: bool = True,
    progress: ProgressOption = "off",
) -> RunOutcome:
    """Train one run for a store that another process writes; an interruption gives an `interrupted` outcome.

    **Arguments:**

    - `run`: the result of `resolve`.
    - `folder`: the folder of the run's checkpoint.
    - `on_record`: called with each row of observations, from the thread that trains.
    - `checkpoint_seconds`: seconds between two checkpoints.
    - `resume`: continue from the checkpoint in `folder`.
    - `progress`: `"auto"`, `"off"`, or a callback.

    >>> import tempfile
    >>> spec = RunSpec.model_validate({"task": {"group": "Z5"}, "model": {"width": 8}, "steps": 5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     train_apart(resolve(spec), Path(folder)).record.status
    'finished'
    """
    callback = None if on_record is None else lambda _, row: on_record(row)
    options: dict[str, Any] = {"checkpoint_seconds": checkpoint_seconds, "progress": progress}
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return train([run], callback, checkpoint=folder, resume=resume, **options)[0]
    except flow.CheckpointError:
        # Only time is lost: the run repeats to the same bits.
        return train([run], callback, checkpoint=folder, **options)[0]
    except flow.TrainingInterrupted as stopped:
        return outcomes_of([run], stopped.trajectory)[0]
