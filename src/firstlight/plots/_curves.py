"""Learning curves: lines with bands, stages behind them, reference lines labelled in place."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from firstlight.plots import _frame
from firstlight.plots._theme import Theme
from firstlight.records.figure import FigureData, Series, unpack_series

_STRIP = 13.0
_STAGE_SHADE = 0.11
_LOOKS: dict[str, dict[str, Any]] = {
    "line": {},
    "dashed": {"dashes": (4, 2.2)},
    "points": {"marker": "o", "linestyle": ""},
}


def size(data: FigureData) -> tuple[float, float]:
    """Return width and height in inches; legend and labels above the axes add height."""
    labels = [curve["label"] for curve in data.meta["series"]]
    columns = _frame.legend_columns(labels, 72 * _frame.WIDTH - 40) if labels else 1
    rows = -(-len(labels) // columns) + bool(data.meta["stages"]) + min(len(data.meta["vertical"]), 2)
    return _frame.WIDTH, 2.75 + 0.17 * rows


def render(host: _frame.Host, data: FigureData, theme: Theme) -> None:
    """Draw `data` into `host`."""
    axes = host.subplots()
    series = unpack_series(data)
    room = _frame.width_in_points(host) - 70
    _frame.scale(axes, data, series)
    axes.margins(x=0, y=0.06)
    handles = draw_lines(axes, series, data, theme)
    _fit_x(axes, data)
    axes.grid(axis="y")
    _frame.ticks(axes)
    _frame.label(axes, data)
    lift = 3.0
    _horizontals(axes, data, theme)
    stage_handles, lift = _stages(axes, data, theme, room, lift)
    lift = _verticals(axes, data, theme, room, lift)
    # The label of the y axis already names a single curve.
    named = len(series) == 1 and data.y is not None and series[0].label == data.y.label
    _frame.legend(axes, [*([] if named else handles), *stage_handles], room, lift + 1)


def draw_lines(axes: Axes, series: Sequence[Series], data: FigureData, theme: Theme) -> list[Line2D]:
    """Draw one line per series, in order; a series `like` another has the other's colour and lies above it."""
    leaders = [curve.label for curve in series if not curve.like]
    colours = {name: theme.colour(number) for number, name in enumerate(leaders)}
    handles = []
    for curve in series:
        colour = colours.get(curve.like or curve.label) or theme.muted
        x, y = _frame.visible(curve.x, data.x), _frame.visible(curve.y, data.y)
        if curve.lower is not None:
            _band(axes, x, y, curve, data, colour)
        # A line of a single point would be invisible.
        look = _LOOKS["points" if np.isfinite(x + y).sum() == 1 else curve.style]
        order = 3 if curve.like else 2.5
        handles += axes.plot(x, y, color=colour, label=curve.label, markersize=4, zorder=order, **look)
    return handles


def _band(axes: Axes, x: np.ndarray, y: np.ndarray, curve: Series, data: FigureData, colour: str) -> None:
    lower, upper = np.asarray(curve.lower, float), _frame.visible(curve.upper, data.y)
    if data.y is not None and data.y.scale == "log":
        # A band that reaches zero has no lower edge on a log axis: it ends at the lowest point of the line.
        lower = np.maximum(lower, np.nanmin(y, initial=np.inf))
    axes.fill_between(x, np.minimum(lower, upper), upper, color=colour, alpha=0.18, linewidth=0)


def _fit_x(axes: Axes, data: FigureData) -> None:
    # Stages and vertical lines may lie beyond the data, but never where a log axis has no place for them.
    marks = [mark for _, *ends in (*data.meta["stages"], *data.meta["vertical"]) for mark in ends]
    marks = [mark for mark in marks if not (axes.get_xscale() == "log" and mark <= 0)]
    if marks:
        low, high = axes.get_xlim()
        axes.set_xlim(min(low, *marks), max(high, *marks))


def _horizontals(axes: Axes, data: FigureData, theme: Theme) -> None:
    for name, value in data.meta["horizontal"]:
        if axes.get_yscale() == "log" and value <= 0:
            continue
        axes.axhline(value, color=theme.muted, linewidth=1, dashes=(1.5, 2), zorder=1.5)
        axes.annotate(
            name,
            (1, value),
            xytext=(4, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize=_frame.SMALL,
            color=theme.muted,
        )


def _fractions(axes: Axes, values: Sequence[float]) -> np.ndarray:
    transform = axes.transScale + axes.transLimits
    low = axes.get_xlim()[0]
    clipped = [max(value, low) if axes.get_xscale() == "log" else value for value in values]
    return transform.transform([(value, axes.get_ylim()[0]) for value in clipped])[:, 0]


def _stages(axes: Axes, data: FigureData, theme: Theme, room: float, lift: float) -> tuple[list[Patch], float]:
    stages = data.meta["stages"]
    if not stages:
        return [], lift
    ends = [_fractions(axes, stage[1:]) for stage in stages]
    fits = all(_frame.text_width(s[0]) < (b - a) * room for s, (a, b) in zip(stages, ends, strict=True))
    handles = []
    for number, ((name, start, end), (left, right)) in enumerate(zip(stages, ends, strict=True)):
        colour = theme.colour(number + 4)
        first = max(start, axes.get_xlim()[0])
        axes.axvspan(first, end, color=colour, alpha=_STAGE_SHADE, linewidth=0, zorder=0)
        if fits:
            axes.text(
                (left + right) / 2,
                1,
                name,
                transform=_frame.above(axes, lift),
                ha="center",
                va="bottom",
                fontsize=_frame.SMALL,
                color=theme.muted,
            )
        else:
            handles.append(Patch(color=colour, alpha=3 * _STAGE_SHADE, linewidth=0, label=name))
    return handles, lift + _STRIP if fits else lift


def _verticals(axes: Axes, data: FigureData, theme: Theme, room: float, lift: float) -> float:
    taken: list[tuple[float, float, int]] = []
    for name, value in sorted(data.meta["vertical"], key=lambda mark: mark[1]):
        if axes.get_xscale() == "log" and value <= 0:
            continue
        axes.axvline(value, color=theme.ink, linewidth=1, dashes=(1.5, 2), zorder=1.6)
        half = _frame.text_width(name) / 2
        place = float(_fractions(axes, [value])[0]) * room
        middle = min(max(place, half), max(room - half, half))
        # The first row in which the label overlaps no earlier label.
        row = next(r for r in range(99) if all(k != r or middle - half > b for _, b, k in taken))
        taken.append((middle - half, middle + half, row))
        axes.text(
            middle / room,
            1,
            name,
            transform=_frame.above(axes, lift + row * _STRIP),
            ha="center",
            va="bottom",
            fontsize=_frame.SMALL,
            color=theme.ink,
        )
    return lift + _STRIP * (1 + max((row for *_, row in taken), default=-1))
