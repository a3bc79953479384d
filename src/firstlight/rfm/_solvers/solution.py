"""What solving a kernel machine gives, and what can go wrong."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


class NotPositiveDefinite(ValueError):
    """K + ridge has no Cholesky factor in the precision at hand."""


class IllConditionedWarning(UserWarning):
    """The coefficients of a kernel machine have few correct digits, or none."""


@dataclass(frozen=True)
class Solution:
    r"""Coefficients of f(x) = K(x, C)β for one metric and one ridge.

    **Arguments:**

    - `beta`: (m, c) coefficients on the centres; alpha: (n, c) those on the rows, w_i(y_i − f(x_i))/ridge, which are
      the same numbers where the rows are the centres.
    - `ridge`: what was added to the diagonal of K.
    - `loo`: (n, c) leave-one-out predictions, if asked for.
    - `condition`: estimate of the condition number of what was solved.
    - `captured`: share of the kernel's trace that the centres span, 1 if the rows are the centres.
    """

    beta: Float[np.ndarray, "m c"]
    alpha: Float[np.ndarray, "n c"]
    ridge: float
    loo: Float[np.ndarray, "n c"] | None = None
    condition: float = float("nan")
    captured: float = 1.0


def mean_squares(
    predicted: Float[np.ndarray, "n c"], Y: Float[np.ndarray, "n c"], weights: Float[np.ndarray, " n"]
) -> float:
    """The weighted mean over rows of the squared error, summed over outputs.

    >>> mean_squares(np.zeros((2, 1)), np.array([[1.0], [2.0]]), np.array([3.0, 1.0]))
    1.75
    """
    squares = np.sum(np.square(Y - predicted, dtype=np.float64), axis=1)
    return float(np.average(squares, weights=weights))
