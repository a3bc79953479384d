"""Write figures to files."""

import io
import os
from pathlib import Path

import matplotlib

from firstlight._files import write_atomically
from firstlight.plots._draw import draw_figure
from firstlight.plots._frame import style
from firstlight.plots._theme import Theme
from firstlight.records.figure import FigureData

# Without these dates and versions, the same figure gives the same bytes.
_METADATA = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def save_figure(data: FigureData, path: str | os.PathLike[str], theme: Theme, dpi: int) -> Path:
    """Draw `data` and write the figure in the format of the suffix."""
    suffix = Path(path).suffix.lower()
    if suffix not in _METADATA:
        known = ", ".join(_METADATA)
        raise ValueError(f"a figure is saved as one of {known}; received {os.fspath(path)!r}. Change the suffix")
    buffer = io.BytesIO()
    with matplotlib.rc_context(style(theme)):
        figure = draw_figure(data, theme, heading=True)
        figure.savefig(buffer, format=suffix[1:], dpi=dpi, metadata=_METADATA[suffix])
    return write_atomically(path, buffer.getvalue())
