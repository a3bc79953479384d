r"""Choice of the ridge by held-out rows, with few Cholesky factors.

One factor gives the held-out error E and, by one more triangular solve, its exact derivative with respect to the
logarithm of the ridge. The derivative says in which direction to look, and whether looking is worth a factor.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from firstlight.rfm._solvers.exact import ExactSolver
from firstlight.rfm._solvers.leave_one_out import RUNGS
from firstlight.rfm._solvers.solution import KernelSolution, NotPositiveDefinite, mean_squares

FLAT = 2e-4
"""Without a similar machine, a rung is tried if it promises to take this share off the error.

Of equal ridges the larger one resolves more digits and lies where the error begins to depend on the ridge.
"""


@dataclass(frozen=True)
class HeldOut:
    """Held-out rows of a machine, by their kernel values with the training rows.

    **Arguments:**

    - `pairs`: (q, n) kernel values.
    - `Y`: (q, c) targets.
    - `weights`: (q,) weights.
    """

    pairs: Float[np.ndarray, "q n"]
    Y: Float[np.ndarray, "q c"]
    weights: Float[np.ndarray, " q"]

    def predict(self, solution: KernelSolution) -> Float[np.ndarray, "q c"]:
        """Return f at the held-out rows."""
        return self.pairs @ solution.beta

    def error(self, solution: KernelSolution) -> float:
        """Return the mean squared error, or infinity if numbers overflowed."""
        size = mean_squares(self.predict(solution), self.Y, self.weights)
        return size if np.isfinite(size) else np.inf

    def slope(self, solver: ExactSolver, solution: KernelSolution) -> float:
        r"""Return dE/d log(ridge) of the solution that the solver computed last."""
        change = (self.pairs @ solver.ridge_derivative(solution)).astype(np.float64)
        products = np.sum((self.predict(solution) - self.Y) * change, axis=1)
        return 2 * float(np.average(products, weights=self.weights))


def best_held_out_ridge(solver: ExactSolver, held: HeldOut, start: float | None = None) -> KernelSolution:
    """Return the solution at the ridge of least held-out error, without its condition number.

    The condition number is infinite if the next smaller ridge promised a smaller error but has no factor in this
    precision.

    **Arguments:**

    - `solver`: exact solver with a loaded metric.
    - `held`: the held-out rows, for the same metric.
    - `start`: the best ridge of a similar machine, at which the search begins. It is left only for a gain of more than
      1/q of the error: q held-out rows do not resolve less (a fitted parameter costs 2/q by Akaike's criterion).
    """
    ridges = [solver.size * rung for rung in RUNGS]
    if start is None:
        return _descend(solver, ridges, 4, held, FLAT)
    position = int(np.argmin(np.abs(np.log(np.array(ridges) / start))))
    return _descend(solver, ridges, position, held, 1 / len(held.Y))


def _descend(solver: ExactSolver, ridges: Sequence[float], position: int, held: HeldOut, flat: float) -> KernelSolution:
    """Follow the slope of the error over the ridges; in practice it has one minimum.

    A rung that promises less than the share `flat` of the error is not tried.
    """
    tried: dict[int, tuple[float, float, KernelSolution | None]] = {}

    def at(rung: int) -> tuple[float, float, KernelSolution | None]:
        if rung not in tried:
            try:
                solution = solver.solve(ridges[rung], condition=False)
                tried[rung] = held.error(solution), held.slope(solver, solution), solution
            except NotPositiveDefinite:
                tried[rung] = np.inf, np.nan, None
        return tried[rung]

    while at(position)[0] == np.inf and position < len(ridges) - 1:
        position += 1
    error, slope, _ = at(position)
    step = -1 if slope > 0 else 1
    while (
        -step * slope * math.log(10) > flat * error
        and 0 <= position + step < len(ridges)
        and at(position + step)[0] < error
    ):
        position += step
        error, slope, _ = at(position)
    best = at(position)[2]
    if best is None:
        return solver.solve(ridges[position], condition=False)
    limited = position - 1 in tried and tried[position - 1][2] is None
    return replace(best, condition=float("inf")) if limited else best
