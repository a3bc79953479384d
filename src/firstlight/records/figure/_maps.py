"""Figures made of coloured cells or points: matrices, features, phase diagrams, alignments, embeddings."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from firstlight.records.figure._data import Axis, FigureData, as_axis
from firstlight.records.figure._series import Number, Numbers, Series, as_floats, as_names, pack_series

Palette = Literal["sequential", "diverging"]


def heatmap(
    matrix: Numbers,
    *,
    x: Axis | str,
    y: Axis | str,
    value: Axis | str,
    title: str = "",
    caption: str = "",
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    palette: Palette = "sequential",
    center: Number = 0.0,
    limits: tuple[Number, Number] | None = None,
) -> FigureData:
    """Return a heat map of a matrix (rows, columns); a diverging palette is symmetric about `center`.

    **Arguments:**

    - `matrix`: the values (rows, columns).
    - `x`: the horizontal axis, or its label.
    - `y`: the vertical axis, or its label.
    - `value`: the axis of the colours, or its label.
    - `title`: the heading of the figure.
    - `caption`: the text below the figure.
    - `rows`: names of the rows.
    - `columns`: names of the columns.
    - `palette`: "sequential" or "diverging".
    - `center`: the middle value of a diverging palette.
    - `limits`: (lowest, highest) value of the colour scale; from the data if not given.

    >>> heatmap([[1.0, -1.0], [0.0, 1.0]], x="column", y="row", value="weight", palette="diverging").kind
    'heatmap'
    """
    array = as_floats("matrix", matrix, (None, None))
    words = {
        "rows": None if rows is None else as_names("rows", rows, array.shape[0]),
        "columns": None if columns is None else as_names("columns", columns, array.shape[1]),
        **_colours(palette, center, limits),
    }
    axes = as_axis(x), as_axis(y), as_axis(value)
    return FigureData("heatmap", title, caption, *axes, meta=words, arrays={"matrix": array})


def grid(
    matrices: Numbers,
    *,
    labels: Sequence[str],
    x: Axis | str,
    y: Axis | str,
    value: Axis | str,
    title: str = "",
    caption: str = "",
    columns: int = 4,
    palette: Palette = "diverging",
    center: Number = 0.0,
    limits: tuple[Number, Number] | None = None,
) -> FigureData:
    """Return small heat maps (n, rows, columns), one per feature, with one colour scale.

    **Arguments:**

    - `matrices`: the values (n, rows, columns).
    - `labels`: names of the n maps.
    - `x`: the horizontal axis, or its label.
    - `y`: the vertical axis, or its label.
    - `value`: the axis of the colours, or its label.
    - `title`: the heading of the figure.
    - `caption`: the text below the figure.
    - `columns`: number of maps per row of the figure.
    - `palette`: "sequential" or "diverging".
    - `center`: the middle value of a diverging palette.
    - `limits`: (lowest, highest) value of the colour scale; from the data if not given.

    >>> grid([[[0.0, 1.0]], [[1.0, 0.0]]], labels=["node 0", "node 1"], x="b", y="a", value="weight").kind
    'grid'
    """
    array = as_floats("matrices", matrices, (None, None, None))
    if columns < 1:
        raise ValueError(f"columns must be at least 1; received {columns}")
    words = {
        "labels": as_names("labels", labels, len(array)),
        "columns": columns,
        **_colours(palette, center, limits),
    }
    axes = as_axis(x), as_axis(y), as_axis(value)
    return FigureData("grid", title, caption, *axes, meta=words, arrays={"matrices": array})


def phase(
    x_values: Numbers,
    y_values: Numbers,
    rate: Numbers,
    *,
    x: Axis | str,
    y: Axis | str,
    value: Axis | str = "success rate",
    title: str = "",
    caption: str = "",
    theory: Sequence[Series] = (),
    x_names: Sequence[str] | None = None,
    y_names: Sequence[str] | None = None,
) -> FigureData:
    """Return a phase diagram: rate (y, x) ∈ [0, 1], NaN where no run was made, with theory lines.

    Names make an axis categorical: its values are then places such as 0, 1, 2, and all cells have the same size.

    **Arguments:**

    - `x_values`: increasing positions of the columns (X,).
    - `y_values`: increasing positions of the rows (Y,).
    - `rate`: success rates (Y, X) in [0, 1]; NaN where no run was made.
    - `x`: the horizontal axis, or its label.
    - `y`: the vertical axis, or its label.
    - `value`: the axis of the colours, or its label.
    - `title`: the heading of the figure.
    - `caption`: the text below the figure.
    - `theory`: lines to draw over the diagram.
    - `x_names`, `y_names`: names of the columns or rows, in place of numbers.

    >>> phase([10, 20], [0.1, 0.2], [[0, 0.5], [0.5, 1]], x="group order M", y="data fraction").value.text
    'success rate'
    """
    arrays = {"x": as_floats("x_values", x_values, (None,)), "y": as_floats("y_values", y_values, (None,))}
    for name, values in arrays.items():
        if not (np.diff(values) > 0).all():
            raise ValueError(f"{name}_values must increase strictly; received {values.tolist()}")
    arrays["rate"] = as_floats("rate", rate, (len(arrays["y"]), len(arrays["x"])))
    known = arrays["rate"][~np.isnan(arrays["rate"])]
    if ((known < 0) | (known > 1)).any():
        raise ValueError(f"rate must lie in [0, 1]; received values from {known.min()} to {known.max()}")
    theory_meta, theory_arrays = pack_series("theory", theory)
    words: dict[str, Any] = {"theory": theory_meta}
    for name, names in (("x", x_names), ("y", y_names)):
        if names is not None:
            words[f"{name}_names"] = as_names(f"{name}_names", names, len(arrays[name]))
    axes = as_axis(x), as_axis(y), as_axis(value)
    return FigureData("phase", title, caption, *axes, meta=words, arrays=arrays | theory_arrays)


def alignment(
    values: Numbers,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    x: Axis | str = "measure",
    y: Axis | str = "layer",
    value: Axis | str = "alignment (cosine)",
    title: str = "",
    caption: str = "",
) -> FigureData:
    """Return a table of alignments in [−1, 1], layers × measures; NaN where an alignment is undefined.

    **Arguments:**

    - `values`: alignments (layers, measures) in [−1, 1]; NaN where undefined.
    - `rows`: names of the layers.
    - `columns`: names of the measures.
    - `x`: the horizontal axis, or its label.
    - `y`: the vertical axis, or its label.
    - `value`: the axis of the colours, or its label.
    - `title`: the heading of the figure.
    - `caption`: the text below the figure.

    >>> alignment([[0.98, 0.71]], rows=["layer 1"], columns=["FACT", "√AGOP"]).meta["columns"]
    ('FACT', '√AGOP')
    """
    array = as_floats("values", values, (len(rows), len(columns)))
    known = array[~np.isnan(array)]
    if (abs(known) > 1 + 1e-6).any():
        raise ValueError(f"an alignment lies in [−1, 1]; received values from {known.min()} to {known.max()}")
    words = {
        "rows": as_names("rows", rows, len(rows)),
        "columns": as_names("columns", columns, len(columns)),
    }
    axes = as_axis(x), as_axis(y), as_axis(value)
    return FigureData("alignment", title, caption, *axes, meta=words, arrays={"matrix": array})


def circles(
    points: Numbers,
    *,
    x: Axis | str,
    y: Axis | str,
    index: Numbers | None = None,
    value: Axis | str = "index",
    cyclic: bool = True,
    connect: bool = False,
    title: str = "",
    caption: str = "",
) -> FigureData:
    """Return points (n, 2) of an embedding, coloured by `index` (default 0 … n − 1); `connect` joins them.

    **Arguments:**

    - `points`: positions (n, 2).
    - `x`: the horizontal axis, or its label.
    - `y`: the vertical axis, or its label.
    - `index`: the numbers (n,) that colour the points; 0 … n − 1 if not given.
    - `value`: the axis of the colours, or its label.
    - `cyclic`: whether the colours return to the first after the last index.
    - `connect`: whether to join the points in order.
    - `title`: the heading of the figure.
    - `caption`: the text below the figure.

    >>> circles([[1, 0], [0, 1], [-1, 0]], x="cos", y="sin").arrays["index"]
    array([0., 1., 2.])
    """
    array = as_floats("points", points, (None, 2))
    order = np.arange(len(array)) if index is None else index
    arrays = {"points": array, "index": as_floats("index", order, (len(array),))}
    words = {"cyclic": cyclic, "connect": connect}
    return FigureData("circles", title, caption, as_axis(x), as_axis(y), as_axis(value), meta=words, arrays=arrays)


def _colours(palette: Palette, center: Number, limits: tuple[Number, Number] | None) -> dict[str, Any]:
    if palette not in ("sequential", "diverging"):
        raise ValueError(f"palette is one of sequential, diverging; received {palette!r}")
    if limits is not None and not limits[0] < limits[1]:
        raise ValueError(f"limits must be (lowest, highest) with lowest < highest; received {limits}")
    bounds = None if limits is None else [float(limits[0]), float(limits[1])]
    return {"palette": palette, "center": float(center), "limits": bounds}
