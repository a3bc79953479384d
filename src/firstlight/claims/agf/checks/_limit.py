"""Jump times in the limit α → 0, where κ = 2: gradient flow differs from the limit by c/|log α| to first order."""

from collections.abc import Sequence

import numpy as np

SECOND_ORDER_REASON = (
    "a jump time is τ + c/|log α| up to higher orders; two scales α remove c, and the second order is at most "
    "8/(|log α₁||log α₂|)"
)


FIRST_ORDER = 3.0
"""Largest c in a jump time τ(1 + c/|log α|).

A mode grows from ωα² to s* at the rate 2/τ, and half of its fall is reached at c = ½[log(s*/ω) − 0.881]. For a
diagonal network ω = ½ and s* = |β*|. |c| ≤ 3 for s*/ω from 0.006 to 970.
"""

FIRST_ORDER_REASON = (
    "to first order the error times |log α| is ½[log(s*/ω) − 0.881] for a mode that grows from ωα² to s*: at most 3 "
    "for s*/ω from 0.006 to 970"
)

SEPARATED = 4.0
"""Two jumps overlap if they are nearer than this many e-folds of growth at the largest α."""


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


LEFT = 2 * float(np.exp(-SEPARATED))
"""Share of a jump that is missing half way between two jumps `SEPARATED` e-folds of a neuron's norm apart.

There the mode that wakes next has grown to e⁻⁴ of its size, and the loss is linear and quadratic in it: twice e⁻⁴.
"""

LEFT_REASON = (
    "half way between jumps 4 e-folds of a norm apart, the next mode is e⁻⁴ of its size; the loss sees twice that"
)


def stand_apart(times: np.ndarray, alpha: float) -> np.ndarray:
    """Tell which jumps, and all jumps before them, are at least `SEPARATED` e-folds of growth from their neighbours.

    A mode of rate σ grows e-fold in 1/(σ|log α|), and σ is about 1/τ for a jump at τ.

    >>> stand_apart(clock(1e-16) * np.array([1.0, 2.0, 2.01]), 1e-16).tolist()
    [True, False, False]
    """
    gaps = np.diff(np.concatenate([[0.0], times]))
    needed = SEPARATED / clock(alpha) * np.asarray(times)
    return np.logical_and.accumulate((gaps >= needed) & (np.append(gaps[1:], np.inf) >= needed))
