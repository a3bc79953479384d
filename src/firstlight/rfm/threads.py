"""How many BLAS threads a problem deserves."""

import functools
from contextlib import AbstractContextManager, nullcontext

from threadpoolctl import ThreadpoolController

ONE_THREAD_ROWS = 1000
"""Up to this size of matrices one BLAS thread is as fast as several, and far faster on a busy machine."""


def threads(rows: int, columns: int) -> AbstractContextManager:
    """BLAS on one thread where the matrices are small: waking the others costs more than they do."""
    if rows > ONE_THREAD_ROWS or columns > ONE_THREAD_ROWS:
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
