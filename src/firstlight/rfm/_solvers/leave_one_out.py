"""Choice of the ridge by leave-one-out or held-out rows: from an eigendecomposition, or by a descent over factors."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from firstlight import _canonical as canonical
from firstlight.rfm._solvers.exact import ExactSolver
from firstlight.rfm._solvers.solution import KernelSolution, NotPositiveDefinite, mean_squares

RUNGS: tuple[float, ...] = tuple(10.0**k for k in range(-6, 3))
"""Ridges to try, relative to the mean of the kernel's diagonal."""

EIGEN_ROWS = 400
"""Up to this many rows an eigendecomposition takes no noticeable time and grades all rungs at once."""


def loo_errors(
    K: Float[np.ndarray, "n n"],
    Y: Float[np.ndarray, "n c"],
    weights: Float[np.ndarray, " n"],
    ridges: Sequence[float],
) -> Float[np.ndarray, " r"]:
    r"""Return exact leave-one-out errors at many ridges from one eigendecomposition √wK√w = QΛQᵀ.

    $$y_i - f_{-i}(x_i) = \alpha_i/C_{ii}, \qquad C = (K + \mathrm{ridge}\cdot\mathrm{diag}(1/w))^{-1}$$

    Leaving out a row removes all its weight.

    >>> loo_errors(np.eye(2), np.array([[1.0], [2.0]]), np.ones(2), [1e-3, 1.0])
    array([2.5, 2.5])
    """
    root = np.sqrt(weights)[:, None]
    eigenvalues, Q = np.linalg.eigh(root * K * root.T)
    eigenvalues = np.maximum(eigenvalues, 0)
    inverse = 1 / (eigenvalues[:, None] + np.asarray(ridges))
    diagonal = weights[:, None] * (Q**2 @ inverse)
    alpha = np.einsum("ik,kr,kc->rci", Q, inverse, Q.T @ (root * Y), optimize=True)
    residuals = (root.T * alpha) / diagonal.T[:, None, :]
    return np.einsum("rci,rci,i->r", residuals, residuals, weights) / weights.sum()


def best_ridge(
    solver: ExactSolver, start: float | None = None, error: Callable[[KernelSolution], float] | None = None
) -> KernelSolution:
    """Return the solution at the ridge of least error, by default with its leave-one-out predictions.

    **Arguments:**

    - `solver`: exact solver with a loaded metric.
    - `start`: the first ridge to try, such as the best ridge of the previous metric.
    - `error`: the error of a solution on held-out rows; by default the leave-one-out error, which costs an inverse.
      The condition number is then not computed; it is infinite if no smaller ridge has a factor in this precision.
    """
    ridges = [solver.size * rung for rung in RUNGS]
    if error is None and len(solver.X) <= EIGEN_ROWS:
        errors = loo_errors(
            solver.kernel_matrix(), solver.Y.astype(np.float64), solver.weights.astype(np.float64), ridges
        )
        return _first_that_solves(solver, ridges, canonical.argmin(errors))
    position = 4 if start is None else int(np.argmin(np.abs(np.log(np.array(ridges) / start))))
    return _descend(solver, ridges, position, error)


def _first_that_solves(solver: ExactSolver, ridges: Sequence[float], position: int) -> KernelSolution:
    for ridge in ridges[position:-1]:
        try:
            return solver.solve(ridge, loo=True)
        except NotPositiveDefinite:
            continue
    return solver.solve(ridges[-1], loo=True)


def _descend(
    solver: ExactSolver,
    ridges: Sequence[float],
    position: int,
    judge: Callable[[KernelSolution], float] | None = None,
) -> KernelSolution:
    """Move down or up the ridges from `position` while the error falls; in practice it has one minimum."""
    tried: dict[int, tuple[float, KernelSolution | None]] = {}
    loo = judge is None
    how: dict[str, bool] = {"loo": True} if loo else {"condition": False}

    def error(rung: int) -> float:
        if not 0 <= rung < len(ridges):
            return np.inf
        if rung not in tried:
            try:
                solution = solver.solve(ridges[rung], **how)
                size = mean_squares(solution.loo, solver.Y, solver.weights) if judge is None else judge(solution)  # type: ignore[arg-type]
                tried[rung] = size if np.isfinite(size) else np.inf, solution
            except NotPositiveDefinite:
                tried[rung] = np.inf, None
        return tried[rung][0]

    for step in (-1, 1):
        while error(position + step) < error(position) or (error(position) == np.inf and position < len(ridges) - 1):
            position += step if error(position) < np.inf else 1
    best = tried[position][1]
    if best is None:
        return solver.solve(ridges[position], loo=loo)
    # The next smaller ridge has no factor in this precision: it limited the choice.
    limited = not loo and position - 1 in tried and tried[position - 1][1] is None
    return replace(best, condition=float("inf")) if limited else best
