"""Cells of a map: their edges, and the cells that a line crosses."""

import numpy as np

from firstlight.records.figure import Axis

_SAMPLES = 64
"""Points of a segment at which the crossed cell is looked up."""


def cell_edges(values: np.ndarray, axis: Axis | None) -> np.ndarray:
    """Return the edges between cells: halfway between neighbouring values, on the scale of the axis."""
    log = _is_log(values, axis)
    places = np.log(values) if log else np.asarray(values, float)
    if len(places) == 1:
        edges = places[0] + np.array([-0.5, 0.5])
    else:
        middles = (places[1:] + places[:-1]) / 2
        edges = np.concatenate([[2 * places[0] - middles[0]], middles, [2 * places[-1] - middles[-1]]])
    return np.exp(edges) if log else edges


def crossed(
    line: tuple[np.ndarray, np.ndarray], edges: tuple[np.ndarray, np.ndarray], axes: tuple[Axis | None, Axis | None]
) -> set[tuple[int, int]]:
    """Return (column, row) of every cell that a line (x, y) crosses; the line breaks at NaN.

    >>> edges = np.arange(4.0), np.arange(3.0)
    >>> sorted(crossed((np.array([0.5, 2.5]), np.array([0.5, 1.6])), edges, (None, None)))
    [(0, 0), (1, 0), (1, 1), (2, 1)]
    """
    places = []
    for values, ends, axis in zip(line, edges, axes, strict=True):
        log = _is_log(ends, axis)
        with np.errstate(invalid="ignore", divide="ignore"):
            points, limits = (np.log(values), np.log(ends)) if log else (np.asarray(values, float), ends)
        part = np.linspace(0, 1, _SAMPLES)
        path = points[:-1, None] * (1 - part) + points[1:, None] * part if len(points) > 1 else points[:, None]
        inside = np.isfinite(path) & (path >= limits[0]) & (path <= limits[-1])
        cells = np.clip(np.searchsorted(limits, np.where(inside, path, limits[0]), side="right") - 1, 0, len(ends) - 2)
        places.append(np.where(inside, cells, -1).ravel())
    return {(int(column), int(row)) for column, row in zip(*places, strict=True) if column >= 0 and row >= 0}


def _is_log(values: np.ndarray, axis: Axis | None) -> bool:
    return axis is not None and axis.scale == "log" and bool((values > 0).all())
