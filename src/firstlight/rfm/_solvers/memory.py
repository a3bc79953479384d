"""The available memory, and whether a kernel matrix fits into half of it."""

import numpy as np

from firstlight.records._room import available_memory

_ASSUMED = 4 * 2**30
"""Bytes assumed to be available if the system does not report them."""


def available() -> int:
    """Return the bytes available without swapping.

    >>> available() > 0
    True
    """
    return _ASSUMED if (known := available_memory()) is None else known


def fits(rows: int, dtype: np.dtype) -> bool:
    """Return whether an n×n matrix of this type takes at most half of the available memory.

    >>> fits(10, np.dtype(np.float32)), fits(10**9, np.dtype(np.float32))
    (True, False)
    """
    return rows * rows * dtype.itemsize <= available() // 2
