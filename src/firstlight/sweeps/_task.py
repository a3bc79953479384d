"""One task of a sweep on a shared filesystem: train its batches, leave bundles, resume after a kill."""

import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from firstlight import _interrupts as interrupts
from firstlight.records import BundledRun, RunRecord, RunSpec, run_id, write_bundle
from firstlight.records._bundle import bundle_name
from firstlight.sweeps._attempts import Attempts
from firstlight.sweeps._folder import SweepFolder, SweepPlan
from firstlight.sweeps._pool import WorkerDied

_REPORT_SECONDS = 5.0

_DEATHS_OF_A_BATCH, _DEATHS_OF_A_POINT = 2, 3
"""Deaths without a new checkpoint after which a batch is split into points, and after which a point fails."""


class TaskInterrupted(KeyboardInterrupt):
    """The sweep was cancelled; the checkpoint of the task is in the folder."""


def run_task(
    folder: SweepFolder,
    task: int,
    *,
    on_point: Callable[[int, int], None] = lambda done, total: None,
    checkpoint_seconds: float = 30.0,
) -> int:
    """Train the points of a task that have no bundle yet; return the number of points trained.

    A batch is written as one bundle when all its points have ended. A task that is killed or requeued continues from
    its checkpoint and ends with the same numbers. A batch that kills its task is trained last and point by point, and
    a point that kills it again and again is recorded as failed.

    **Arguments:**

    - `folder`: the sweep.
    - `task`: number of the task.
    - `on_point`: callback that receives the points done and the points of the task.
    - `checkpoint_seconds`: seconds between two checkpoints.
    """
    plan, batches = folder.plan(), folder.batches(task)
    total, done, trained = sum(map(len, batches)), 0, 0
    if folder.cancelled():
        raise TaskInterrupted(f"the sweep in {folder.path} was cancelled")
    with folder.writing(), _reporting(folder, str(task), total) as state:
        batches.sort(key=lambda batch: _attempts(folder, batch).deaths)
        for batch in batches:
            for unit in _units(folder, batch):
                start = time.monotonic()
                interrupts.check()
                train_bundle(folder, plan, unit, batch, checkpoint_seconds=checkpoint_seconds)
                trained += len(unit)
                state["points"] += len(unit)
                state["seconds"] += time.monotonic() - start
            _forget(folder, batch)
            done += len(batch)
            on_point(done, total)
    return trained


def train_bundle(
    folder: SweepFolder,
    plan: SweepPlan,
    unit: Sequence[RunSpec],
    batch: Sequence[RunSpec],
    *,
    checkpoint_seconds: float = 30.0,
) -> list[RunRecord]:
    """Train points that share a compiled program, with checkpoints in the folder; write them as bundles.

    A whole batch becomes one bundle. A part of a batch becomes one bundle per point, so that `missing` finds it.

    **Arguments:**

    - `folder`, `plan`: the sweep.
    - `unit`: the points to train.
    - `batch`: the batch of these points.
    - `checkpoint_seconds`: seconds between two checkpoints.
    """
    from firstlight import runs

    attempts = _attempts(folder, unit)
    if len(unit) == 1 and attempts.deaths >= _DEATHS_OF_A_POINT:
        died = WorkerDied(
            f"the task died {attempts.deaths} times while it trained this point alone; "
            "it may need more memory than its node allows"
        )
        outcomes = [runs.RunOutcome(runs.failure(unit[0], died))]
    else:
        with attempts:
            outcomes = runs.compute(
                unit,
                data=plan.data or None,
                progress="off",
                keep_weights=plan.keep_weights,
                allow_large=plan.allow_large,
                checkpoints=attempts.folder,
                checkpoint_seconds=checkpoint_seconds,
            )
    bundled = [BundledRun(outcome.record, outcome.weights) for outcome in outcomes]
    with interrupts.deferred():
        for part in [bundled] if len(unit) == len(batch) else [[run] for run in bundled]:
            write_bundle(folder.bundles, part)
        _forget(folder, unit)
    return [outcome.record for outcome in outcomes]


def _units(folder: SweepFolder, batch: Sequence[RunSpec]) -> list[list[RunSpec]]:
    """Return what is left of a batch, in pieces that are trained together."""
    left = folder.missing(batch)
    if left and _attempts(folder, left).deaths >= _DEATHS_OF_A_BATCH:
        return [[spec] for spec in left]
    return [left] if left else []


def _attempts(folder: SweepFolder, specs: Sequence[RunSpec]) -> Attempts:
    return Attempts(folder.checkpoints / bundle_name([run_id(spec) for spec in specs])[:32])


def _forget(folder: SweepFolder, specs: Sequence[RunSpec]) -> None:
    shutil.rmtree(_attempts(folder, specs).folder, ignore_errors=True)


@contextmanager
def _reporting(folder: SweepFolder, name: str, total: int) -> Iterator[dict[str, Any]]:
    """Write the state of a task now and then from a thread of its own, which also watches for a cancellation."""
    earlier = folder.states().get(name, {})
    # A task that was queued again adds to what it measured before.
    state = {"state": "running", "points": 0, "seconds": 0.0} | {
        key: earlier[key] for key in ("points", "seconds") if key in earlier
    }
    state["total"] = total
    over, asked = threading.Event(), threading.Event()

    def report() -> None:
        while not over.wait(_REPORT_SECONDS):
            folder.report(name, dict(state))
            if folder.cancelled() and not asked.is_set():
                asked.set()
                interrupts.note(signal.SIGTERM)

    thread = threading.Thread(target=report, daemon=True)
    folder.report(name, dict(state))
    thread.start()
    try:
        yield state
        state["state"] = "done"
    except KeyboardInterrupt:
        state["state"] = "interrupted"
        if asked.is_set():
            interrupts.forget()
            raise TaskInterrupted(f"the sweep in {folder.path} was cancelled") from None
        raise
    except BaseException:
        state["state"] = "failed"
        raise
    finally:
        over.set()
        thread.join()
        with interrupts.deferred():
            folder.report(name, dict(state))
