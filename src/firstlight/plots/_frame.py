"""Parts that every kind of figure shares: scaled and labelled axes, a legend above the data, a theme."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure, SubFigure
from matplotlib.transforms import ScaledTranslation

from firstlight.plots._numbers import short
from firstlight.plots._theme import Theme
from firstlight.records.figure import Axis, FigureData, Series

Host = Figure | SubFigure
"""The place to draw into: a whole figure or a panel of a figure."""

WIDTH = 4.7
"""Width of a figure in inches: small enough that its words are legible on a phone."""

LEFT = 30.0
"""How far a legend extends to the left of the axes, in points, into the free room above the y labels."""

SMALL = 9.0
"""Size of tick labels, legends and direct labels, in points."""


def style(theme: Theme) -> dict[Any, Any]:
    """Return the matplotlib settings for drawing and writing a figure."""
    return {
        "font.family": ["DejaVu Sans"],
        "font.size": 10,
        # Labels are the user's text, in which a dollar sign does not start a formula.
        "text.parse_math": False,
        "text.color": theme.ink,
        "axes.facecolor": "none",
        "axes.edgecolor": theme.muted,
        "axes.labelcolor": theme.ink,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.formatter.use_mathtext": False,
        "xtick.color": theme.muted,
        "ytick.color": theme.muted,
        "xtick.labelsize": SMALL,
        "ytick.labelsize": SMALL,
        "xtick.major.width": 0.8,
        "ytick.major.width": 0.8,
        "grid.color": theme.grid,
        "grid.linewidth": 0.7,
        "lines.linewidth": 1.7,
        "lines.solid_capstyle": "round",
        "legend.frameon": False,
        "legend.fontsize": SMALL,
        "svg.hashsalt": "firstlight",
        "pdf.fonttype": 42,
    }


def width_in_points(host: Host) -> float:
    """Return the width of a figure or of a panel in points."""
    return host.bbox.width / host.dpi_scale_trans.get_matrix()[0, 0] * 72


def text_width(text: str, size: float = SMALL) -> float:
    """Return an upper estimate of the width of `text` in points."""
    return 0.58 * size * len(text)


def label(axes: Axes, data: FigureData) -> None:
    """Put the words and units of `data` on both axes."""
    if data.x is not None:
        axes.set_xlabel(data.x.text)
    if data.y is not None:
        axes.set_ylabel(data.y.text)


def visible(values: Any, axis: Axis | None) -> np.ndarray:
    """Return `values` with NaN where a logarithmic axis cannot show them; lines break at NaN."""
    array = np.asarray(values, dtype=float)
    array = np.where(np.isfinite(array), array, np.nan)
    return np.where(array > 0, array, np.nan) if axis is not None and axis.scale == "log" else array


def scale(axes: Axes, data: FigureData, series: Sequence[Series]) -> None:
    """Set linear, log or symlog axes; a symlog axis is linear below the smallest value shown."""
    for which, axis in (("x", data.x), ("y", data.y)):
        if axis is None or axis.scale == "linear":
            continue
        options = {}
        if axis.scale == "symlog":
            values = np.abs(np.concatenate([np.zeros(0), *(getattr(curve, which) for curve in series)]))
            options["linthresh"] = np.min(values[np.isfinite(values) & (values > 0)], initial=1.0)
        getattr(axes, f"set_{which}scale")(axis.scale, **options)


def ticks(axes: Axes) -> None:
    """Set few ticks with short labels; call this function when the axis limits are final."""
    places = [np.asarray(line.get_xdata(), float) for line in axes.lines]
    whole = bool(places) and all(np.array_equal(x[np.isfinite(x)], np.round(x[np.isfinite(x)])) for x in places)
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "linear":
            _linear_ticks(axis, whole=whole and axis is axes.xaxis)
        elif axis.get_scale() == "log":
            _log_ticks(axis)
        else:
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: short(value)))


def _linear_ticks(axis: XAxis | YAxis, *, whole: bool) -> None:
    """Set ticks on a linear axis; `whole` if all values are integers, such as layers, epochs or group elements."""
    axis.set_major_locator(ticker.MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10], integer=whole))
    largest = max(abs(limit) for limit in axis.get_view_interval())
    if 1e-2 <= largest < 1e5:
        plain = ticker.ScalarFormatter(useOffset=False)
        plain.set_scientific(False)
        axis.set_major_formatter(plain)
    else:
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: short(value)))


def _log_ticks(axis: XAxis | YAxis) -> None:
    low, high = axis.get_view_interval()
    decades = math.log10(high / low)
    if decades < 1.0:
        axis.set_major_locator(ticker.MaxNLocator(nbins=4))
    else:
        subs = (1.0,) if decades > 2.5 else (1.0, 3.0) if decades > 1.6 else (1.0, 2.0, 5.0)
        axis.set_major_locator(ticker.LogLocator(subs=subs, numticks=7))
    axis.set_minor_locator(ticker.NullLocator())
    plain = (1e-3, 1e4) if low > 1e-4 and high < 1e5 else (0.1, 10.0)
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: short(value, plain=plain)))


def name_places(axis: XAxis | YAxis, names: Sequence[str], room: float) -> None:
    """Print category names at 0, 1, 2, …; slant long names, and skip some if there are too many."""
    every = max(1, math.ceil(len(names) * 1.3 * SMALL / room))
    places = range(0, len(names), every)
    axis.set_major_locator(ticker.FixedLocator(list(places)))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(ticker.FixedFormatter([names[place] for place in places]))
    axis.set_tick_params(length=0)
    if isinstance(axis, XAxis) and crowded(names[::every], room):
        for tick in axis.get_ticklabels():
            tick.set(rotation=40, ha="right", rotation_mode="anchor")


def value_places(axis: XAxis | YAxis, values: np.ndarray, room: float) -> None:
    """Print the values of cells at their middles, with as many as fit; call this when the axis limits are final."""
    # One notation for all: powers of ten as soon as one of the values needs them.
    plain = (1e-3, 1e4) if np.min(np.abs(values), where=values != 0, initial=1.0) >= 1e-3 else (0.1, 10.0)
    texts = [short(float(value), plain=plain) for value in values]
    on_axis = axis.get_transform().transform
    low, high = on_axis(np.asarray(axis.get_view_interval(), float))
    points = room * (on_axis(np.asarray(values, float)) - low) / (high - low)
    sizes = [text_width(text) + 6 if isinstance(axis, XAxis) else 1.3 * SMALL for text in texts]
    places: list[int] = []
    for every in range(1, len(texts) + 1):
        places = list(range(0, len(texts), every))
        if all(points[b] - points[a] >= (sizes[a] + sizes[b]) / 2 for a, b in itertools.pairwise(places)):
            break
    axis.set_major_locator(ticker.FixedLocator([float(values[place]) for place in places]))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(ticker.FixedFormatter([texts[place] for place in places]))


def crowded(names: Sequence[str], room: float) -> bool:
    """Return whether names side by side need more than `room` points."""
    return any(text_width(name) > room / len(names) - 4 for name in names)


def above(axes: Axes, lift: float, left: float = 0.0):
    """Return axes coordinates moved `lift` points up and `left` points to the left."""
    return axes.transAxes + ScaledTranslation(-left / 72, lift / 72, axes.figure.dpi_scale_trans)


def legend_columns(labels: Sequence[str], room: float) -> int:
    """Return how many legend labels fit side by side: all of them, or the number that fit at the widest label."""
    widths = [text_width(text) + 34 for text in labels]
    return len(labels) if sum(widths) <= room else max(1, min(len(labels) - 1, int(room // max(widths))))


def legend(axes: Axes, handles: Sequence[Any], room: float, lift: float = 3.0) -> None:
    """Draw a legend in rows above the axes, so that it never covers data."""
    if not handles:
        return
    columns = legend_columns([str(handle.get_label()) for handle in handles], room + LEFT)
    # Matplotlib fills columns first; readers read along rows.
    order = sorted(range(len(handles)), key=lambda place: (place % columns, place))
    axes.legend(
        handles=[handles[place] for place in order],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        bbox_transform=above(axes, lift, LEFT),
        ncols=columns,
        borderaxespad=0.0,
        borderpad=0.0,
        handlelength=1.6,
        columnspacing=1.4,
    )
