"""Limit BLAS to one thread while any caller holds the context.

BLAS threads spin for a while after each call, waiting for the next one. They take processors from other threads: ours
on blocks of rows, or those of XLA, whose training steps take a third longer after one small inverse.
"""

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController


class _Limit:
    """The number of callers that hold the limit now; BLAS has one thread count for the whole process."""

    def __init__(self) -> None:
        self.lock, self.callers = threading.Lock(), 0
        self.held: Any = None


_LIMIT = _Limit()
if hasattr(os, "register_at_fork"):
    # A forked process has none of the threads that hold the limit.
    os.register_at_fork(after_in_child=_LIMIT.__init__)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; the first caller to enter sets the limit and the last to leave lifts it."""
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
    # The controller sees only libraries that are loaded; NumPy and SciPy each bring their own BLAS.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
