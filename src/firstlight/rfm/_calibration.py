r"""From scores to probabilities: one temperature, fitted to held-out rows and shrunk.

$$p = \operatorname{softmax}(T s), \qquad
  T = \arg\min_T -\sum_i w_i \sum_k t_{ik} \log p_{ik}, \qquad t = (1 - \varepsilon)\, y + \varepsilon/c$$

with ε = 1/(n + 1): one row is added to the n held-out rows, which belongs to all c classes in equal parts (after
Laplace and Platt). Where the held-out rows are separable, no finite T is best for the labels y themselves.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar

Scores = Float[np.ndarray, "n c"]

BINS = 10
"""Largest number of groups of rows in a calibration table."""

_BOUNDS = (-3.0, 6.0)
"""Range of log T."""


def temperature(scores: Scores, shares: Scores, weights: Float[np.ndarray, " n"], added: float = 1.0) -> float:
    """Return the shrunk factor of the scores that minimises the log loss of held-out rows.

    `shares` (n, c) are the targets: 1 for the class of a row, or the shares of the classes among merged rows. `added`
    is the number of rows that are added.

    >>> from scipy.special import softmax
    >>> scores, shares = np.array([[1.0, 0.0], [0.0, 1.0]] * 50), np.array([[1.0, 0.0], [0.0, 1.0]] * 50)
    >>> round(float(softmax(temperature(scores, shares, np.ones(100)) * scores[0])[0]), 3)
    0.995
    """
    count = scores.shape[1]
    if count == 1 or not np.isfinite(scores).all():
        return 1.0
    effective = float(weights.sum(dtype=np.float64) ** 2 / np.square(weights, dtype=np.float64).sum())
    shrink = added / (effective + added)
    targets = (1 - shrink) * shares + shrink / count
    mass = weights / weights.sum(dtype=np.float64)

    # Probabilities do not change if the largest score of a row is 0, and then no exponential overflows.
    shifted = (scores - scores.max(axis=1, keepdims=True)).astype(np.float64)
    expected = float(mass @ (targets * shifted).sum(axis=1))

    def loss(log_factor: float) -> float:
        factor = np.exp(log_factor)
        return float(mass @ np.log(np.exp(factor * shifted).sum(axis=1)) - factor * expected)

    optimum: Any = minimize_scalar(loss, bounds=_BOUNDS, method="bounded")
    return float(np.exp(optimum.x))


def reliability(
    probabilities: Scores, shares: Scores, weights: Float[np.ndarray, " n"]
) -> tuple[dict[str, float], ...]:
    """Return groups of (row, class) pairs with similar probabilities: mean probability, share observed, weight.

    The groups have equal weight, so that each resolves the same. A calibrated classifier has `predicted` = `observed`.

    >>> reliability(np.array([[0.8, 0.2]] * 5), np.eye(2)[[0, 0, 0, 0, 1]], np.ones(5))[-1]
    {'predicted': 0.8, 'observed': 0.8, 'rows': 5.0}
    """
    count = probabilities.shape[1]
    # In two classes the second probability is one minus the first and adds nothing but symmetry.
    p, y = probabilities.ravel(), shares.ravel()
    mass = np.repeat(weights.astype(np.float64), count)
    order = np.argsort(p, kind="stable")
    p, y, mass = p[order], y[order], mass[order]
    # Equal probabilities stay in one group.
    groups = np.minimum((np.cumsum(mass) - mass / 2) / mass.sum() * BINS, BINS - 1).astype(int)
    _, first = np.unique(p, return_index=True)
    groups = groups[first][np.searchsorted(first, np.arange(len(p)), side="right") - 1]
    rows = []
    for group in np.unique(groups):
        inside = groups == group
        total = float(mass[inside].sum())
        means = (round(float(np.average(values[inside], weights=mass[inside])), 12) for values in (p, y))
        rows.append({**dict(zip(("predicted", "observed"), means, strict=True)), "rows": total})
    return tuple(rows)
