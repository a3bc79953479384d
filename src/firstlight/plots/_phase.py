"""Phase diagram: success rate over two parameters, with the theory's boundary drawn over the map."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.patheffects import Normal, Stroke

from firstlight.plots import _frame
from firstlight.plots._cells import cell_edges
from firstlight.plots._heatmap import COLOUR_MAPS, bar
from firstlight.plots._theme import Theme
from firstlight.records.figure import FigureData, unpack_series

_MOST_NUMBERS = 10
"""Columns or rows up to which the rate is printed in every cell."""

_DASHES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))


def size(data: FigureData) -> tuple[float, float]:
    """Return width and height in inches."""
    return _frame.WIDTH, 3.6


def render(host: _frame.Host, data: FigureData, theme: Theme) -> None:
    """Draw `data` into `host`; a theory line is white with a dark edge, visible on every colour of the map."""
    axes = host.subplots()
    theory = unpack_series(data, "theory")
    _frame.scale(axes, data, theory)
    x, y, rate = (data.arrays[name] for name in ("x", "y", "rate"))
    edges = cell_edges(x, data.x), cell_edges(y, data.y)
    # A path for each cell of a large map makes a file that browsers open slowly.
    mesh = axes.pcolormesh(
        *edges,
        np.ma.masked_invalid(rate),
        cmap=COLOUR_MAPS["sequential"],
        vmin=0,
        vmax=1,
        edgecolors="face",
        linewidth=0.3,
        rasterized=rate.size > 2500,
    )
    axes.set(xlim=(edges[0][0], edges[0][-1]), ylim=(edges[1][0], edges[1][-1]))
    handles = []
    for number, curve in enumerate(theory):
        line = axes.plot(
            _frame.visible(curve.x, data.x),
            _frame.visible(curve.y, data.y),
            color="#ffffff",
            linewidth=1.8,
            linestyle=_DASHES[number % len(_DASHES)],
            label=curve.label,
            path_effects=[Stroke(linewidth=3.6, foreground="#1f2328"), Normal()],
            scalex=False,
            scaley=False,
        )
        handles += line
    room = _frame.width_in_points(host) - 130
    for axis, names, values, length in ((axes.xaxis, "x_names", x, room), (axes.yaxis, "y_names", y, 180.0)):
        if data.meta.get(names) is not None:
            _frame.name_places(axis, data.meta[names], length)
        else:
            _frame.value_places(axis, values, length)
    _numbers(axes, mesh, x, y, rate)
    _frame.label(axes, data)
    bar(host, mesh, axes, data)
    _frame.legend(axes, handles, room)


def _numbers(axes: Axes, mesh: QuadMesh, x: np.ndarray, y: np.ndarray, rate: np.ndarray) -> None:
    """Print the rate in every cell of a small map, so that it can be read without colours."""
    if max(rate.shape) > _MOST_NUMBERS:
        return
    for (row, column), value in np.ndenumerate(rate):
        if not np.isnan(value):
            red, green, blue, _ = mesh.to_rgba(value)
            ink = "#1f2328" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45 else "#ffffff"
            axes.text(
                float(x[column]),
                float(y[row]),
                f"{value:.2g}",
                color=ink,
                ha="center",
                va="center",
                fontsize=_frame.SMALL - 1,
            )
