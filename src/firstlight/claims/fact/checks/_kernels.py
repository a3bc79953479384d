"""Kernel machines written from their definitions, to compare closed forms with."""

from collections.abc import Callable
from typing import Any

import numpy as np

from firstlight.rfm import KERNELS, ExactSolver

STEP = 1e-30
"""Imaginary step of a complex-step derivative. Without a subtraction the step can be this small."""


def problem(seed: int, n: int = 30, d: int = 4, c: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw centred inputs X (n, d), targets Y (n, c) and a metric M (d, d)."""
    rng = np.random.default_rng(seed)
    X, A = rng.standard_normal((n, d)), rng.standard_normal((d, d))
    return X - X.mean(axis=0), rng.standard_normal((n, c)), A.T @ A / d


def kernel(name: str) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Any]:
    """Return k(x, z, M) for complex rows, written from its definition."""

    def radial(profile):
        def value(X, Z, M):
            gap = X[:, None, :] - Z[None, :, :]
            return profile(np.einsum("ija,ab,ijb->ij", gap, M, gap))

        return value

    return {
        "laplace": radial(lambda s: np.exp(-np.sqrt(s) / 2)),
        "gaussian": radial(lambda s: np.exp(-s / 8)),
        "quadratic": lambda X, Z, M: (X @ M @ Z.T / 4) ** 2,
        "exponential": lambda X, Z, M: np.exp(X @ M @ Z.T / 4),
    }[name]


def gradients(name: str, X: np.ndarray, M: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Compute ∇f(x_i) (n, d, c) by complex steps. The Laplace kernel's kink at the row itself has slope 0."""
    value = kernel(name)
    parts = []
    for direction in np.eye(X.shape[1]):
        K = value(X + 1j * STEP * direction, X, M).imag / STEP
        if name == "laplace":
            np.fill_diagonal(K, 0)
        parts.append(K @ alpha)
    return np.stack(parts, axis=1)


def solved(name: str, X: np.ndarray, Y: np.ndarray, M: np.ndarray, ridge: float) -> tuple[ExactSolver, Any]:
    """Return the exact solver with metric M, and its solution."""
    solver = ExactSolver(X, Y, np.ones(len(X)), KERNELS[name](2.0))
    solver.load(M)
    solution = solver.solve(ridge)
    return solver, solution


def off(A: np.ndarray, B: np.ndarray) -> float:
    """Return the largest difference, relative to the largest entry of B."""
    return float(np.abs(A - B).max() / np.abs(B).max())
