"""Thin long curves on the server: a browser draws a thousand points as well as a hundred thousand."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

MOST = 1200
"""Points of a curve that a page receives; a wide screen has about as many columns of pixels."""


def thin(values: Sequence[float] | np.ndarray, most: int = MOST) -> list[int]:
    """Return the places of at most `most` values that draw the same curve: the extremes of equal stretches.

    The first and the last value stay. So do jumps: each stretch gives its smallest and its largest value.

    >>> thin([0, 0, 9, 0, 0, 0, 0, 0], most=6)
    [0, 2, 4, 7]
    """
    array = np.asarray(values, dtype=float)
    if len(array) <= most:
        return list(range(len(array)))
    edges = np.linspace(0, len(array), max(1, (most - 2) // 2) + 1).astype(int)
    places = {0, len(array) - 1}
    for start, end in pairwise(edges):
        stretch = array[start:end]
        if len(stretch) and not np.isnan(stretch).all():
            places |= {int(start + np.nanargmin(stretch)), int(start + np.nanargmax(stretch))}
    return sorted(places)


def thin_rows(
    steps: np.ndarray, columns: Mapping[str, np.ndarray], most: int = MOST
) -> tuple[list[int], dict[str, list[Any]]]:
    """Return at most about `most` rows of several curves: the rows at which any of them has an extreme.

    >>> steps, columns = thin_rows(np.arange(10_000), {"loss": np.linspace(1, 0, 10_000)}, most=100)
    >>> len(steps) <= 100, steps[0], steps[-1], columns["loss"][-1]
    (True, 0, 9999, 0.0)
    """
    count = len(steps)
    places: Sequence[int] = range(count)
    if count > most:
        share = max(4, most // max(1, len(columns)))
        places = sorted({place for column in columns.values() for place in thin(column, share)} or {0, count - 1})
    chosen = np.asarray(places, dtype=int)
    return np.asarray(steps)[chosen].tolist(), {name: column[chosen].tolist() for name, column in columns.items()}
