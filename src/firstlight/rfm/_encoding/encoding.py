"""The encoding of a whole table: one encoder per column, and the way back from encoded columns to the user's."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from firstlight.records._shorten import shorten
from firstlight.rfm._encoding import reading
from firstlight.rfm._encoding.columns import MOST_LEVELS, Category, Column, Date, Ignored, Number
from firstlight.rfm._tables.table import Scaling

LEVEL_POWER = 0.5
"""Indicators of levels are divided by this power of their standard deviation (docs/rfm.md has the measurements)."""

GAP_POWER = 0.75
"""The same for indicators of gaps."""


@dataclass(frozen=True)
class Encoding:
    """Encoders of all columns, in the order of the table.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0] * 2, "kind": ["a", "b", "c"] * 2})
    >>> encoding = Encoding.of_frame(frame, np.ones(6))
    >>> encoding.names(["size", "kind"])
    ['size', 'size is missing', 'kind = a', 'kind = b', 'kind = c']
    >>> encoding.apply(frame)[1]
    array([2., 1., 0., 1., 0.])
    """

    columns: tuple[Column, ...]

    @classmethod
    def of_numbers(cls, X: Float[np.ndarray, "n d"], weights: Float[np.ndarray, " n"]) -> "Encoding":
        """Return the encoding of an array of numbers, in which NaN is a gap."""
        heavy = np.flatnonzero(weights > 0)
        X, weights = X[heavy], weights[heavy]
        gaps = np.isnan(X)
        if not gaps.any():
            return cls((Number(0.0, False),) * X.shape[1])
        empty = np.asarray(gaps.all(axis=0))
        return cls(
            tuple(
                Ignored() if empty[j] else Number.of(X[:, j], weights) if gaps[:, j].any() else Number(0.0, False)
                for j in range(X.shape[1])
            )
        )

    @classmethod
    def of_frame(
        cls, frame: Any, weights: Float[np.ndarray, " n"], categorical: np.ndarray | None = None
    ) -> "Encoding":
        """Return the encoding of a data frame; `categorical` marks columns that are categories whatever their type."""
        heavy = np.flatnonzero(weights > 0)
        weights = weights[heavy]
        columns: list[Column] = []
        for j, (_, column) in enumerate(frame.items()):
            column = column.iloc[heavy]
            kind = reading.kind_of(column)
            if kind == "empty":
                columns.append(Ignored())
            elif kind == "category" or (categorical is not None and categorical[j]):
                columns.append(Category.of(*reading.levels(column), weights))
            elif kind == "date":
                columns.append(Date.of(reading.days(column), weights))
            else:
                columns.append(Number.of(reading.numbers(column), weights))
        return cls(tuple(columns))

    def takes_array(self, X: Any) -> bool:
        """Return whether X is to be read as an array of floats; durations and text need a data frame."""
        return all(isinstance(column, Number | Ignored) for column in self.columns) and reading.is_numeric(X)

    @cached_property
    def owners(self) -> Int[np.ndarray, " D"]:
        """The user's column of each encoded column."""
        return np.repeat(np.arange(len(self.columns)), [len(column.suffixes) for column in self.columns])

    def names(self, of: Sequence[str]) -> list[str]:
        """Return the names of the encoded columns, from the names of the user's columns."""
        return [name + suffix for name, column in zip(of, self.columns, strict=True) for suffix in column.suffixes]

    def apply(self, X: Any) -> Float[np.ndarray, "n D"]:
        """Encode a float array (if all columns are numbers) or a data frame."""
        if isinstance(X, np.ndarray):
            if len(self.owners) == X.shape[1] and not np.isnan(X).any():
                return X
            parts = [column.encode(X[:, j]) for j, column in enumerate(self.columns)]  # type: ignore[call-arg]
        else:
            parts = [column.read(series) for column, (_, series) in zip(self.columns, X.items(), strict=True)]
        return np.hstack(parts, dtype=np.float64)

    def warn(self, names: Sequence[str], weights_of_rare: float = 0.5) -> None:
        """Warn of columns that the fit cannot use, or not in full."""
        pairs = list(zip(names, self.columns, strict=True))
        if empty := [name for name, column in pairs if isinstance(column, Ignored)]:
            _warn(f"no row has a value in {', '.join(empty)}; these columns are ignored")
        rare = [
            name
            for name, column in pairs
            if isinstance(column, Category) and column.pooled and column.shares[-1] >= weights_of_rare
        ]
        if rare:
            _warn(
                f"more than half of the rows of {', '.join(rare)} have rare levels (beyond the {MOST_LEVELS} most "
                "frequent, or of one row), which share an indicator; drop columns that name rows, group their levels, "
                "or convert text that holds numbers or dates (pandas.to_numeric, pandas.to_datetime)"
            )

    def fold(self, values: Float[np.ndarray, "... D"]) -> Float[np.ndarray, "... d"]:
        """Add up the entries of each user's column."""
        folded = np.zeros((*values.shape[:-1], len(self.columns)))
        np.add.at(np.moveaxis(folded, -1, 0), self.owners, np.moveaxis(values, -1, 0))
        return folded

    def fold_directions(self, V: Float[np.ndarray, "k D"]) -> Float[np.ndarray, "k d"]:
        """Return the length of each direction within each user's column; a single entry has its sign."""
        lengths = np.sqrt(self.fold(V**2))
        single = np.flatnonzero(np.bincount(self.owners, minlength=len(self.columns)) == 1)
        lengths[:, single] = V[:, np.flatnonzero(np.isin(self.owners, single))]
        return lengths

    def fold_matrix(self, M: Float[np.ndarray, "D D"]) -> Float[np.ndarray, "d d"]:
        """Return the trace of each diagonal block, and the Frobenius norm of the others; single entries have signs."""
        d = len(self.columns)
        if len(self.owners) == d and (self.owners == np.arange(d)).all():
            return M
        folded = np.sqrt(self.fold(self.fold(M**2).T))
        single = np.bincount(self.owners, minlength=d) == 1
        where = np.flatnonzero(np.isin(self.owners, np.flatnonzero(single)))
        folded[np.ix_(single, single)] = M[np.ix_(where, where)]
        np.fill_diagonal(folded, self.fold(M.diagonal()))
        return folded

    @cached_property
    def powers(self) -> Float[np.ndarray, " D"]:
        """The power of the standard deviation by which each encoded column is divided.

        Numbers, dates and the single column of two levels are standardised, which is power 1.
        """

        def power(column: Column, suffix: str) -> float:
            if isinstance(column, Category):
                return LEVEL_POWER if len(column.suffixes) > 1 else 1.0
            return GAP_POWER if suffix == " is missing" else 1.0

        return np.array([power(column, suffix) for column in self.columns for suffix in column.suffixes])

    def rescaled(self, scaling: Scaling) -> Scaling:
        """Return the scaling in which indicators are divided by a power of their standard deviation."""
        plain = self.powers == 1
        return scaling if plain.all() else Scaling(scaling.shift, scaling.spread**self.powers)

    def variances(self, Z: Float[np.ndarray, "n D"], weights: Float[np.ndarray, " n"]) -> Float[np.ndarray, " D"]:
        """Return what an entry of M's diagonal counts for: 1 for a number, the variance of a scaled indicator."""
        result = np.ones(Z.shape[1])
        marks = self.powers != 1
        result[marks] = np.average(
            (Z[:, marks] - np.average(Z[:, marks], axis=0, weights=weights)) ** 2, axis=0, weights=weights
        )
        return result


def _warn(words: str) -> None:
    warnings.warn(shorten(words, 600), UserWarning, stacklevel=5)
