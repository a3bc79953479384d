"""Data of the checks on diagonal linear networks."""

import numpy as np

from firstlight import _canonical as canonical


def sparse_regression(seed: int, d: int = 5, n: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Draw X (n, d) with covariance eigenvalues 1/i, and y = Xβ* with β* = 10·N(0, 1)."""
    rng = np.random.default_rng(seed)
    Q = canonical.orthogonal(rng, d, d)
    X = rng.standard_normal((n, d)) @ (Q * np.sqrt(1 / np.arange(1, d + 1)))
    return X, X @ (10 * rng.standard_normal(d))
