"""Figures as text; curves, also for a live view, are drawn with braille characters of 2 × 4 dots."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from firstlight.plots._numbers import short
from firstlight.plots._terminal_map import terminal_map
from firstlight.records.figure import Axis, FigureData, Series, unpack_series

# Bit of the braille pattern U+2800 + bits for the dot in row 0–3 and column 0–1 of a character.
_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
# 256-colour codes close to the series colours of `_theme.py`.
_COLOURS = (39, 208, 36, 182, 178, 117, 245)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

Limits = tuple[float, float]


def terminal(
    figure: FigureData,
    *,
    width: int = 72,
    height: int = 16,
    colour: bool = False,
    x_limits: Limits | None = None,
    y_limits: Limits | None = None,
) -> str:
    """Draw a figure of kind `curves` as `height` lines of at most `width` characters, with axes and legend.

    A figure of kind `phase` is drawn with a number in every cell and one line per row, whatever `height`; brackets
    mark the cells that theory's line crosses.

    Without `colour`, letters in the curves refer to the legend; with `colour`, ANSI colours distinguish the curves.
    Give limits to fix the axes during a run. A symlog axis is drawn as a linear axis.

    >>> from firstlight.records.figure import curves
    >>> shown = curves([Series("train", [0, 1, 2, 3], [3, 1, 0.3, 0.1])], x="epoch", y="loss")
    >>> print(terminal(shown, width=30, height=8))
    loss: a train
      3 ┤⠑⠤⡀
        │  ⠈⠒a
        │     ⠉⢆
        │       ⠉⠒⠤⠤⣀a
    0.1 ┤            ⠈⠉⠑⠒⠢⠤⠤⠤a⢄⣀⣀⣀
        └─────────────────────────
         0         epoch         3
    """
    if figure.kind not in ("curves", "phase") or figure.x is None or figure.y is None:
        raise ValueError(f"a terminal shows figures of kind 'curves' and 'phase'; received kind {figure.kind!r}")
    if width < 24 or height < 8:
        raise ValueError(f"a terminal figure needs width ≥ 24 and height ≥ 8; received {width} × {height}")
    if figure.kind == "phase":
        return terminal_map(figure, width, colour)
    series = unpack_series(figure)
    x = _Ruler.over(figure.x, [curve.x for curve in series], x_limits)
    y = _Ruler.over(figure.y, [curve.y for curve in series], y_limits)
    low, high = y.names()
    gutter = max(len(low), len(high)) + 1
    columns = width - gutter - 1
    head = [*_legend(series, figure.y.text, width, colour)]
    if figure.meta["stages"]:
        head.append(" " * (gutter + 1) + _stages(figure, x, columns))
    rows = max(height - len(head) - 2, 2)
    lines = []
    for number, row in enumerate(_body(series, x, y, rows, columns, colour)):
        name = high if number == 0 else low if number == rows - 1 else ""
        lines.append(f"{name:>{gutter - 1}} {'┤' if name else '│'}{row}")
    foot = [
        " " * gutter + "└" + "─" * columns,
        " " * (gutter + 1) + _below(figure.x.text, x.names(), columns),
    ]
    return "\n".join(line.rstrip() for line in [*head, *lines, *foot])


@dataclass(frozen=True)
class _Ruler:
    """Map from values to [0, 1] along an axis, with labels for its two ends."""

    log: bool
    low: float
    high: float

    @classmethod
    def over(cls, axis: Axis, columns: Sequence[object], limits: Limits | None) -> "_Ruler":
        log = axis.scale == "log"
        values = np.concatenate([np.zeros(0), *(np.asarray(column, float) for column in columns)])
        if limits is not None:
            values = np.asarray(limits, float)
        values = values[np.isfinite(values) & (values > 0)] if log else values[np.isfinite(values)]
        values = np.log10(values) if log else values
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        return cls(log, low, high) if high > low else cls(log, low - 0.5, high + 0.5)

    def place(self, values: object) -> np.ndarray:
        array = np.asarray(values, float)
        if self.log:
            array = np.log10(np.where(array > 0, array, np.nan))
        return (array - self.low) / (self.high - self.low)

    def names(self) -> tuple[str, str]:
        if self.log:
            return short(10**self.low, plain=(1e-3, 1e4)), short(10**self.high, plain=(1e-3, 1e4))
        return short(self.low), short(self.high)


def _dots(series: Series, x: _Ruler, y: _Ruler, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the dots on a curve; the curve breaks where a value is missing."""
    across = x.place(series.x) * (2 * columns - 1)
    down = (1 - y.place(series.y)) * (4 * rows - 1)
    points = np.stack([across, down], axis=1)
    known = np.isfinite(across) & np.isfinite(down)
    whole = np.flatnonzero(known[:-1] & known[1:])
    # Points far outside the frame are invisible, and a spike must not cost a million dots.
    points = np.clip(points, -4 * columns, 8 * columns)
    start, move = points[whole], points[whole + 1] - points[whole]
    count = np.ceil(np.abs(move).max(axis=1, initial=0)).astype(int) + 1
    part = np.concatenate([np.zeros(0), *(np.linspace(0, 1, n) for n in count)])
    path = np.repeat(start, count, axis=0) + part[:, None] * np.repeat(move, count, axis=0)
    if series.style == "dashed":
        path = path[np.arange(len(path)) % 6 < 3]
    shown = {"line": [path, points[known]], "dashed": [path], "points": [points[known]]}[series.style]
    column, row = np.rint(np.concatenate(shown)).astype(int).T
    inside = (column >= 0) & (column < 2 * columns) & (row >= 0) & (row < 4 * rows)
    return row[inside], column[inside]


