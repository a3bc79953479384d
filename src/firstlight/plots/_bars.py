"""Grouped bars with error bars."""

import numpy as np

from firstlight.plots import _frame
from firstlight.plots._theme import Theme
from firstlight.records.figure import FigureData


def size(data: FigureData) -> tuple[float, float]:
    """Return width and height in inches; slanted names need room."""
    return _frame.WIDTH, 3.1 + 0.5 * _frame.crowded(data.meta["groups"], 300.0)


def render(host: _frame.Host, data: FigureData, theme: Theme) -> None:
    """Draw `data` into `host`."""
    axes = host.subplots()
    groups, labels = data.meta["groups"], data.meta["labels"]
    room = _frame.width_in_points(host) - 70
    _frame.scale(axes, data, [])
    width = 0.8 / max(len(labels), 1)
    handles = []
    for number, name in enumerate(labels):
        places = np.arange(len(groups)) + width * (number - (len(labels) - 1) / 2)
        drawn = axes.bar(
            places,
            _frame.visible(data.arrays[f"height{number}"], data.y),
            0.92 * width,
            yerr=data.arrays.get(f"error{number}"),
            color=theme.colour(number),
            label=name,
            error_kw={"ecolor": theme.ink, "elinewidth": 1, "capsize": 2.5},
        )
        handles.append(drawn)
    axes.axhline(0, color=theme.muted, linewidth=0.8)
    axes.grid(axis="y")
    _frame.ticks(axes)
    _frame.name_places(axes.xaxis, groups, room)
    _frame.label(axes, data)
    _frame.legend(axes, handles if len(labels) > 1 else [], room)
