"""Small heat maps side by side with one colour scale."""

import numpy as np

from firstlight.plots import _frame
from firstlight.plots._heatmap import bar, colours, show
from firstlight.plots._theme import Theme
from firstlight.records.figure import FigureData


def _layout(data: FigureData) -> tuple[int, int]:
    count = len(data.arrays["matrices"])
    columns = max(1, min(data.meta["columns"], count))
    return -(-count // columns), columns


def size(data: FigureData) -> tuple[float, float]:
    """Return width and height in inches."""
    rows, columns = _layout(data)
    _, tall, wide = data.arrays["matrices"].shape
    cell = 3.35 / columns * float(np.clip(tall / max(wide, 1), 0.3, 2.0))
    return _frame.WIDTH, float(np.clip(rows * (cell + 0.25) + 0.5, 1.6, 12.0))


def render(host: _frame.Host, data: FigureData, theme: Theme) -> None:
    """Draw `data` into `host`; the axis labels appear once, at the left and at the bottom."""
    matrices = data.arrays["matrices"]
    rows, columns = _layout(data)
    grid = host.subplots(max(rows, 1), columns, squeeze=False)
    look = colours(data, matrices)
    image = None
    for axes, matrix, name in zip(grid.flat, matrices, data.meta["labels"], strict=False):
        image = show(axes, matrix, look)
        axes.set_title(name, fontsize=_frame.SMALL, color=theme.ink, pad=3)
    for axes in grid.flat:
        axes.set(xticks=[], yticks=[])
    for axes in grid.flat[len(matrices) :]:
        axes.set_visible(False)
    if data.x is not None and data.y is not None:
        host.supxlabel(data.x.text, fontsize=10)
        host.supylabel(data.y.text, fontsize=10)
    if image is not None:
        bar(host, image, grid, data)
