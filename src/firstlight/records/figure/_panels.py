"""Several figures combined into one."""

from collections.abc import Sequence

from firstlight.records.figure._data import FigureData


def panels(figures: Sequence[FigureData], *, columns: int = 2, title: str = "", caption: str = "") -> FigureData:
    """Return figures side by side, `columns` per row; panels do not nest.

    **Arguments:**

    - `figures`: the panels, in order; none of kind 'panels'.
    - `columns`: number of panels per row.
    - `title`: the heading of the figure.
    - `caption`: the text below the figure.

    >>> from firstlight.records.figure import circles
    >>> circle = circles([[1, 0], [0, 1]], x="cos", y="sin", title="frequency 1")
    >>> unpack_panels(panels([circle, circle]))[1] == circle
    True
    """
    if not figures:
        raise ValueError("panels needs at least one figure; received none")
    if columns < 1:
        raise ValueError(f"columns must be at least 1; received {columns}")
    if any(figure.kind == "panels" for figure in figures):
        raise ValueError("panels do not nest; received a figure of kind 'panels'. Give the result of unpack_panels")
    arrays = {f"{number}/{name}": a for number, figure in enumerate(figures) for name, a in figure.arrays.items()}
    words = {"columns": min(columns, len(figures)), "panels": [figure.header() for figure in figures]}
    return FigureData("panels", title, caption, meta=words, arrays=arrays)


def unpack_panels(figure: FigureData) -> tuple[FigureData, ...]:
    """Return the figures inside a figure of kind `panels`, in order."""
    if figure.kind != "panels":
        raise ValueError(f"only a figure of kind 'panels' holds others; received kind {figure.kind!r}")
    parts = []
    for number, header in enumerate(figure.meta["panels"]):
        prefix = f"{number}/"
        arrays = {name.removeprefix(prefix): a for name, a in figure.arrays.items() if name.startswith(prefix)}
        parts.append(FigureData.from_parts(header, arrays))
    return tuple(parts)
