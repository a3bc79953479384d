"""Irreducible representations computed from a Cayley table."""

import time

from benchmarks._timing import result
from firstlight import groups

__all__ = ["irreps_s5_seconds"]


def irreps_s5_seconds() -> dict:
    """All irreps of S5 (order 120) from its table, against one eigendecomposition of a 120×120 matrix."""
    import numpy as np

    table = groups.symmetric(5).table
    best = float("inf")
    for _ in range(3):
        group = groups.from_table(np.array(table))
        start = time.perf_counter()
        irreps = group.irreps()
        best = min(best, time.perf_counter() - start)
    symmetric = np.random.default_rng(0).normal(size=(120, 120))
    start = time.perf_counter()
    np.linalg.eigh(symmetric + symmetric.T)
    floor = time.perf_counter() - start
    return result(best, "s", "lower", 5.0, ("one 120×120 eigh, seconds", floor), irreps=len(irreps))
