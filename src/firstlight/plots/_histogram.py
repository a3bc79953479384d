"""Histogram of samples, with theory curves drawn over the bins."""

import numpy as np

from firstlight.plots import _frame
from firstlight.plots._theme import Theme
from firstlight.records.figure import FigureData, Series, unpack_series


def size(data: FigureData) -> tuple[float, float]:
    """Return width and height in inches."""
    return _frame.WIDTH, 3.0


def render(host: _frame.Host, data: FigureData, theme: Theme) -> None:
    """Draw `data` into `host`."""
    axes = host.subplots()
    edges, theory = data.arrays["edges"], unpack_series(data, "theory")
    room = _frame.width_in_points(host) - 70
    counts = [data.arrays[f"counts{number}"] for number in range(len(data.meta["labels"]))]
    _frame.scale(axes, data, [Series("counts", edges[1:], np.concatenate([*counts, np.zeros(0)]))])
    handles = []
    for number, (name, heights) in enumerate(zip(data.meta["labels"], counts, strict=True)):
        colour = theme.colour(number)
        axes.stairs(heights, edges, fill=True, color=colour, alpha=0.25)
        handles.append(axes.stairs(heights, edges, color=colour, linewidth=1.3, label=name))
    for curve in theory:
        x, y = _frame.visible(curve.x, data.x), _frame.visible(curve.y, data.y)
        handles += axes.plot(x, y, color=theme.ink, linewidth=1.3, dashes=(4, 2), label=curve.label)
    axes.margins(x=0.02, y=0.06)
    axes.grid(axis="y")
    _frame.ticks(axes)
    _frame.label(axes, data)
    _frame.legend(axes, handles if len(handles) > 1 else [], room)
