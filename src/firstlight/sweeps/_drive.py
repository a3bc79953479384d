"""The loop between a sweep and its workers: every point gets one outcome, even if workers die."""

from collections import deque
from collections.abc import Callable, Sequence

from firstlight import _interrupts as interrupts
from firstlight.records import RunRecord, RunSpec
from firstlight.runs import RunOutcome, failure
from firstlight.sweeps._batches import Batch
from firstlight.sweeps._pool import Pool, WorkerDied

_TICK = 0.5
"""Seconds after which the loop checks for interrupts even if no batch has ended."""


def drive(batches: Sequence[Batch], pool: Pool, on_outcome: Callable[[RunOutcome], None]) -> None:
    """Run all batches and call `on_outcome` once for each point.

    A batch whose worker dies is split into single points. These run one after another beside the other batches.
    A point that kills its worker when it runs alone is recorded as failed.
    """
    waiting, suspects = deque(batches), deque[Batch]()
    watched = False
    while waiting or suspects or pool.busy:
        interrupts.check()
        for _ in range(pool.room):
            # One suspect at a time: with two on a cluster, the death of a worker would blame both.
            if suspects and not watched:
                pool.start(suspects.popleft())
                watched = True
            elif waiting and (batch := pool.choose(waiting)):
                pool.start(batch)
            else:
                break
        for batch, result in pool.ended(_TICK):
            watched = watched and not batch.suspect
            if not isinstance(result, BaseException):
                for outcome in result:
                    on_outcome(outcome)
            elif len(batch) > 1 or (isinstance(result, WorkerDied) and batch.deaths + 1 < pool.patience):
                suspects.extend(batch.alone())
            else:
                on_outcome(RunOutcome(_failed(batch.specs[0], result)))


def _failed(spec: RunSpec, error: BaseException) -> RunRecord:
    if isinstance(error, WorkerDied):
        error = WorkerDied(f"{error} while running this point alone; it may need more memory than is available")
    return failure(spec, error)
