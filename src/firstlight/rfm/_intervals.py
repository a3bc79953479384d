"""Prediction intervals from leave-one-out residuals (conformal prediction)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from firstlight.rfm._fitting import Fitted
from firstlight.rfm._solvers.exact import ExactSolver
from firstlight.rfm._solvers.kernels import Kernel
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
        residuals = cls.sorted(np.abs(Y - left_out[place]), weights)
        held_out = _held_out(fitted)
        if held_out is None:
            return residuals
        # Held-out rows are compared with the same rows as they are: equal ones merged.
        return residuals.raised(cls.sorted(np.abs(means - left_out), mass), held_out)

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

    def raised(self, left_out: "Residuals", held_out: "Residuals") -> "Residuals":
        """Return these residuals times the ratio of the other two at each level, where it is above 1.

        >>> half, whole = (Residuals.sorted(np.array([[0.5], [1.0]]) * size, np.ones(2)) for size in (1, 2))
        >>> half.raised(half, whole).sizes.ravel()
        array([1., 2.])
        """
        low, high = left_out.at(self.levels), held_out.at(self.levels)
        ratio = np.divide(high, low, out=np.ones_like(low), where=low > 0)
        sizes = np.where(low > 0, self.sizes * np.maximum(ratio, 1), np.maximum(self.sizes, high))
        return Residuals(np.maximum.accumulate(sizes, axis=0), self.levels)

    def at(self, levels: Float[np.ndarray, "k c"]) -> Float[np.ndarray, "k c"]:
        """Return the smallest residual of each output that reaches each level, or the largest residual."""
        columns = range(self.sizes.shape[1])
        places = [np.searchsorted(self.levels[:, j], levels[:, j] * (1 - 1e-12)) for j in columns]
        return np.stack([self.sizes[np.minimum(places[j], len(self.sizes) - 1), j] for j in columns], axis=1)

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


def _held_out(fitted: Fitted) -> Residuals | None:
    """Return the residuals of the rows that were held out in folds; None if they add nothing.

    Leaving out a row leaves its trace in M, or in the choice of columns. Rows held out in folds have none.
    """
    learned = fitted.machine.iteration or any(row["chosen"] and row["columns"] != "all" for row in fitted.history)
    if fitted.judged is None or not learned:
        return None
    predicted, Y, weights = (part.astype(np.float64) for part in fitted.judged)
    sizes = np.abs(predicted - Y)
    return Residuals.sorted(sizes, weights) if np.isfinite(sizes).all() else None
