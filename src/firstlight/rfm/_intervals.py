"""Prediction intervals from leave-one-out residuals (conformal prediction)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from firstlight.rfm._fitting import Fitted
from firstlight.rfm._solvers.exact import ExactSolver
from firstlight.rfm._solvers.kernels import Kernel
from firstlight.rfm._solvers.solution import mean_squares
from firstlight.rfm._solvers.threads import threads

LEFT_OUT_ROWS = 5000
"""Largest number of rows for which the residuals are computed: they cost an inverse."""


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
        cls,
        fitted: Fitted,
        kernel: Kernel,
        Y: Float[np.ndarray, "n c"],
        weights: Float[np.ndarray, " n"],
        place: np.ndarray,
    ) -> "Residuals":
        """Return the residuals of a fit to rows with targets Y, which were merged into the rows `place`."""
        heavy = place >= 0
        Y, weights, place = Y[heavy], weights[heavy], place[heavy]
        mass = np.bincount(place, weights)
        means = np.stack([np.bincount(place, weights * column) for column in Y.T], axis=1) / mass[:, None]
        left_out = _left_out(fitted, kernel, means, mass)
        if left_out is None or not np.isfinite(left_out).all():
            return cls.sorted(np.empty((0, Y.shape[1])), np.empty(0))
        return cls.sorted(np.abs(Y - left_out[place]) * _stretch(fitted, left_out, means, mass), weights)

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
                f"this fit has no leave-one-out residuals, which intervals need; fit with early_stopping='folds' and "
                f"at most {LEFT_OUT_ROWS} rows, or take intervals from held-out rows"
            )
        best = float(self.levels[-1].max())
        if coverage > best * (1 + 1e-12):
            raise ValueError(
                f"{len(self.sizes)} rows allow a coverage of at most {best:.4g}; got {coverage:g}; "
                "give a smaller coverage, or fit more rows"
            )
        reached = self.levels >= coverage * (1 - 1e-12)
        return np.take_along_axis(self.sizes, reached.argmax(axis=0)[None], axis=0)[0]


def _left_out(fitted: Fitted, kernel: Kernel, Y: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
    """Return exact leave-one-out predictions of the fitted machine; None on centres and for many rows."""
    solution = fitted.machine.solution
    if solution.loo is None and len(fitted.centres) == fitted.rows <= LEFT_OUT_ROWS and fitted.judged is not None:
        solver = ExactSolver(fitted.centres, Y, weights / weights.mean(), kernel)
        with threads(*fitted.centres.shape):
            solver.load(fitted.machine.M)
            solution = solver.solve(solution.ridge, loo=True)
    return None if solution.loo is None else solution.loo.astype(np.float64)


def _stretch(fitted: Fitted, left_out: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> float:
    """Return the ratio of the errors of held-out rows and of rows left out, at least 1.

    Leaving out a row leaves its trace in M. Rows held out in folds have none.
    """
    if fitted.judged is None or not fitted.machine.iteration:
        return 1.0
    error = mean_squares(left_out, Y, weights)
    held_out = mean_squares(*(part.astype(np.float64) for part in fitted.judged))
    return float(np.sqrt(max(held_out / error, 1.0))) if error > 0 and np.isfinite(held_out) else 1.0
