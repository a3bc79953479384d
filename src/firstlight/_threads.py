"""BLAS on one thread, for as long as anybody wants it so.

Its threads spin for a while after each call, waiting for the next one, and take the processors from whatever else has
threads: ours on blocks of rows, or those of XLA, whose training steps take a third longer after one small inverse.
"""

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController


class _Limit:
    """How many callers want BLAS on one thread now: its number of threads is one for the whole process."""

    def __init__(self) -> None:
        self.lock, self.callers = threading.Lock(), 0
        self.held: Any = None


_LIMIT = _Limit()
if hasattr(os, "register_at_fork"):
    # A forked process has none of the threads that hold it.
    os.register_at_fork(after_in_child=_LIMIT.__init__)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """The first to enter sets the limit and the last to leave lifts it; in between they may come in any order."""
    with _LIMIT.lock:
        if _LIMIT.callers == 0:
            _LIMIT.held = _controller().limit(limits=1, user_api="blas")
        _LIMIT.callers += 1
    try:
        yield
    finally:
        with _LIMIT.lock:
            _LIMIT.callers -= 1
            if _LIMIT.callers == 0:
                _LIMIT.held.restore_original_limits()


@functools.cache
def _controller() -> ThreadpoolController:
    # It knows the libraries loaded so far; NumPy's and SciPy's are two.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
