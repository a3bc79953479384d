"""The numbers of a figure as a table, for readers who cannot see it or want the digits."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from firstlight.plots import short_number
from firstlight.records import FigureData
from firstlight.records.figure import unpack_panels, unpack_series

MOST_ROWS = 200
"""Rows of a table; a longer curve is shown at equal distances."""


@dataclass(frozen=True)
class FigureTable:
    """The heads of the columns, and rows whose first entry names the row."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def figure_tables(figure: FigureData) -> tuple[FigureTable, ...]:
    """Return the numbers of a figure: one table, or several for panels, clouds of points and grids of maps.

    >>> from firstlight.records.figure import bars
    >>> figure_tables(bars(["a", "b"], {"share": [0.25, 0.75]}, x="column", y="importance"))[0].rows
    (('a', '0.25'), ('b', '0.75'))
    """
    if figure.kind == "panels":
        return tuple(table for part in unpack_panels(figure) for table in figure_tables(part))
    return _TABLES[figure.kind](figure)


def _bars(figure: FigureData) -> tuple[FigureTable, ...]:
    labels = figure.meta["labels"]
    columns = [figure.arrays[f"height{number}"] for number in range(len(labels))]
    head = [figure.x.label if figure.x else "", *labels]
    for number, label in enumerate(labels):
        if f"error{number}" in figure.arrays:
            columns.append(figure.arrays[f"error{number}"])
            head.append(f"± {label}")
    rows = zip(figure.meta["groups"], *columns, strict=True)
    return (FigureTable(figure.title, tuple(head), tuple((str(name), *_texts(values)) for name, *values in rows)),)


def _map(figure: FigureData) -> tuple[FigureTable, ...]:
    matrix = figure.arrays["matrix"]
    return (_matrix(figure.title, matrix, figure.meta.get("rows"), figure.meta.get("columns")),)


def _grid(figure: FigureData) -> tuple[FigureTable, ...]:
    maps = zip(figure.meta["labels"], figure.arrays["matrices"], strict=True)
    return tuple(_matrix(str(label), matrix, None, None) for label, matrix in maps)


def _phase(figure: FigureData) -> tuple[FigureTable, ...]:
    rows, columns = (
        figure.meta.get(f"{name}_names") or [short_number(float(value)) for value in figure.arrays[name]]
        for name in ("y", "x")
    )
    return (_matrix(figure.title, figure.arrays["rate"], rows, columns),)


def _matrix(title: str, matrix: np.ndarray, rows: Any, columns: Any) -> FigureTable:
    rows = rows or [str(number) for number in range(matrix.shape[0])]
    columns = columns or [str(number) for number in range(matrix.shape[1])]
    body = tuple((str(name), *_texts(values)) for name, values in zip(rows, matrix, strict=True))
    return FigureTable(title, ("", *map(str, columns)), body)


def _histogram(figure: FigureData) -> tuple[FigureTable, ...]:
    edges, labels = _texts(figure.arrays["edges"]), figure.meta["labels"]
    columns = [figure.arrays[f"counts{number}"] for number in range(len(labels))]
    bins = [f"{low} to {high}" for low, high in itertools.pairwise(edges)]
    head = (figure.x.text if figure.x else "x", *labels)
    rows = zip(bins, *columns, strict=True)
    return (FigureTable(figure.title, head, tuple((name, *_texts(values)) for name, *values in rows)),)


def _circles(figure: FigureData) -> tuple[FigureTable, ...]:
    points = zip(figure.arrays["index"], *figure.arrays["points"].T, strict=True)
    names = (axis.text if axis else "" for axis in (figure.value, figure.x, figure.y))
    return (FigureTable(figure.title, tuple(names), tuple(tuple(_texts(row)) for row in points)),)


def _scatter(figure: FigureData) -> tuple[FigureTable, ...]:
    """Return a table for each cloud: several points may share a place."""
    x = figure.x.text if figure.x else "x"
    tables = []
    for cloud in unpack_series(figure):
        points = list(zip(cloud.x, cloud.y, strict=True))
        points = points[:: max(1, -(-len(points) // MOST_ROWS))]
        tables.append(FigureTable(figure.title, (x, cloud.label), tuple(tuple(_texts(point)) for point in points)))
    return tuple(tables)


def _spectrum(figure: FigureData) -> tuple[FigureTable, ...]:
    ticks = figure.meta["ticks"]
    (table,) = _curves(figure)
    if ticks is None:
        return (table,)
    names = dict(zip(_texts(range(len(ticks))), ticks, strict=True))
    return (FigureTable(table.title, table.head, tuple((names[row[0]], *row[1:]) for row in table.rows)),)


def _curves(figure: FigureData) -> tuple[FigureTable, ...]:
    """Return all curves over the places of any of them; gaps are dashes."""
    series = unpack_series(figure)
    if not series:
        return ()
    places = np.unique(np.concatenate([np.asarray(curve.x, float) for curve in series]))
    places = places[:: max(1, -(-len(places) // MOST_ROWS))]
    columns = []
    for curve in series:
        known = dict(zip(np.asarray(curve.x, float).tolist(), np.asarray(curve.y, float).tolist(), strict=True))
        columns.append([known.get(place, math.nan) for place in places.tolist()])
    head = (figure.x.text if figure.x else "x", *(curve.label for curve in series))
    rows = tuple(tuple(_texts(row)) for row in zip(places, *columns, strict=True))
    return (FigureTable(figure.title, head, rows),)


_TABLES: dict[str, Callable[[FigureData], tuple[FigureTable, ...]]] = {
    "curves": _curves,
    "staircase": _curves,
    "spectrum": _spectrum,
    "scatter": _scatter,
    "bars": _bars,
    "histogram": _histogram,
    "heatmap": _map,
    "alignment": _map,
    "grid": _grid,
    "phase": _phase,
    "circles": _circles,
}


def _texts(values: Any) -> list[str]:
    return [short_number(float(value), digits=4) for value in values]
