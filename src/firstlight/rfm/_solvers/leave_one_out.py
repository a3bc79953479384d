"""Choice of the ridge by leave-one-out: from one eigendecomposition, or by a descent over Cholesky factors."""

from collections.abc import Sequence

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


def best_ridge(solver: ExactSolver, start: float | None = None) -> KernelSolution:
    """Return the solution at the ridge of least leave-one-out error, with its leave-one-out predictions.

    `start` is the first ridge to try, such as the best ridge of the previous metric.
    """
    ridges = [solver.size * rung for rung in RUNGS]
    if len(solver.X) <= EIGEN_ROWS:
        errors = loo_errors(
            solver.kernel_matrix(), solver.Y.astype(np.float64), solver.weights.astype(np.float64), ridges
        )
        return _first_that_solves(solver, ridges, canonical.argmin(errors))
    position = 4 if start is None else int(np.argmin(np.abs(np.log(np.array(ridges) / start))))
    return _descend(solver, ridges, position)


def _first_that_solves(solver: ExactSolver, ridges: Sequence[float], position: int) -> KernelSolution:
    for ridge in ridges[position:-1]:
        try:
            return solver.solve(ridge, loo=True)
        except NotPositiveDefinite:
            continue
    return solver.solve(ridges[-1], loo=True)


def _descend(solver: ExactSolver, ridges: Sequence[float], position: int) -> KernelSolution:
    """Move down or up the ridges from `position` while the error falls; in practice it has one minimum."""
    tried: dict[int, tuple[float, KernelSolution | None]] = {}

    def error(rung: int) -> float:
        if not 0 <= rung < len(ridges):
            return np.inf
        if rung not in tried:
            try:
                solution = solver.solve(ridges[rung], loo=True)
                tried[rung] = mean_squares(solution.loo, solver.Y, solver.weights), solution  # type: ignore[arg-type]
            except NotPositiveDefinite:
                tried[rung] = np.inf, None
        return tried[rung][0]

    for step in (-1, 1):
        while error(position + step) < error(position) or (error(position) == np.inf and position < len(ridges) - 1):
            position += step if error(position) < np.inf else 1
    best = tried[position][1]
    return solver.solve(ridges[position], loo=True) if best is None else best
