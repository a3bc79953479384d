"""Figures as plain data: a JSON header and named arrays, identified by the digest of both.

One constructor per kind checks the shapes. `firstlight.plots` draws the result and computes nothing.

>>> from firstlight.records import figure
>>> epochs = [0, 1, 2]
>>> shown = figure.curves(
...     [figure.Series("train", epochs, [0.1, 0.9, 1.0]), figure.Series("test", epochs, [0.1, 0.1, 1.0])],
...     x="epoch", y="accuracy", title="Grokking", stages=[("memorise", 0, 1), ("generalise", 1, 2)],
... )
>>> shown.kind, figure.FigureData.from_parts(shown.header(), shown.arrays) == shown
('curves', True)
"""

from firstlight.records.figure._bars import bars, histogram, spectrum
from firstlight.records.figure._data import FIGURE_KINDS, Axis, AxisScale, FigureData, FigureKind
from firstlight.records.figure._lines import curves, scatter, staircase
from firstlight.records.figure._maps import alignment, circles, grid, heatmap, phase
from firstlight.records.figure._panels import panels, unpack_panels
from firstlight.records.figure._series import Series, unpack_series
from firstlight.records.figure._time import time_axis

__all__ = [
    "FIGURE_KINDS",
    "Axis",
    "AxisScale",
    "FigureData",
    "FigureKind",
    "Series",
    "alignment",
    "bars",
    "circles",
    "curves",
    "grid",
    "heatmap",
    "histogram",
    "panels",
    "phase",
    "scatter",
    "spectrum",
    "staircase",
    "time_axis",
    "unpack_panels",
    "unpack_series",
]
