"""Sets of 400 training rows on which the choice of kernel and bandwidth was made: drawn functions, and four tables."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

TRAIN, TEST = 400, 2000

Draw = tuple[np.ndarray, np.ndarray]


def _function(f: Callable[[np.ndarray], np.ndarray], d: int, noise: float, seed: int) -> Draw:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((TRAIN + TEST, d))
    return X, f(X) + noise * rng.standard_normal(len(X))


def _rotated(f: Callable[[np.ndarray], np.ndarray], d: int, noise: float, seed: int) -> Draw:
    """Draw a function of rotated columns."""
    rotation = np.linalg.qr(np.random.default_rng(1000 + seed).standard_normal((d, d)))[0]
    X, y = _function(f, d, noise, seed)
    return X @ rotation, y


def _dense(d: int, seed: int) -> Draw:
    weights = np.random.default_rng(2000 + seed).standard_normal(d)
    return _function(lambda X: X @ weights / d**0.5, d, 0.3, seed)


def _friedman(which: int, seed: int) -> Draw:
    from sklearn import datasets

    if which == 1:
        return datasets.make_friedman1(TRAIN + TEST, 10, noise=1.0, random_state=seed)
    make: Any = datasets.make_friedman2 if which == 2 else datasets.make_friedman3
    X, y = make(TRAIN + TEST, random_state=seed)
    return X, y + 0.1 * y.std() * np.random.default_rng(seed).standard_normal(len(y))


def _labels(name: str, seed: int) -> Draw:
    """Draw clusters of two labels, as numbers."""
    from sklearn import datasets

    if name == "moons":
        X, y = datasets.make_moons(TRAIN + TEST, noise=0.2, random_state=seed)
        return np.hstack([X, np.random.default_rng(seed).standard_normal((len(X), 3))]), 2.0 * y - 1
    X, y = datasets.make_classification(TRAIN + TEST, 20, n_informative=6, n_clusters_per_class=4, random_state=seed)
    return X, 2.0 * y - 1


def _table(name: str, seed: int) -> Draw:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    return X[order], y[order].astype(float)


SETS: dict[str, Callable[[int], Draw]] = {
    "Friedman #1": partial(_friedman, 1),
    "Friedman #2": partial(_friedman, 2),
    "Friedman #3": partial(_friedman, 3),
    "sparse linear": partial(_function, lambda X: 2 * X[:, 0] + X[:, 1], 20, 0.5),
    "dense linear": partial(_dense, 20),
    "product": partial(_function, lambda X: X[:, 0] * X[:, 1], 10, 0.1),
    "product of three": partial(_function, lambda X: X[:, 0] * X[:, 1] * X[:, 2], 10, 0.1),
    "product and fast wave": partial(_function, lambda X: X[:, 0] * X[:, 1] + np.sin(6 * X[:, 2]), 5, 0.1),
    "steps": partial(_function, lambda X: (X[:, 0] > 0) + 2.0 * (X[:, 1] > 0.5), 10, 0.2),
    "rotated waves": partial(_rotated, lambda X: np.sin(2 * X[:, 0]) + np.cos(2 * X[:, 1]), 10, 0.1),
    "smooth": partial(_function, lambda X: np.exp(-0.5 * (X[:, :3] ** 2).sum(axis=1)), 6, 0.05),
    "mixture": partial(_labels, "mixture"),
    "moons": partial(_labels, "moons"),
    "diabetes": partial(_table, "diabetes"),
    "cancer": partial(_table, "breast_cancer"),
    "digits": partial(_table, "digits"),
}
"""Functions of a seed that return rows and targets, the first of which train."""


def split(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return training rows, training targets, test rows, test targets; small tables keep a quarter for the test."""
    X, y = SETS[name](seed)
    train = min(TRAIN, 3 * len(X) // 4)
    return X[:train], y[:train], X[train : train + TEST], y[train : train + TEST]