def _body(series: Sequence[Series], x: _Ruler, y: _Ruler, rows: int, columns: int, colour: bool) -> list[str]:
    bits = np.zeros((rows, columns), dtype=int)
    owner = np.full((rows, columns), -1)
    letters: dict[tuple[int, int], str] = {}
    for number, curve in enumerate(series):
        row, column = _dots(curve, x, y, rows, columns)
        np.bitwise_or.at(bits, (row // 4, column // 2), _BITS[row % 4, column % 2])
        owner[row // 4, column // 2] = number
        for third in range(3):
            # Letters of different curves are in different columns.
            at = int((third + (number + 0.5) / len(series)) / 3 * columns)
            here = np.flatnonzero(column // 2 == at)
            if here.size and not colour:
                letters[int(row[here[0]]) // 4, at] = _LETTERS[number % len(_LETTERS)]
    paints = _paints(series)
    lines = []
    for row in range(rows):
        cells = [chr(0x2800 + pattern) if pattern else " " for pattern in bits[row]]
        cells = [letters.get((row, column), cell) for column, cell in enumerate(cells)]
        if colour:
            runs = groupby(zip(owner[row], cells, strict=True), key=lambda pair: pair[0])
            cells = [_paint("".join(c for _, c in run), paints[n] if n >= 0 else None) for n, run in runs]
        lines.append("".join(cells))
    return lines


def _paints(series: Sequence[Series]) -> list[int]:
    leaders = [curve.label for curve in series if not curve.like]
    return [_COLOURS[leaders.index(curve.like or curve.label) % len(_COLOURS)] for curve in series]


def _paint(text: str, code: int | None) -> str:
    return text if code is None else f"\x1b[38;5;{code}m{text}\x1b[0m"


def _legend(series: Sequence[Series], y_name: str, width: int, colour: bool) -> list[str]:
    """Return the lines of the legend: the label of the y axis, then the mark and name of each curve."""
    lines, length = [y_name + ":"], len(y_name) + 1
    for number, (curve, code) in enumerate(zip(series, _paints(series), strict=True)):
        mark = "━━" if colour else _LETTERS[number % len(_LETTERS)]
        name = curve.label[: width - len(mark) - 3]
        length += len(mark) + len(name) + 2
        if length > width:
            lines.append("")
            length = len(mark) + len(name) + 2
        lines[-1] += f" {_paint(mark, code) if colour else mark} {name}"
    return lines


def _stages(figure: FigureData, x: _Ruler, columns: int) -> str:
    cells = [" "] * columns
    for name, start, end in figure.meta["stages"]:
        places = np.nan_to_num(x.place([start, end]), nan=0.0)
        first, last = (int(place) for place in np.clip(places * columns, 0, columns))
        room = last - first
        if room > 1:
            shown = name if len(name) < room else name[: room - 2] + "…"
            cells[first:last] = "│" + shown.ljust(room - 1)
    return "".join(cells)


def _below(name: str, ends: tuple[str, str], columns: int) -> str:
    room = columns - len(ends[0]) - len(ends[1])
    return ends[0] + name[: max(room - 2, 0)].center(room) + ends[1]
