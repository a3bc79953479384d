"""Choose the module that draws each kind of figure."""

import textwrap
from types import ModuleType

import matplotlib
from matplotlib.figure import Figure

from firstlight.plots import (
    _alignment,
    _bars,
    _circles,
    _curves,
    _grid,
    _heatmap,
    _histogram,
    _phase,
    _scatter,
    _spectrum,
    _staircase,
)
from firstlight.plots._frame import Host, style, width_in_points
from firstlight.plots._theme import Theme
from firstlight.records.figure import FigureData, unpack_panels

# Each module has `size(data)` in inches and `render(host, data, theme)`, which fills a figure or a panel.
DRAWERS: dict[str, ModuleType] = {
    "alignment": _alignment,
    "bars": _bars,
    "circles": _circles,
    "curves": _curves,
    "grid": _grid,
    "heatmap": _heatmap,
    "histogram": _histogram,
    "phase": _phase,
    "scatter": _scatter,
    "spectrum": _spectrum,
    "staircase": _staircase,
}
_HEADING_SIZE = 10.5


def draw_figure(data: FigureData, theme: Theme, heading: bool) -> Figure:
    """Draw a whole figure, laid out so that no two words overlap."""
    with matplotlib.rc_context(style(theme)):
        if data.kind == "panels":
            return _draw_panels(data, theme, heading)
        figure = Figure(figsize=DRAWERS[data.kind].size(data), layout="constrained", facecolor=theme.paper)
        _fill(figure, data, theme, heading)
        return figure


def _draw_panels(data: FigureData, theme: Theme, heading: bool) -> Figure:
    parts = unpack_panels(data)
    columns = data.meta["columns"]
    sizes = [DRAWERS[part.kind].size(part) for part in parts]
    rows = [sizes[start : start + columns] for start in range(0, len(sizes), columns)]
    widths = [max(size[0] for size in sizes[column::columns]) for column in range(columns)]
    heights = [max(size[1] for size in row) for row in rows]
    figure = Figure(figsize=(sum(widths), sum(heights)), layout="constrained", facecolor=theme.paper)
    if heading:
        _title(figure, data.title, _HEADING_SIZE + 1)
    hosts = figure.subfigures(len(rows), columns, squeeze=False, width_ratios=widths, height_ratios=heights)
    for host in hosts.flat:
        host.set_facecolor("none")
    for host, part in zip(hosts.flat, parts, strict=False):
        _fill(host, part, theme, heading=True)
    return figure


def _fill(host: Host, data: FigureData, theme: Theme, heading: bool) -> None:
    if heading:
        _title(host, data.title, _HEADING_SIZE)
    DRAWERS[data.kind].render(host, data, theme)


def _title(host: Host, title: str, size: float) -> None:
    if title:
        characters = max(12, int(width_in_points(host) / (0.66 * size)))
        words = "\n".join(textwrap.wrap(title, characters))
        host.suptitle(words, x=4 / width_in_points(host), ha="left", fontsize=size, fontweight="bold")
