"""The numbers of a figure as a table, for readers who cannot see it or want the digits."""

import math
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
    """Return the numbers of a figure: one table, one for each of several panels, none for kinds without numbers.

    >>> from firstlight.records.figure import bars
    >>> figure_tables(bars(["a", "b"], {"share": [0.25, 0.75]}, x="column", y="importance"))[0].rows
    (('a', '0.25'), ('b', '0.75'))
    """
    if figure.kind == "panels":
        return tuple(table for part in unpack_panels(figure) for table in figure_tables(part))
    if figure.kind == "bars":
        return (_bars(figure),)
    if figure.kind in ("heatmap", "alignment"):
        return (_map(figure),)
    if figure.meta.get("series"):
        return (_curves(figure),)
    return ()


def _bars(figure: FigureData) -> FigureTable:
    labels = figure.meta["labels"]
    columns = [figure.arrays[f"height{number}"] for number in range(len(labels))]
    head = [figure.x.label if figure.x else "", *labels]
    for number, label in enumerate(labels):
        if f"error{number}" in figure.arrays:
            columns.append(figure.arrays[f"error{number}"])
            head.append(f"± {label}")
    rows = zip(figure.meta["groups"], *columns, strict=True)
    return FigureTable(figure.title, tuple(head), tuple((str(name), *_texts(values)) for name, *values in rows))


def _map(figure: FigureData) -> FigureTable:
    matrix = figure.arrays["matrix"]
    rows = figure.meta.get("rows") or [str(number) for number in range(matrix.shape[0])]
    columns = figure.meta.get("columns") or [str(number) for number in range(matrix.shape[1])]
    body = tuple((str(name), *_texts(values)) for name, values in zip(rows, matrix, strict=True))
    return FigureTable(figure.title, ("", *map(str, columns)), body)


def _curves(figure: FigureData) -> FigureTable:
    """Return all curves over the places of any of them; gaps are dashes."""
    series = unpack_series(figure)
    places = np.unique(np.concatenate([np.asarray(curve.x, float) for curve in series]))
    places = places[:: max(1, -(-len(places) // MOST_ROWS))]
    columns = []
    for curve in series:
        known = dict(zip(np.asarray(curve.x, float).tolist(), np.asarray(curve.y, float).tolist(), strict=True))
        columns.append([known.get(place, math.nan) for place in places.tolist()])
    head = (figure.x.text if figure.x else "x", *(curve.label for curve in series))
    return FigureTable(figure.title, head, tuple(tuple(_texts(row)) for row in zip(places, *columns, strict=True)))


def _texts(values: Any) -> list[str]:
    return [short_number(float(value), digits=4) for value in values]
