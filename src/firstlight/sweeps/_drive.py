"""The loop between a sweep and its workers: every point gets one outcome, even if workers die."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from firstlight import _interrupts as interrupts
from firstlight.records import RunRecord, RunSpec
from firstlight.runs import RunOutcome, failure
from firstlight.sweeps._batches import Batch, Waiting
from firstlight.sweeps._pool import Delivery, Pool, WorkerDied

_TICK = 0.5
"""Seconds after which the loop checks for interrupts even if no batch has ended."""


def drive(
    batches: Sequence[Batch],
    pool: Pool,
    on_outcome: Callable[[RunOutcome | Delivery], None],
    on_tick: Callable[[Pool], None] = lambda pool: None,
) -> None:
    """Run all batches and call `on_outcome` for everything that `outcomes` yields."""
    for outcome in outcomes(batches, pool, on_tick):
        on_outcome(outcome)


def outcomes(
    batches: Sequence[Batch], pool: Pool, on_tick: Callable[[Pool], None] = lambda pool: None
) -> Iterator[RunOutcome | Delivery]:
    """Run all batches and yield one outcome for each point, or one for each bundle of points.

    A batch whose worker dies is split into single points. These run beside the other batches, few at a time.
    A point that kills its worker when it runs alone is recorded as failed.

    **Arguments:**

    - `batches`: what to run.
    - `pool`: the workers.
    - `on_tick`: called at least twice a second; an exception that it raises ends the loop.
    """
    waiting, suspects = Waiting(batches), deque[Batch]()
    watched = 0
    while waiting or suspects or pool.busy:
        interrupts.check()
        for _ in range(pool.room):
            # Few suspects at a time: with two in one process, its death would blame both.
            if suspects and watched < pool.suspects:
                pool.start(suspects.popleft())
                watched += 1
            elif waiting and (batch := pool.choose(waiting)):
                pool.start(batch)
            else:
                break
        on_tick(pool)
        for batch, result in pool.ended(_TICK):
            watched -= batch.suspect
            if not isinstance(result, BaseException):
                yield from result
            elif len(batch) > 1 or (isinstance(result, WorkerDied) and batch.deaths + 1 < pool.patience):
                suspects.extend(batch.alone())
            else:
                yield RunOutcome(_failed(batch.specs[0], result))


def _failed(spec: RunSpec, error: BaseException) -> RunRecord:
    if isinstance(error, WorkerDied):
        error = WorkerDied(f"{error} while running this point alone; it may need more memory than is available")
    return failure(spec, error)
