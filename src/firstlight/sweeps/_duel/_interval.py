"""The median of a few runs, some of which never ended, with an exact interval."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from scipy.special import bdtr

CONFIDENCE = 0.9
"""The least confidence asked of an interval; few seeds cannot give it, and the interval then says what it has."""


class MedianInterval(NamedTuple):
    """A median with an interval; infinite where it lies beyond the budget of the runs."""

    median: float
    low: float
    high: float
    confidence: float


def median_interval(times: Sequence[float | None]) -> MedianInterval:
    """Return the median of times and the interval between two order statistics that holds the true median.

    Between the k-th smallest and the k-th largest of n times lies the median of their distribution with the
    confidence 1 − 2·P[Bin(n, ½) < k], whatever the distribution. The largest k with at least 90 % is taken, or k = 1.

    **Arguments:**

    - `times`: a time for each run; None if it did not happen, which counts as later than every other.

    >>> median_interval([40, 10, 20, None, 30])
    MedianInterval(median=30.0, low=10.0, high=inf, confidence=0.9375)
    """
    if not times:
        raise ValueError("times must hold at least one run, got none")
    ordered = sorted(math.inf if time is None else float(time) for time in times)
    n = len(ordered)
    k = max((k for k in range(1, (n + 1) // 2 + 1) if _confidence(k, n) >= CONFIDENCE), default=1)
    lower, upper = ordered[(n - 1) // 2], ordered[n // 2]
    median = upper if math.isinf(upper) else (lower + upper) / 2
    return MedianInterval(median, ordered[k - 1], ordered[n - k], max(_confidence(k, n), 0.0))


def _confidence(k: int, n: int) -> float:
    return float(1 - 2 * bdtr(k - 1, n, 0.5))
