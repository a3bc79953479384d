r"""Tests of each column for a link with the target: linear, curved, or in a product with another column.

In many columns a kernel sees all pairs of rows at nearly the same distance and learns little from a few columns that
matter. Tests of single columns and of products of two find these columns from far fewer rows.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import f as fisher
from scipy.stats import norm, rankdata

Rows = Float[np.ndarray, "n d"]
Targets = Float[np.ndarray, "n c"]
Weights = Float[np.ndarray, " n"]

FALSE_SHARE = 0.1
"""Accepted share of columns without a link among the chosen (Benjamini and Hochberg 1995)."""

MOST_BINS = 12
PAIR_OPERATIONS = 1e11
"""Products of columns are tested if this many multiplications suffice."""


def linked(Z: Rows, Y: Targets, weights: Weights) -> Int[np.ndarray, " s"]:
    """Return the sorted indices of the columns with a significant link to the target.

    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((300, 80))
    >>> linked(Z, Z[:, 3:4] * Z[:, 7:8] + np.sin(3 * Z[:, 5:6]), np.ones(300)).tolist()
    [3, 5, 7]
    """
    # All tests are free of scale; squares of columns that were left unscaled would overflow.
    peak = np.abs(Z).max(axis=0)
    Z = Z / np.where(peak > 0, peak, 1)
    chances = 3 * np.min([linear_chances(Z, Y, weights), bin_chances(Z, Y, weights), pair_chances(Z, Y, weights)], 0)
    order = np.argsort(chances, kind="stable")
    passed = np.flatnonzero(chances[order] <= FALSE_SHARE * np.arange(1, len(order) + 1) / len(order))
    return np.sort(order[: passed[-1] + 1 if len(passed) else 0][: len(Z) // 2])


def linear_chances(Z: Rows, Y: Targets, weights: Weights) -> Float[np.ndarray, " d"]:
    r"""Return, for each column, the p-value of its correlation r with the best output, times the number of outputs.

    $$F = (n - 2)\,r^2/(1 - r^2)$$
    """
    Z, Y, mass = _centred(Z, weights), _centred(Y, weights), weights / weights.sum()
    cross = (mass[:, None] * Z).T @ Y
    sizes = np.outer(mass @ Z**2, mass @ Y**2)
    explained = np.minimum(np.divide(cross**2, sizes, out=np.zeros_like(sizes), where=sizes > 0), 1 - 1e-15)
    F = (len(Z) - 2) * explained / (1 - explained)
    return np.minimum(fisher.sf(F, 1, max(len(Z) - 2, 1)).min(axis=1) * Y.shape[1], 1)


def bin_chances(Z: Rows, Y: Targets, weights: Weights) -> Float[np.ndarray, " d"]:
    r"""Return, for each column, the p-value of the differences between the mean targets of its quantile bins.

    With B bins, of which bin b has weight W_b and mean target m_b (targets have mean 0), E = Σ_b W_b m_b² is explained
    and T = Σ_i w_i y_i² is the total:

    $$F = \frac{E/(B - 1)}{(T - E)/(n - B)}$$
    """
    n, Y = len(Z), _centred(Y, weights)
    most = int(np.clip(n // 20, 3, MOST_BINS))
    place = np.minimum((rankdata(Z, axis=0) - 0.5) * most / n, most - 1).astype(np.int8)
    explained, used = np.zeros((Z.shape[1], Y.shape[1])), np.zeros(Z.shape[1])
    for b in range(most):
        inside = (place == b).astype(Z.dtype).T
        W = inside @ weights
        used += W > 0
        explained += (inside @ (weights[:, None] * Y)) ** 2 / np.where(W > 0, W, 1)[:, None]
    total = np.maximum(weights @ Y**2, 1e-300)
    left = np.maximum(total - explained, 1e-12 * total)
    F = (explained / np.maximum(used - 1, 1)[:, None]) / (left / np.maximum(n - used, 1)[:, None])
    F[used < 2] = 0
    chances = fisher.sf(F, np.maximum(used - 1, 1)[:, None], np.maximum(n - used, 1)[:, None])
    return np.minimum(chances.min(axis=1) * Y.shape[1], 1)


def pair_chances(Z: Rows, Y: Targets, weights: Weights) -> Float[np.ndarray, " d"]:
    r"""Return, for each column, the p-value of its best product with a column, times the number of products.

    $$t_{jk} = \frac{\sum_i w_i y_i z_{ij} z_{ik}}{\sqrt{\sum_i (w_i y_i z_{ij} z_{ik})^2}}$$

    is standard normal in large tables if the product is unrelated to the target. 1 if the test would take too long.
    """
    n, d = Z.shape
    if 4 * n * d**2 * Y.shape[1] > PAIR_OPERATIONS:
        return np.ones(d)
    Z, Y = _centred(Z, weights).astype(np.float32), (weights[:, None] * _centred(Y, weights)).astype(np.float32)
    squares, best = Z**2, np.zeros(d)
    for y in Y.T:
        cross, size = Z.T @ (y[:, None] * Z), squares.T @ (y[:, None] ** 2 * squares)
        t = np.divide(cross**2, size, out=np.zeros_like(size), where=size > 0)
        best = np.maximum(best, t.max(axis=1))
    return np.minimum(2 * norm.sf(np.sqrt(best)) * d * Y.shape[1], 1)


def _centred(A: np.ndarray, weights: Weights) -> np.ndarray:
    return A - np.average(A, axis=0, weights=weights)
