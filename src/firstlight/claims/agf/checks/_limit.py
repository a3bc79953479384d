"""Jump times in the limit α → 0, where κ = 2: gradient flow differs from the limit by c/|log α| to first order."""

from collections.abc import Sequence

import numpy as np

SECOND_ORDER_REASON = (
    "a jump time is τ + c/|log α| up to higher orders; two scales α remove c, and the second order is at most "
    "8/(|log α₁||log α₂|)"
)


def clock(alpha: float) -> float:
    """Return |log α|."""
    return -float(np.log(alpha))


def second_order(alphas: Sequence[float]) -> float:
    """Return the tolerance of `in_the_limit`: 8/(|log α₁||log α₂|) for the two smallest scales."""
    return 8 / (clock(alphas[-2]) * clock(alphas[-1]))


def in_the_limit(errors: Sequence[Sequence[float | None]], alphas: Sequence[float]) -> np.ndarray:
    """Extrapolate relative errors of jump times to 1/|log α| = 0 from the two smallest scales.

    **Arguments:**

    - `errors`: relative errors, a row per scale.
    - `alphas`: the scales, largest first.

    >>> in_the_limit([[0.3 / clock(1e-8)], [0.3 / clock(1e-16)]], [1e-8, 1e-16]).round(12)
    array([0.])
    """
    far, near = (np.array([np.nan if e is None else e for e in row], float) for row in errors[-2:])
    first, second = clock(alphas[-2]), clock(alphas[-1])
    return (second * near - first * far) / (second - first)
