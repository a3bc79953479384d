"""Encoders of single columns: numbers with gaps, categories, dates."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from firstlight.rfm._encoding import reading

MOST_LEVELS = 200
"""Largest number of indicator columns of a category; rarer levels share one."""

PERIODS = {"year": 365.2425, "week": 7.0, "day": 1.0}
"""Cycles of dates, in days."""

WAVES = 2
"""Waves for each period; the second one goes round twice as fast."""

Weights = Float[np.ndarray, " n"]


@dataclass(frozen=True)
class Number:
    """A column of numbers: gaps are filled by the mean; if the fit saw gaps, an indicator marks them.

    >>> Number.of(np.array([1.0, np.nan, 3.0]), np.ones(3)).encode(np.array([np.nan, 5.0]))
    array([[2., 1.],
           [5., 0.]])
    """

    kind: ClassVar[str] = "number"
    fill: float
    gaps: bool

    @classmethod
    def of(cls, values: Float[np.ndarray, " n"], weights: Weights) -> "Number":
        """Return the encoder for these values."""
        known = ~np.isnan(values)
        peak = float(np.abs(values[known]).max()) or 1.0
        # Dividing first keeps the sum of very large numbers finite.
        mean = float(np.average(values[known] / peak, weights=weights[known]) * peak)
        return cls(mean, not bool(known.all()))

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What to append to the column's name for each encoded column."""
        return ("", " is missing") if self.gaps else ("",)

    def read(self, column: Any) -> Float[np.ndarray, "n k"]:
        """Encode a column of a data frame."""
        return self.encode(reading.numbers(column))

    def encode(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n k"]:
        """Return the encoded columns."""
        missing = np.isnan(values)
        filled = np.where(missing, self.fill, values)
        return np.stack([filled, missing], axis=1) if self.gaps else filled[:, None]


@dataclass(frozen=True)
class Category:
    """A column of levels: an indicator for each, one for gaps, and one that the rare levels share.

    Rare are levels beyond the 200 most frequent ones, and levels of one row if there are more levels than half of the
    rows. Two indicators would be each other's complement, so two levels make one column. A level that the fit has not
    seen gets the column of the rare levels; without one it is encoded as the mean of the rows, which says nothing.

    >>> colours = Category.of(np.array([0, 1, 2, 2] * 2), ["red", "blue", "green"], np.ones(8))
    >>> colours.suffixes, colours.encode(np.array([1, 0, -1]), ["green", "grey"])
    ((' = blue', ' = green', ' = red'), array([[0.25, 0.5 , 0.25],
           [0.  , 1.  , 0.  ],
           [0.25, 0.5 , 0.25]]))
    """

    kind: ClassVar[str] = "category"
    levels: tuple[str, ...]
    missing: bool
    pooled: bool
    shares: tuple[float, ...]

    @classmethod
    def of(cls, codes: np.ndarray, names: list[str], weights: Weights, most: int | None = None) -> "Category":
        """Return the encoder for cells with these codes; −1 is a gap."""
        most = MOST_LEVELS if most is None else most
        masses = np.bincount(codes[codes >= 0], weights[codes >= 0], minlength=len(names))
        total = float(weights.sum())
        seen = sorted((i for i in range(len(names)) if masses[i] > 0), key=lambda i: (-masses[i], names[i]))
        if 2 * len(seen) > len(codes):
            # Levels that mostly occur once name rows; an indicator of one row says nothing about others.
            rows = np.bincount(codes[codes >= 0], minlength=len(names))
            usual = [i for i in seen if rows[i] > 1]
        else:
            usual = seen
        chosen = usual if len(usual) + (len(usual) < len(seen)) <= most else usual[: most - 1]
        levels = sorted(chosen, key=lambda i: names[i])
        shares = [masses[i] / total for i in levels]
        gaps = float(weights[codes < 0].sum()) / total
        if gaps > 0:
            shares.append(gaps)
        pooled = len(chosen) < len(seen)
        if pooled:
            shares.append(1 - sum(shares))
        return cls(tuple(names[i] for i in levels), gaps > 0, pooled, tuple(map(float, shares)))

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What to append to the column's name for each encoded column."""
        words = [f" = {level}" for level in self.levels]
        words += [" is missing"] * self.missing + [" is rare"] * self.pooled
        return tuple(words[1:] if len(words) == 2 else words)

    def read(self, column: Any) -> Float[np.ndarray, "n k"]:
        """Encode a column of a data frame."""
        return self.encode(*reading.levels(column))

    def encode(self, codes: np.ndarray, names: list[str]) -> Float[np.ndarray, "n k"]:
        """Return the encoded columns of cells with these codes; −1 is a gap."""
        known, width = {level: i for i, level in enumerate(self.levels)}, len(self.shares)
        rare, gap = (width - 1 if self.pooled else width), (len(self.levels) if self.missing else width)
        place = np.array([*(known.get(name, rare) for name in names), gap])
        rows = np.vstack([np.eye(width), self.shares])[place[codes]]
        return rows[:, 1:] if width == 2 else rows


@dataclass(frozen=True)
class Date:
    """A column of dates: days since 1970, and two waves of each cycle that the fit saw at least once.

    A wave is a sine and a cosine; the second one goes round twice as fast and tells Saturday from Monday.

    >>> Date.of(np.arange(30.0), np.ones(30)).suffixes
    ('', ' sin week', ' cos week', ' sin 2 week', ' cos 2 week')
    """

    kind: ClassVar[str] = "date"
    fill: float
    gaps: bool
    cycles: tuple[str, ...]

    @classmethod
    def of(cls, values: Float[np.ndarray, " n"], weights: Weights) -> "Date":
        """Return the encoder for these days."""
        number = Number.of(values, weights)
        known = np.unique(values[~np.isnan(values)])
        # A cycle is learnable if the dates go round it once, and pointless if they always fall on the same phase.
        cycles = [
            name
            for name, period in PERIODS.items()
            if np.ptp(known) >= 0.9 * period and np.ptp(known % period) > 1e-6 * period
        ]
        return cls(number.fill, number.gaps, tuple(cycles))

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What to append to the column's name for each encoded column."""
        turns = ["", *(f"{k} " for k in range(2, WAVES + 1))]
        waves = [f" {wave} {k}{cycle}" for cycle in self.cycles for k in turns for wave in ("sin", "cos")]
        return ("", *waves, *([" is missing"] * self.gaps))

    def read(self, column: Any) -> Float[np.ndarray, "n k"]:
        """Encode a column of a data frame."""
        return self.encode(reading.days(column))

    def encode(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n k"]:
        """Return the encoded columns; a gap has the mean day and no phase."""
        missing = np.isnan(values)
        parts = [np.where(missing, self.fill, values)]
        for cycle in self.cycles:
            angle = np.where(missing, 0.0, 2 * np.pi * values / PERIODS[cycle])
            for turns in range(1, WAVES + 1):
                parts += [np.where(missing, 0.0, wave(turns * angle)) for wave in (np.sin, np.cos)]
        return np.stack([*parts, missing] if self.gaps else parts, axis=1)


@dataclass(frozen=True)
class Ignored:
    """A column without any value in the fit; it is ignored."""

    kind: ClassVar[str] = "ignored"

    @property
    def suffixes(self) -> tuple[str, ...]:
        """An ignored column has no encoded column."""
        return ()

    def read(self, column: Any) -> Float[np.ndarray, "n 0"]:
        """Return no column."""
        return np.empty((len(column), 0))

    def encode(self, values: np.ndarray) -> Float[np.ndarray, "n 0"]:
        """Return no column."""
        return np.empty((len(values), 0))


Column = Number | Category | Date | Ignored
