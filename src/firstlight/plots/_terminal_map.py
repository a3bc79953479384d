"""A phase diagram as text: a number in every cell, with colours on request, brackets where theory's line runs."""

import math
from textwrap import wrap

import numpy as np

from firstlight.plots._cells import cell_edges, crossed
from firstlight.plots._numbers import short
from firstlight.records.figure import Axis, FigureData, unpack_series

# 256-colour codes along viridis, from 0 to 1, and whether black text is readable on them.
_COLOURS = ((53, False), (60, False), (61, False), (31, False), (30, False), (36, True), (71, True), (113, True),
            (149, True), (226, True))  # fmt: skip
_SHADES = " ░▒▓█"


def terminal_map(figure: FigureData, width: int, colour: bool) -> str:
    """Draw a figure of kind `phase`; rows from top to bottom fall in value, as on a plot.

    A map too wide for its numbers is drawn in five shades, from empty (0) to full (1).
    """
    if figure.x is None or figure.y is None or figure.value is None:
        raise ValueError("a figure of kind 'phase' has two axes and a value; received one without")
    x, y, rate = (figure.arrays[name] for name in ("x", "y", "rate"))
    columns, rows = _names(figure, "x", x, figure.x), _names(figure, "y", y, figure.y)
    edges = cell_edges(x, figure.x), cell_edges(y, figure.y)
    lines = unpack_series(figure, "theory")
    marked: set[tuple[int, int]] = set()
    for line in lines:
        marked |= crossed((np.asarray(line.x, float), np.asarray(line.y, float)), edges, (figure.x, figure.y))
    gutter = min(max(map(len, rows)), 16) + 1
    room = width - gutter - 1
    cell = next((size for size in (8, 7, 6) if size * len(columns) <= room), 0)
    shaded = cell == 0
    cell = cell or max(1, min(2, room // len(columns)))
    text = wrap(f"{figure.value.text}, by {figure.y.text} (up) and {figure.x.text} (across)", width)
    for row in reversed(range(len(rows))):
        cells = [_cell(rate[row, column], (column, row) in marked, cell, shaded, colour) for column in range(len(x))]
        text.append(f"{rows[row][: gutter - 1]:>{gutter - 1}} ┤{''.join(cells)}")
    text.append(" " * gutter + "└" + "─" * (cell * len(columns)))
    text.append(" " * (gutter + 1) + _ruler(columns, cell))
    for line in lines if marked else ():
        text += wrap(f"{'◇' if shaded else '[ ]'} {line.label}", width)
    if np.isnan(rate).any():
        text.append("·  not run yet")
    if shaded:
        text += wrap(f"shades from 0 to 1: {' '.join(_SHADES[1:])}; blank is 0", width)
    return "\n".join(line.rstrip() for line in text)


def _cell(value: float, is_marked: bool, width: int, shaded: bool, colour: bool) -> str:
    if shaded:
        sign = "·" if math.isnan(value) else "◇" if is_marked else _SHADES[round(value * (len(_SHADES) - 1))]
        shown = sign * (1 if sign in "·◇" else width)
        shown = shown.ljust(width)
    else:
        number = "·" if math.isnan(value) else f"{value:.2f}".rstrip("0").rstrip(".")
        shown = f"[{number}]".center(width) if is_marked else number.center(width)
    if not colour or math.isnan(value):
        return shown
    code, dark_text = _COLOURS[min(int(value * len(_COLOURS)), len(_COLOURS) - 1)]
    return f"\x1b[48;5;{code};38;5;{16 if dark_text else 231}m{shown}\x1b[0m"


def _names(figure: FigureData, which: str, values: np.ndarray, axis: Axis) -> list[str]:
    names = figure.meta.get(f"{which}_names")
    if names is not None:
        return list(names)
    plain = (1e-3, 1e5) if axis.scale == "log" else (1e-4, 1e5)
    return [short(float(value), plain=plain) for value in values]


def _ruler(names: list[str], cell: int) -> str:
    """Return names under their cells; where they are too long, every second, third … name."""
    every = next(n for n in range(1, len(names) + 1) if max(map(len, names[::n])) + 1 <= n * cell or n == len(names))
    line = ""
    for place in range(0, len(names), every):
        line = line.ljust(place * cell) + names[place].center(cell)
    return line
