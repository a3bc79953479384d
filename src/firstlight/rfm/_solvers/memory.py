"""How much memory there is, and whether a kernel matrix fits into half of it."""

import numpy as np

from firstlight.records._room import available_memory

_ASSUMED = 4 * 2**30
"""Bytes taken to be available where the system does not say."""


def available() -> int:
    """Bytes that can be had without swapping.

    >>> available() > 0
    True
    """
    return _ASSUMED if (known := available_memory()) is None else known


def fits(rows: int, dtype: np.dtype) -> bool:
    """Whether an n×n matrix of this type leaves half of the available memory free.

    >>> fits(10, np.dtype(np.float32)), fits(10**9, np.dtype(np.float32))
    (True, False)
    """
    return rows * rows * dtype.itemsize <= available() // 2
