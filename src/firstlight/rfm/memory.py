"""How much memory there is, and whether a kernel matrix fits into half of it."""

import os

import numpy as np


def available() -> int:
    """Bytes that can be had without swapping; where the system does not say, half of what is installed.

    >>> available() > 0
    True
    """
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def fits(rows: int, dtype: np.dtype) -> bool:
    """Whether an n×n matrix of this type leaves half of the available memory free.

    >>> fits(10, np.dtype(np.float32)), fits(10**9, np.dtype(np.float32))
    (True, False)
    """
    return rows * rows * dtype.itemsize <= available() // 2
