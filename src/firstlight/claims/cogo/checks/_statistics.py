"""Significance over networks: bounds of means and differences in standard errors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import t as student

LEVEL = 0.99
"""Confidence of one-sided bounds and tests."""


def lower_bound(values: Sequence[float]) -> float:
    """Return the lower one-sided 99 % bound of the mean over networks (Student).

    >>> round(lower_bound([0.0, 1.0, 1.0, 1.0]), 3)
    -0.385
    """
    return float(np.mean(values) - student.ppf(LEVEL, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5)


def difference(first: Any, second: Any) -> float:
    """Return the difference of two means in standard errors; NaN without two values each, or without any spread.

    >>> round(difference([1.0, 2.0, 3.0], [0.0, 1.0, 2.0]), 3)
    1.225
    """
    first, second = np.asarray(first, float), np.asarray(second, float)
    if min(len(first), len(second)) < 2:
        return float("nan")
    error = np.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second))
    return float((first.mean() - second.mean()) / error) if error > 0 else float("nan")


def quantile(count: int) -> float:
    """Return the one-sided 99 % quantile of Student's t for `count` values in two groups.

    >>> round(quantile(10), 2)
    2.9
    """
    return float(student.ppf(LEVEL, max(count - 2, 1)))
