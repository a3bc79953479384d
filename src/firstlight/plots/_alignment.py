"""Table of alignments, layers against measures, with the number printed in each cell."""

import textwrap

import numpy as np
from matplotlib.colors import Normalize

from firstlight.plots import _frame
from firstlight.plots._heatmap import COLOUR_MAPS, bar
from firstlight.plots._theme import Theme
from firstlight.records.figure import FigureData


def size(data: FigureData) -> tuple[float, float]:
    """Return width and height in inches; every row is high enough for its number."""
    return _frame.WIDTH, float(np.clip(0.34 * data.arrays["matrix"].shape[0] + 1.0, 1.7, 9.0))


def render(host: _frame.Host, data: FigureData, theme: Theme) -> None:
    """Draw `data` into `host`."""
    axes = host.subplots()
    matrix = data.arrays["matrix"]
    signed = bool((matrix < 0).any())
    look = {
        "cmap": COLOUR_MAPS["diverging" if signed else "sequential"],
        "norm": Normalize(-1 if signed else 0, 1),
    }
    image = axes.imshow(np.ma.masked_invalid(matrix), interpolation="none", aspect="auto", **look)
    axes.spines[:].set_visible(False)
    for (row, column), value in np.ndenumerate(matrix):
        known = np.isfinite(value)
        dark = known and np.dot(image.cmap(image.norm(value))[:3], (0.299, 0.587, 0.114)) < 0.55
        colour = theme.muted if not known else "#ffffff" if dark else "#1f2328"
        text = f"{value:.2f}".replace("-", "−") if known else "–"
        axes.text(column, row, text, ha="center", va="center", fontsize=_frame.SMALL, color=colour)
    room = _frame.width_in_points(host) - 160
    _frame.name_places(axes.xaxis, data.meta["columns"], room)
    _frame.name_places(axes.yaxis, [_two_lines(name) for name in data.meta["rows"]], 72 * size(data)[1] - 60)
    _frame.label(axes, data)
    bar(host, image, axes, data)


def _two_lines(name: str) -> str:
    """Break a long name in the middle, so that the cells keep their room."""
    return name if len(name) <= 20 else textwrap.fill(name, max(20, len(name) // 2 + 4), max_lines=2)
