"""Threads for kernel matrices: our own pool over blocks of rows, or BLAS threads inside one call."""

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
"""Up to this matrix size one BLAS thread is as fast as several, and far faster on a busy machine."""


def threads(rows: int, columns: int) -> AbstractContextManager:
    """Limit BLAS to one thread if the matrices are small: waking other threads costs more than it saves."""
    if rows > ONE_THREAD_ROWS or columns > ONE_THREAD_ROWS:
        return nullcontext()
    return one_blas_thread()


def in_parallel(call: Callable[[Part], Result], blocks: Iterable[Part]) -> list[Result]:
    """Call a function on independent blocks in parallel and return the results in order.

    NumPy releases the interpreter lock inside. BLAS runs on one thread meanwhile: BLAS threads wait for each other at
    the end of every product, and stall when other programs use the cores.

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
            # After an error or Ctrl-C no thread may still write into the caller's arrays.
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
    """Return the number of threads to use: the number of processors, or fewer if OMP_NUM_THREADS says so."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(_processors(), int(limit)) if limit.isdigit() and int(limit) > 0 else _processors()


# Cached, because it reads system files: a quarter of a millisecond each time.
_processors = functools.cache(cpu_count)

_WORKER = threading.local()
"""`busy` marks a thread of the pool, which must not wait for other threads of the pool."""


@functools.cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    """Cached, because starting threads takes as long as a small block; a forked process starts its own."""
    return ThreadPoolExecutor(workers, initializer=lambda: setattr(_WORKER, "busy", True))
