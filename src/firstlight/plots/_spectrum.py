"""Stem plot over frequencies or irreps."""

import numpy as np

from firstlight.plots import _frame
from firstlight.plots._theme import Theme
from firstlight.records.figure import FigureData, unpack_series


def size(data: FigureData) -> tuple[float, float]:
    """Return width and height in inches; slanted names need room."""
    return _frame.WIDTH, 2.9 + 0.5 * _frame.crowded(data.meta["ticks"] or (), 300.0)


def render(host: _frame.Host, data: FigureData, theme: Theme) -> None:
    """Draw `data` into `host`; stems of several series stand side by side."""
    axes = host.subplots()
    series = unpack_series(data)
    room = _frame.width_in_points(host) - 70
    _frame.scale(axes, data, series)
    places = np.asarray(series[0].x, float) if series else np.zeros(0)
    gap = float(np.diff(np.sort(places)).min()) if len(places) > 1 else 1.0
    thick = float(np.clip(0.55 * room / max(len(places) * len(series), 1), 1.0, 7.0))
    handles = []
    for number, stems in enumerate(series):
        shift = gap * 0.6 * (number - (len(series) - 1) / 2) / max(len(series), 1)
        heights = _frame.visible(stems.y, data.y)
        # Stems on a log axis need a start below the shortest stem.
        floor = float(np.nanmin(heights, initial=np.inf)) / 2 if axes.get_yscale() == "log" else 0.0
        look = {"color": theme.colour(number), "linewidth": thick, "label": stems.label}
        handles.append(axes.vlines(places + shift, floor, heights, **look))
    axes.margins(x=0.02, y=0.06)
    if data.y is not None and data.y.scale == "linear":
        axes.axhline(0, color=theme.muted, linewidth=0.8)
    axes.grid(axis="y")
    _frame.ticks(axes)
    if data.meta["ticks"] is not None:
        _frame.name_places(axes.xaxis, data.meta["ticks"], room)
    _frame.label(axes, data)
    _frame.legend(axes, handles if len(series) > 1 else [], room)
