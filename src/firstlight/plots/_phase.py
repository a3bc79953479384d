"""Phase diagram: success rate over two parameters, with the theory's boundary drawn over the map."""

import numpy as np
from matplotlib.patheffects import Normal, Stroke

from firstlight.plots import _frame
from firstlight.plots._heatmap import COLOUR_MAPS, bar
from firstlight.plots._theme import Theme
from firstlight.records.figure import Axis, FigureData, unpack_series

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
    _frame.ticks(axes)
    _frame.label(axes, data)
    bar(host, mesh, axes, data)
    _frame.legend(axes, handles, _frame.width_in_points(host) - 130)


def cell_edges(values: np.ndarray, axis: Axis | None) -> np.ndarray:
    """Return the edges between cells: halfway between neighbouring values, on the scale of the axis."""
    log = axis is not None and axis.scale == "log" and bool((values > 0).all())
    places = np.log(values) if log else np.asarray(values, float)
    if len(places) == 1:
        edges = places[0] + np.array([-0.5, 0.5])
    else:
        middles = (places[1:] + places[:-1]) / 2
        edges = np.concatenate([[2 * places[0] - middles[0]], middles, [2 * places[-1] - middles[-1]]])
    return np.exp(edges) if log else edges
