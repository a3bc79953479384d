"""Heat map of a matrix, with its colour scale."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from firstlight.plots import _frame
from firstlight.plots._theme import Theme
from firstlight.records.figure import FigureData

COLOUR_MAPS = {"sequential": "viridis", "diverging": "RdBu_r"}


def size(data: FigureData) -> tuple[float, float]:
    """Return width and height in inches; cells are about square unless the matrix is very long."""
    rows, columns = data.arrays["matrix"].shape
    return _frame.WIDTH, float(np.clip(3.5 * rows / max(columns, 1) + 0.7, 1.9, 5.2))


def render(host: _frame.Host, data: FigureData, theme: Theme) -> None:
    """Draw `data` into `host`."""
    axes = host.subplots()
    matrix = data.arrays["matrix"]
    image = show(axes, matrix, colours(data, matrix))
    room = _frame.width_in_points(host) - 130
    for axis, names in ((axes.xaxis, data.meta["columns"]), (axes.yaxis, data.meta["rows"])):
        if names is not None:
            _frame.name_places(axis, names, room if axis is axes.xaxis else 72 * size(data)[1] - 60)
    _frame.label(axes, data)
    bar(host, image, axes, data)


def colours(data: FigureData, values: np.ndarray) -> dict[str, Any]:
    """Return colour map and norm over the given limits or all values; a diverging map is symmetric."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    center = data.meta["center"]
    if data.meta["limits"] is not None:
        low, high = data.meta["limits"]
    elif data.meta["palette"] == "diverging":
        reach = max(abs(low - center), abs(high - center)) or 1.0
        low, high = center - reach, center + reach
    return {
        "cmap": COLOUR_MAPS[data.meta["palette"]],
        "norm": Normalize(low, high if high > low else low + 1.0),
    }


def show(axes: Axes, matrix: np.ndarray, look: dict[str, Any]):
    """Draw the matrix as an image with sharp cell edges; cells that are not finite stay empty."""
    shown = np.ma.masked_invalid(matrix)
    image = axes.imshow(shown, interpolation="none", aspect="auto", **look)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=2)
    return image


def bar(host: _frame.Host, image: Any, axes: Any, data: FigureData) -> None:
    """Draw the colour scale with its label."""
    scale = host.colorbar(image, ax=axes, fraction=0.05, pad=0.02, aspect=22)
    scale.outline.set_visible(False)  # type: ignore[operator]
    scale.ax.tick_params(length=2)
    if data.value is not None:
        scale.set_label(data.value.text)
