"""How many threads a problem deserves, and whose: ours, on blocks of rows, or those of BLAS, inside one call."""

import functools
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from joblib import cpu_count

from firstlight.threads import one_blas_thread

Result = TypeVar("Result")

ONE_THREAD_ROWS = 2500
"""Up to this size of matrices one BLAS thread is as fast as several, and far faster on a busy machine."""


def threads(rows: int, columns: int) -> AbstractContextManager:
    """BLAS on one thread where the matrices are small: waking the others costs more than they do."""
    if rows > ONE_THREAD_ROWS or columns > ONE_THREAD_ROWS:
        return nullcontext()
    return one_blas_thread()


def in_parallel(call: Callable[[slice], Result], slices: Iterable[slice]) -> list[Result]:
    """What `call` gives for independent blocks, in their order; NumPy releases the interpreter inside.

    BLAS is on one thread meanwhile: threads that wait for each other at the end of every product, as those of BLAS do,
    stand still where other programs run.

    >>> in_parallel(lambda block: block.stop, [slice(0, 2), slice(2, 5)])
    [2, 5]
    """
    parts = list(slices)
    if min(len(parts), cores()) < 2 or getattr(_WORKER, "busy", False):
        return [call(part) for part in parts]
    futures: list[Future[Result]] = []
    with one_blas_thread():
        try:
            pool = _pool(cores(), os.getpid())
            futures.extend(pool.submit(call, part) for part in parts)
            return [future.result() for future in futures]
        finally:
            # After an error or Ctrl-C none may go on writing into what the caller has back.
            for future in futures:
                future.cancel()
            wait(futures)


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
