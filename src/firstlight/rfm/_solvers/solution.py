"""The solution of a kernel machine, and its error and warning classes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


class NotPositiveDefinite(ValueError):
    """K + ridge has no Cholesky factor in the current precision."""


class IllConditionedWarning(UserWarning):
    """The coefficients of a kernel machine have few or no correct digits."""


class InterruptedFitWarning(UserWarning):
    """Ctrl-C ended a fit early; the estimator holds the best machine so far."""


@dataclass(frozen=True)
class KernelSolution:
    r"""Coefficients of f(x) = K(x, C)β for one metric and one ridge.

    **Arguments:**

    - `beta`: (m, c) coefficients on the centres.
    - `alpha`: (n, c) coefficients on the rows, w_i(y_i − f(x_i))/ridge; equal to `beta` if the rows are the centres.
    - `ridge`: number added to the diagonal of K.
    - `loo`: (n, c) leave-one-out predictions, if requested.
    - `condition`: estimated condition number of the linear system.
    - `captured`: fraction of the kernel's trace that the centres span; 1 if the rows are the centres.
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
    """Return the weighted mean over rows of the squared error, summed over outputs.

    >>> mean_squares(np.zeros((2, 1)), np.array([[1.0], [2.0]]), np.array([3.0, 1.0]))
    1.75
    """
    squares = np.sum(np.square(Y - predicted, dtype=np.float64), axis=1)
    return float(np.average(squares, weights=weights))
