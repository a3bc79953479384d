"""The loop between a sweep and its workers: every point ends in one outcome, whatever dies on the way."""

from collections import deque
from collections.abc import Callable, Sequence

from firstlight import _interrupts as interrupts
from firstlight.records import RunRecord, RunSpec
from firstlight.runs import RunOutcome, failure
from firstlight.sweeps._batches import Batch
from firstlight.sweeps._pool import Pool, WorkerDied

_TICK = 0.5
"""Seconds after which the loop looks up although nothing has ended."""


def drive(batches: Sequence[Batch], pool: Pool, on_outcome: Callable[[RunOutcome], None]) -> None:
    """Run all batches and hand over the outcome of each point once.

    A batch whose worker dies is cut into single points, run one after another beside the rest; a point that
    goes on killing its worker alone has failed.
    """
    waiting, suspects = deque(batches), deque[Batch]()
    watched = False
    while waiting or suspects or pool.busy:
        interrupts.check()
        for _ in range(pool.room):
            # One suspect at a time: were there two on a cluster, the death of a worker would accuse both.
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
        error = WorkerDied(f"{error} while running this point alone; it may need more memory than there is")
    return failure(spec, error)
