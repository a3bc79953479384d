"""Draw figures from `FigureData`; this package never computes.

>>> from firstlight import plots
>>> from firstlight.records import figure
>>> loss = figure.Series("loss", [0, 1, 2], [1.0, 0.3, 0.1])
>>> shown = figure.curves([loss], x="epoch", y="loss", title="Loss")
>>> plots.svg(shown).startswith("<svg") and plots.svg(shown) == plots.svg(shown)
True
"""

import os
from pathlib import Path

from firstlight.plots._numbers import short as short_number
from firstlight.plots._terminal import terminal
from firstlight.plots._theme import DARK, LIGHT, Theme
from firstlight.records.figure import FigureData

__all__ = ["DARK", "LIGHT", "Theme", "draw", "save", "short_number", "svg", "svg_rules", "terminal"]

# Functions import matplotlib when called: importing it takes longer than the rest of the package together.


def draw(figure: FigureData, *, theme: Theme = LIGHT, heading: bool = True):
    """Return a `matplotlib.figure.Figure` in the colours of `theme`; `heading=False` leaves the title out.

    >>> from firstlight.records.figure import circles
    >>> draw(circles([[1, 0], [0, 1]], x="cos", y="sin")).axes[0].get_xlabel()
    'cos'
    """
    from firstlight.plots._draw import draw_figure

    return draw_figure(figure, theme, heading)


def save(figure: FigureData, path: str | os.PathLike[str], *, theme: Theme = LIGHT, dpi: int = 200) -> Path:
    """Write a figure atomically as PNG, SVG or PDF, by the suffix of `path`; equal figures give equal bytes.

    >>> import tempfile
    >>> from firstlight.records.figure import circles
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(circles([[1, 0], [0, 1]], x="cos", y="sin"), f"{folder}/circle.png").read_bytes()[1:4]
    b'PNG'
    """
    from firstlight.plots._files import save_figure

    return save_figure(figure, path, theme, dpi)


def svg(figure: FigureData, *, heading: bool = True, styled: bool = True, copy: int = 0) -> str:
    """Return one `<svg>` element for a web page, readable on a light and on a dark background.

    The element loads no font, image or style from elsewhere. Colours are CSS variables (`--fl-ink`, `--fl-muted`,
    `--fl-grid`, `--fl-paper`, `--fl-1` …) that follow the reader's colour scheme unless the page sets them.
    For print, use `save`, whose colours are fixed.

    **Arguments:**

    - `figure`: the figure to draw.
    - `heading`: whether to draw the title; a page may show the title as text instead.
    - `styled`: whether to include the CSS rules; if not, the page sets the variables and includes `svg_rules()`.
    - `copy`: a different number for each copy of a figure that a page shows more than once.
    """
    from firstlight.plots._svg import web_svg

    return web_svg(figure, heading, styled, copy)


def svg_rules() -> str:
    """Return the CSS rules, without colours, that a page needs once for figures of `svg(…, styled=False)`."""
    from firstlight.plots._svg import SVG_RULES

    return SVG_RULES
