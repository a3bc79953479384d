"""One column of labels as targets of a regression, and its scores on the way back."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import helmert


@dataclass(frozen=True)
class Labels:
    """The classes of one column of labels, and their shares of the rows.

    >>> labels, targets = Labels.of(np.array(["b", "a", "b", "b"]), np.ones(4))
    >>> labels.prior, labels.scores(targets).argmax(axis=1)
    (array([0.25, 0.75]), array([1, 0, 1, 1]))
    """

    classes: np.ndarray
    prior: Float[np.ndarray, " c"]

    @classmethod
    def of(cls, y: np.ndarray, weights: Float[np.ndarray, " n"]) -> tuple["Labels", Float[np.ndarray, "n k"]]:
        """Return the labels and the targets of the rows: indicators without their mean, in c − 1 coordinates."""
        classes, codes = np.unique(y, return_inverse=True)
        masses = np.bincount(codes.ravel(), weights, minlength=len(classes))
        labels = cls(classes, masses / masses.sum())
        return labels, labels.targets(y)

    @property
    def basis(self) -> Float[np.ndarray, "c k"]:
        """Orthonormal columns that sum to 0, like differences of indicators.

        They save one output and change neither distances nor FACT nor AGOP. With a single class, a column of zeros
        keeps the shapes.
        """
        count = len(self.classes)
        return helmert(count).T if count > 1 else np.zeros((1, 1))

    @property
    def width(self) -> int:
        """The number of targets, c − 1."""
        return max(len(self.classes) - 1, 1)

    def targets(self, y: np.ndarray) -> Float[np.ndarray, "n k"]:
        """Return the targets of rows with these labels, all of which are classes."""
        return (np.eye(len(self.classes)) - self.prior)[np.searchsorted(self.classes, y)] @ self.basis

    def scores(self, F: Any) -> Float[np.ndarray, "n c"]:
        """Return the scores of the classes for outputs F (n, k); scores of a row sum to 1."""
        return np.asarray(F, dtype=np.float64) @ self.basis.T + self.prior
