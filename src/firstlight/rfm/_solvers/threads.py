"""How many threads a problem deserves, and whose: ours, on blocks of rows, or those of BLAS, inside one call."""

import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from joblib import cpu_count

from firstlight._threads import one_blas_thread

Part = TypeVar("Part")
Result = TypeVar("Result")

ONE_THREAD_ROWS = 2500
"""Up to this size of matrices one BLAS thread is as fast as several, and far faster on a busy machine."""


def threads(rows: int, columns: int) -> AbstractContextManager:
    """BLAS on one thread where the matrices are small: waking the others costs more than they do."""
    if rows > ONE_THREAD_ROWS or columns > ONE_THREAD_ROWS:
        return nullcontext()
    return one_blas_thread()


def in_parallel(call: Callable[[Part], Result], blocks: Iterable[Part]) -> list[Result]:
    """What `call` gives for independent blocks, in their order; NumPy releases the interpreter inside.

    BLAS is on one thread meanwhile: threads that wait for each other at the end of every product, as those of BLAS do,
    stand still where other programs run.

    >>> in_parallel(lambda block: block.stop, [slice(0, 2), slice(2, 5)])
    [2, 5]
    """
    parts = list(blocks)
    if min(len(parts), cores()) < 2 or getattr(_WORKER, "busy", False):
        return [call(part) for part in parts]
    results: dict[int, Result] = {}
    left = deque(enumerate(parts))

    def work() -> None:
        try:
            while (following := _taken(left)) is not None:
                place, part = following
                results[place] = call(part)
        except BaseException:
            left.clear()
            raise

    with one_blas_thread():
        helpers: list[Future[None]] = []
        _WORKER.busy = True
        try:
            pool = _pool(cores(), os.getpid())
            helpers.extend(pool.submit(work) for _ in range(min(len(parts), cores()) - 1))
            work()
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
        finally:
            _WORKER.busy = False
            # After an error or Ctrl-C none may go on writing into what the caller has back.
            left.clear()
            wait([helper for helper in helpers if not helper.cancel()])
    for helper in begun:
        helper.result()
    return [results[place] for place in range(len(parts))]


def _taken(left: "deque[Any]") -> Any:
    try:
        return left.popleft()
    except IndexError:
        return None


def cores() -> int:
    """How many threads may run: the processors there are, or fewer if OMP_NUM_THREADS says so."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return min(_processors(), int(said)) if said.isdigit() and int(said) > 0 else _processors()


# It reads the machine's files, a quarter of a millisecond each time.
_processors = functools.cache(cpu_count)

_WORKER = threading.local()
"""Whether this thread is one of the pool's, which must not wait for others of the pool."""


@functools.cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    """Kept: starting threads takes as long as a small block. A forked process has none of its parent's."""
    return ThreadPoolExecutor(workers, initializer=lambda: setattr(_WORKER, "busy", True))
