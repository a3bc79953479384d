"""Coordinates in which a machine is fitted: all columns, the span of the rows, or the columns linked to the target."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from firstlight.rfm._solvers.screening import linked

Rows = Float[np.ndarray, "n d"]
Name = Literal["all", "linked"]

SCREENED_COLUMNS = 50
"""Tables with fewer columns are fitted on all of them only."""


@dataclass(frozen=True)
class View:
    """A map of rows to fewer coordinates, and of metrics back to all columns.

    **Arguments:**

    - `d`: number of columns.
    - `columns`: indices of the columns used; None for all.
    - `basis`: (d, r) orthonormal columns that span the training rows; None if there are more rows than columns.
    """

    d: int
    columns: np.ndarray | None = None
    basis: Float[np.ndarray, "d r"] | None = None

    def apply(self, Z: Rows) -> Float[np.ndarray, "n r"]:
        """Return the coordinates of rows.

        The span gets one more coordinate, the distance to the span. It is 0 for training rows, so that distances
        between any row and a training row are exact, and every update of M gives it weight 0.
        """
        if self.columns is not None:
            return np.ascontiguousarray(Z[:, self.columns])
        if self.basis is None:
            return Z
        inside = Z @ self.basis
        outside = np.linalg.norm(Z - inside @ self.basis.T, axis=1)
        # Rounding alone separates training rows from their span.
        outside[outside <= 1e3 * np.finfo(Z.dtype).eps * np.linalg.norm(Z, axis=1)] = 0
        return np.hstack([inside, outside[:, None]])

    def embed(self, M: Float[np.ndarray, "r r"], updated: bool) -> Float[np.ndarray, "d d"]:
        """Return the metric on all columns; before the first update it is the identity."""
        if self.columns is not None:
            whole = np.zeros((self.d, self.d))
            whole[np.ix_(self.columns, self.columns)] = M
            return whole
        if self.basis is None:
            return M
        return self.basis @ M[:-1, :-1] @ self.basis.T if updated else np.eye(self.d)

    @property
    def trace(self) -> float | None:
        """The trace of a normalised metric, if it is not the number of coordinates."""
        return None if self.basis is None else float(self.d)


def view(name: Name, Z: Rows, Y: Float[np.ndarray, "n c"], weights: Float[np.ndarray, " n"]) -> View:
    """Return a view for training rows; without linked columns, "linked" is all columns.

    >>> Z = np.eye(2, 5)
    >>> np.abs(view("all", Z, np.ones((2, 1)), np.ones(2)).apply(np.ones((1, 5)))).round(3)
    array([[1.   , 1.   , 1.732]])
    """
    n, d = Z.shape
    if name == "linked":
        columns = linked(Z, Y, weights)
        if len(columns):
            return View(d, columns=columns)
    if d > n:
        return View(d, basis=np.linalg.qr(Z.T)[0])
    return View(d)


def views(Z: Rows, Y: Float[np.ndarray, "n c"], weights: Float[np.ndarray, " n"]) -> dict[Name, View]:
    """Return the views worth trying: all columns, and the linked columns if they are at most half of many."""
    every: dict[Name, View] = {"all": view("all", Z, Y, weights)}
    if Z.shape[1] >= SCREENED_COLUMNS:
        chosen = view("linked", Z, Y, weights)
        if chosen.columns is not None and 2 * len(chosen.columns) <= Z.shape[1]:
            every["linked"] = chosen
    return every
