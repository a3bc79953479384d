"""Preparation of a table for a kernel: columns on one scale, equal rows merged with their weights added."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Rows = Float[np.ndarray, "n d"]


@dataclass(frozen=True)
class Scaling:
    """The map z = (x − shift)/spread of each column.

    >>> scaling = Scaling.of(np.array([[1.0, 5.0], [3.0, 5.0]]), np.ones(2))
    >>> scaling.apply(np.array([[3.0, 6.0]]))
    array([[1., 1.]])
    """

    shift: Float[np.ndarray, " d"]
    spread: Float[np.ndarray, " d"]

    @classmethod
    def of(cls, A: Rows, weights: Float[np.ndarray, " n"], *, shift: bool = True, spread: bool = True) -> "Scaling":
        """Return the scaling by weighted mean and standard deviation; a constant column is not divided."""
        # Divide by the largest entry first: squares of very large or very small numbers would overflow or vanish.
        peak = np.abs(A).max(axis=0)
        peak[peak == 0] = 1.0
        unit = A / peak
        mean = np.average(unit, axis=0, weights=weights)
        deviation = np.sqrt(np.average((unit - mean) ** 2, axis=0, weights=weights))
        constant = deviation <= 1e-12
        centre = peak * mean if shift else np.zeros(A.shape[1])
        return cls(centre, np.where(constant, 1.0, peak * deviation) if spread else np.ones(A.shape[1]))

    def apply(self, A: Rows) -> Rows:
        """Return the scaled rows."""
        return (A - self.shift) / self.spread

    def undo(self, A: Rows) -> Rows:
        """Invert `apply`."""
        return A * self.spread + self.shift


def distinct(
    X: Rows, Y: Float[np.ndarray, "n c"], weights: Float[np.ndarray, " n"], groups: np.ndarray | None = None
) -> tuple[Float[np.ndarray, "m d"], Float[np.ndarray, "m c"], Float[np.ndarray, " m"], np.ndarray]:
    r"""Drop rows without weight and merge equal rows: add their weights and average their targets.

    The squared loss changes by a constant only, Σ w_i|y_i − f|² = (Σw_i)|ȳ − f|² + const. Leaving out a merged row
    leaves out all its copies. Rows of different `groups` (n,) are not merged. The last result is the merged row of
    each row, −1 for a row without weight.

    >>> X, Y, w, place = distinct(np.array([[1.0], [0.0], [1.0]]), np.array([[0.0], [5.0], [1.0]]), np.ones(3))
    >>> X.ravel(), Y.ravel(), w, place
    (array([1., 0.]), array([0.5, 5. ]), array([2., 1.]), array([0, 1, 0]))
    """
    # A row with 1e-20 of the largest weight changes nothing in double precision.
    heavy = weights > 1e-20 * weights.max()
    places = np.where(heavy, np.cumsum(heavy) - 1, -1)
    # Adding zero makes −0 equal to 0, byte by byte.
    X, Y, weights = np.ascontiguousarray(X[heavy] + 0.0), Y[heavy], weights[heavy]
    whole = X if groups is None else np.column_stack([X, groups[heavy].astype(X.dtype)])
    keys = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(X):
        return X, Y, weights, places
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    place = rank[inverse.ravel()]
    mass = np.bincount(place, weights)
    sums = np.stack([np.bincount(place, weights * column) for column in Y.T], axis=1)
    places[heavy] = place
    return X[first[order]], sums / mass[:, None], mass, places
