"""Prediction intervals from leave-one-out residuals (conformal prediction)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from firstlight.rfm._fitting import Fitted
from firstlight.rfm._solvers.solution import mean_squares


@dataclass(frozen=True)
class Residuals:
    """Sizes of the residuals of rows that were left out, one column per output, with their weights.

    **Attributes:**

    - `sizes`: (n, c) absolute residuals in the scaled targets, sorted in each column; empty if the fit has none.
    - `levels`: (n, c) the total weight up to each residual, as a fraction of the weight of the rows and a new one.
    """

    sizes: Float[np.ndarray, "n c"]
    levels: Float[np.ndarray, "n c"]

    @classmethod
    def of(
        cls, fitted: Fitted, Y: Float[np.ndarray, "n c"], weights: Float[np.ndarray, " n"], place: np.ndarray
    ) -> "Residuals":
        """Return the residuals of a fit to rows with targets Y, which were merged into the rows `place`."""
        left_out, heavy = fitted.machine.solution.loo, place >= 0
        Y, weights, place = Y[heavy], weights[heavy], place[heavy]
        if left_out is None or not np.isfinite(left_out).all():
            return cls.sorted(np.empty((0, Y.shape[1])), np.empty(0))
        predicted = left_out[place].astype(np.float64)
        return cls.sorted(np.abs(Y - predicted) * _stretch(fitted, Y, weights, place), weights)

    @classmethod
    def sorted(cls, sizes: Float[np.ndarray, "n c"], weights: Float[np.ndarray, " n"]) -> "Residuals":
        """Return residuals in the order of their size.

        >>> Residuals.sorted(np.array([[3.0], [1.0]]), np.ones(2)).levels.ravel().round(3)
        array([0.333, 0.667])
        """
        order = np.argsort(sizes, axis=0, kind="stable")
        # A new row has the mean weight of a row.
        total = weights.sum() + (weights.mean() if len(weights) else 1.0)
        return cls(np.take_along_axis(sizes, order, axis=0), np.cumsum(weights[order], axis=0) / total)

    def half_width(self, coverage: float) -> Float[np.ndarray, " c"]:
        """Return the smallest residual of each output up to which the level reaches `coverage`.

        >>> Residuals.sorted(np.arange(1.0, 20.0)[:, None], np.ones(19)).half_width(0.9)
        array([18.])
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be a number between 0 and 1; got {coverage!r}")
        if not len(self.sizes):
            raise ValueError(
                "this fit has no leave-one-out residuals, which intervals need; fit with ridge='auto' and at most "
                "5000 rows, or take intervals from held-out rows"
            )
        best = float(self.levels[-1].max())
        if coverage > best * (1 + 1e-12):
            raise ValueError(
                f"{len(self.sizes)} rows allow a coverage of at most {best:.4g}; got {coverage:g}; "
                "give a smaller coverage, or fit more rows"
            )
        reached = self.levels >= coverage * (1 - 1e-12)
        return np.take_along_axis(self.sizes, reached.argmax(axis=0)[None], axis=0)[0]


def _stretch(fitted: Fitted, Y: np.ndarray, weights: np.ndarray, place: np.ndarray) -> float:
    """Return the ratio of the errors of held-out rows and of rows left out, at least 1.

    Leaving out a row leaves its trace in M. Rows held out in folds have none.
    """
    left_out = fitted.machine.solution.loo
    if fitted.judged is None or left_out is None or not fitted.machine.iteration:
        return 1.0
    mass = np.bincount(place, weights, minlength=len(left_out))
    sums = np.stack([np.bincount(place, weights * column, minlength=len(left_out)) for column in Y.T], axis=1)
    used = mass > 0
    error = mean_squares(left_out[used].astype(np.float64), sums[used] / mass[used, None], mass[used])
    held_out = mean_squares(*(part.astype(np.float64) for part in fitted.judged))
    return float(np.sqrt(max(held_out / error, 1.0))) if error > 0 and np.isfinite(held_out) else 1.0
