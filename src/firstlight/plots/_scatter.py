"""Scatter plot with fitted lines."""

from typing import Any

import numpy as np

from firstlight.plots import _frame
from firstlight.plots._theme import Theme
from firstlight.records.figure import FigureData, unpack_series

_MARKERS = "os^Dv<>"


def size(data: FigureData) -> tuple[float, float]:
    """Return width and height in inches."""
    return _frame.WIDTH, 3.3


def render(host: _frame.Host, data: FigureData, theme: Theme) -> None:
    """Draw `data` into `host`."""
    axes = host.subplots()
    clouds, fits = unpack_series(data), unpack_series(data, "fits")
    _frame.scale(axes, data, [*clouds, *fits])
    handles = []
    for number, points in enumerate(clouds):
        x, y = _frame.visible(points.x, data.x), _frame.visible(points.y, data.y)
        colour, marker = theme.colour(number), _MARKERS[number % len(_MARKERS)]
        if points.lower is not None:
            bars = np.abs(np.stack([y - np.asarray(points.lower), np.asarray(points.upper) - y]))
            axes.errorbar(x, y, bars, color=colour, linestyle="", linewidth=1, zorder=2)
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 5, "markeredgewidth": 0}
        handles += axes.plot(x, y, linestyle="", alpha=0.85, label=points.label, **look)
    for number, fit in enumerate(fits):
        colour = theme.ink if number == 0 else theme.colour(number - 1)
        x, y = _frame.visible(fit.x, data.x), _frame.visible(fit.y, data.y)
        handles += axes.plot(x, y, color=colour, linewidth=1.3, dashes=(4, 2), label=fit.label, zorder=3)
    if data.meta["identity"]:
        low = max(axes.get_xlim()[0], axes.get_ylim()[0])
        high = min(axes.get_xlim()[1], axes.get_ylim()[1])
        ends = [low, high]
        handles += axes.plot(ends, ends, color=theme.muted, linewidth=1, label="y = x", zorder=1)
    axes.grid()
    _frame.ticks(axes)
    _frame.label(axes, data)
    _frame.legend(axes, handles, _frame.width_in_points(host) - 70)
