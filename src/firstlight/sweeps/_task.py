"""One task of a sweep on a shared filesystem: train its batches, leave bundles, resume after a kill."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from firstlight import _interrupts as interrupts
from firstlight.records._bundle import BundledRun, write_bundle
from firstlight.sweeps._folder import SweepFolder

_REPORT_SECONDS = 20.0


class TaskInterrupted(KeyboardInterrupt):
    """A signal, or a cancelled sweep, stopped a task; its state is in the folder."""


def run_task(
    folder: SweepFolder,
    task: int,
    *,
    on_point: Callable[[int, int], None] = lambda done, total: None,
    checkpoint_seconds: float = 30.0,
) -> int:
    """Train the batches of a task that have no bundle yet; return the number of points trained.

    A batch is written as one bundle when all its points have ended. A task that is killed or requeued continues from
    its checkpoint and ends with the same numbers.

    **Arguments:**

    - `folder`: the sweep.
    - `task`: number of the task.
    - `on_point`: callback that receives the points done and the points of the task.
    - `checkpoint_seconds`: seconds between two checkpoints.
    """
    from firstlight import runs

    plan, batches = folder.plan(), folder.batches(task)
    total, done, trained = sum(map(len, batches)), 0, 0
    state = {"state": "running", "points": 0, "seconds": 0.0, "total": total}
    with _reporting(folder, task, state):
        for batch in batches:
            interrupts.check()
            if folder.cancelled():
                raise TaskInterrupted(f"the sweep in {folder.path} was cancelled")
            left = folder.missing(batch)
            if left:
                start = time.monotonic()
                outcomes = runs.compute(
                    left,
                    data=plan.data or None,
                    progress="off",
                    keep_weights=plan.keep_weights,
                    checkpoints=folder.checkpoints / str(task),
                    checkpoint_seconds=checkpoint_seconds,
                )
                with interrupts.deferred():
                    write_bundle(folder.bundles, [BundledRun(o.record, o.weights) for o in outcomes])
                trained += len(left)
                state["points"] = trained
                state["seconds"] = float(state["seconds"]) + time.monotonic() - start
            done += len(batch)
            on_point(done, total)
    return trained


@contextmanager
def _reporting(folder: SweepFolder, task: int, state: dict) -> Iterator[None]:
    """Write the state of a task now and then from a thread of its own; it says how the task ended."""
    over = threading.Event()

    def report() -> None:
        while not over.wait(_REPORT_SECONDS):
            folder.report_task(task, dict(state))

    thread = threading.Thread(target=report, daemon=True)
    folder.report_task(task, dict(state))
    thread.start()
    try:
        yield
        state["state"] = "done"
    except KeyboardInterrupt:
        state["state"] = "interrupted"
        raise
    except BaseException:
        state["state"] = "failed"
        raise
    finally:
        over.set()
        thread.join()
        with interrupts.deferred():
            folder.report_task(task, dict(state))


def sweep_folder(path: str | Path) -> SweepFolder:
    """Return the sweep in a folder, checked to hold a plan."""
    folder = SweepFolder(path)
    folder.plan()
    return folder
