"""Staircase loss curve, with the predicted plateaus and jump times drawn over it."""

import numpy as np

from firstlight.plots import _frame
from firstlight.plots._theme import Theme
from firstlight.records.figure import FigureData, unpack_series


def size(data: FigureData) -> tuple[float, float]:
    """Return width and height in inches."""
    return _frame.WIDTH, 3.1


def render(host: _frame.Host, data: FigureData, theme: Theme) -> None:
    """Draw `data` into `host`."""
    axes = host.subplots()
    (measured,) = unpack_series(data)
    _frame.scale(axes, data, [measured])
    axes.margins(x=0, y=0.06)
    x, y = _frame.visible(measured.x, data.x), _frame.visible(measured.y, data.y)
    (line,) = axes.plot(x, y, color=theme.colour(0), label=measured.label, linewidth=2.2)
    jumps, levels = data.arrays["jumps"], _frame.visible(data.arrays["levels"], data.y)
    low, high = axes.get_xlim()
    for jump in _frame.visible(jumps, data.x):
        if np.isfinite(jump):
            axes.axvline(jump, color=theme.grid, linewidth=1, zorder=1)
    edges = [low, *np.clip(jumps, low, None), max(high, *jumps, low)]
    look = {"color": theme.colour(1), "linewidth": 1.5, "label": data.meta["predicted"]}
    step = axes.stairs(levels, edges, baseline=None, **look)
    step.set_linestyle((0, (4, 2)))
    axes.set_xlim(low, edges[-1])
    axes.grid(axis="y")
    _frame.ticks(axes)
    _frame.label(axes, data)
    _frame.legend(axes, [line, step], _frame.width_in_points(host) - 70)
