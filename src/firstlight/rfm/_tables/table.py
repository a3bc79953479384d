"""A table made ready for a kernel: columns on one scale, equal rows joined into one that carries their weight."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Rows = Float[np.ndarray, "n d"]


@dataclass(frozen=True)
class Scaling:
    """z = (x − shift)/spread for each column.

    >>> scaling = Scaling.of(np.array([[1.0, 5.0], [3.0, 5.0]]), np.ones(2))
    >>> scaling.apply(np.array([[3.0, 6.0]]))
    array([[1., 1.]])
    """

    shift: Float[np.ndarray, " d"]
    spread: Float[np.ndarray, " d"]

    @classmethod
    def of(cls, A: Rows, weights: Float[np.ndarray, " n"], *, shift: bool = True, spread: bool = True) -> "Scaling":
        """Weighted mean and standard deviation; a constant column keeps its unit."""
        # Dividing by the largest entry first keeps squares of very large and very small numbers in range.
        peak = np.abs(A).max(axis=0)
        peak[peak == 0] = 1.0
        unit = A / peak
        mean = np.average(unit, axis=0, weights=weights)
        deviation = np.sqrt(np.average((unit - mean) ** 2, axis=0, weights=weights))
        constant = deviation <= 1e-12
        centre = peak * mean if shift else np.zeros(A.shape[1])
        return cls(centre, np.where(constant, 1.0, peak * deviation) if spread else np.ones(A.shape[1]))

    def apply(self, A: Rows) -> Rows:
        """Scaled rows."""
        return (A - self.shift) / self.spread

    def undo(self, A: Rows) -> Rows:
        """The inverse of `apply`."""
        return A * self.spread + self.shift


def distinct(
    X: Rows, Y: Float[np.ndarray, "n c"], weights: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "m d"], Float[np.ndarray, "m c"], Float[np.ndarray, " m"]]:
    r"""Rows of no weight left out, equal rows joined: their weights add up and their targets are averaged.

    Squared loss cannot tell the difference, Σ w_i|y_i − f|² = (Σw_i)|ȳ − f|² + const, and leaving out a row then
    means all copies of it.

    >>> X, Y, w = distinct(np.array([[1.0], [0.0], [1.0]]), np.array([[0.0], [5.0], [1.0]]), np.ones(3))
    >>> X.ravel(), Y.ravel(), w
    (array([1., 0.]), array([0.5, 5. ]), array([2., 1.]))
    """
    # A row of 1e-20 of another's weight changes nothing that double precision resolves.
    kept = weights > 1e-20 * weights.max()
    # Adding zero makes −0 equal to 0, byte by byte.
    X, Y, weights = np.ascontiguousarray(X[kept] + 0.0), Y[kept], weights[kept]
    keys = X.view(np.dtype((np.void, X.dtype.itemsize * X.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(X):
        return X, Y, weights
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    place = rank[inverse.ravel()]
    mass = np.bincount(place, weights)
    sums = np.stack([np.bincount(place, weights * column) for column in Y.T], axis=1)
    return X[first[order]], sums / mass[:, None], mass
