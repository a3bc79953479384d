"""Linear and logistic models with a Gaussian posterior of their coefficients, as the forecasts store them."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float


def _matrix(values: Sequence[Mapping[str, float]], names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the inputs, each divided by its standard deviation, and these deviations."""
    X = np.array([[row[name] for name in names] for row in values])
    scale = np.where(X.std(axis=0) > 1e-9, X.std(axis=0), 1.0)
    return X / scale, scale


def _prior(names: Sequence[str], penalty: float) -> Float[np.ndarray, "p p"]:
    return np.diag([1e-4 if name == "one" else penalty for name in names])


def _stored(names: Sequence[str], mean: np.ndarray, covariance: np.ndarray, scale: np.ndarray, spread: float) -> dict:
    rounded = lambda a: [float(f"{x:.6g}") for x in a]  # noqa: E731
    return {
        "names": list(names),
        "mean": rounded(mean / scale),
        "covariance": [rounded(row) for row in covariance / np.outer(scale, scale)],
        "spread": float(f"{spread:.6g}"),
    }


def logistic(values: Sequence[Mapping[str, float]], names: Sequence[str], y: np.ndarray, penalty: float) -> dict:
    """Fit a logistic model by Newton's method; the posterior is Laplace's approximation."""
    X, scale = _matrix(values, names)
    w, prior = np.zeros(X.shape[1]), _prior(names, penalty)
    for _ in range(100):
        p = 1 / (1 + np.exp(-X @ w))
        H = (X * (p * (1 - p))[:, None]).T @ X + prior
        step = np.linalg.solve(H, X.T @ (y - p) - prior @ w)
        w = w + step
        if np.abs(step).max() < 1e-10:
            break
    p = 1 / (1 + np.exp(-X @ w))
    H = (X * (p * (1 - p))[:, None]).T @ X + prior
    return _stored(names, w, np.linalg.inv(H), scale, 0.0)


def gaussian(values: Sequence[Mapping[str, float]], names: Sequence[str], y: np.ndarray, penalty: float) -> dict:
    """Fit a linear model; the spread is that of residuals with the degrees of freedom taken off."""
    X, scale = _matrix(values, names)
    A = X.T @ X + _prior(names, penalty)
    w = np.linalg.solve(A, X.T @ y)
    used = float(np.trace(np.linalg.solve(A, X.T @ X)))
    spread = float(np.sqrt(np.sum((y - X @ w) ** 2) / max(len(y) - used, 1.0)))
    return _stored(names, w, spread**2 * np.linalg.inv(A), scale, spread)
