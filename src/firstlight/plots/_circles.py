"""Embedding in the plane, coloured by the index of each point."""

from firstlight.plots import _frame
from firstlight.plots._heatmap import bar
from firstlight.plots._theme import Theme
from firstlight.records.figure import FigureData


def size(data: FigureData) -> tuple[float, float]:
    """Return width and height in inches."""
    return 4.3, 3.6


def render(host: _frame.Host, data: FigureData, theme: Theme) -> None:
    """Draw `data` into `host`; a cyclic colour map makes the last point look like the neighbour of the first."""
    axes = host.subplots()
    points, index = data.arrays["points"], data.arrays["index"]
    if data.meta["connect"] and len(points):
        axes.plot(*points[[*range(len(points)), 0]].T, color=theme.grid, linewidth=0.8, zorder=1)
    dots = axes.scatter(
        points[:, 0],
        points[:, 1],
        c=index,
        cmap="twilight" if data.meta["cyclic"] else "viridis",
        s=26,
        linewidths=0.5,
        edgecolors=theme.muted,
        zorder=2,
    )
    axes.set_aspect("equal", adjustable="datalim")
    axes.grid()
    _frame.ticks(axes)
    _frame.label(axes, data)
    bar(host, dots, axes, data)
