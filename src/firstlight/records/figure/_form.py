"""The required header and arrays of each kind of figure, so that every loaded figure can be drawn."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Len
from pydantic import Field

from firstlight.records._layout import Form, Tensor, check_tensors, filled

Finite = Annotated[float, Field(allow_inf_nan=False)]
Level = Annotated[tuple[str, Finite], Field(strict=False)]
Stage = Annotated[tuple[str, Finite, Finite], Field(strict=False)]
Limits = Annotated[tuple[Finite, Finite], Field(strict=False)]
Arrays = Mapping[str, np.ndarray]


class AxisForm(Form):
    """The fields of an `Axis`."""

    label: str
    unit: str
    scale: Literal["linear", "log", "symlog"]


class FigureHeader(Form):
    """The header of a figure of any kind; the form of the kind checks `meta`."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    kind: str
    title: str
    caption: str
    x: AxisForm | None
    y: AxisForm | None
    value: AxisForm | None
    meta: dict[str, Any]
    arrays: dict[str, Any]


class _Line(Form):
    label: str
    style: Literal["line", "dashed", "points"]
    like: str


class _Curves(Form):
    series: list[_Line]
    stages: list[Stage]
    horizontal: list[Level]
    vertical: list[Level]


class _Staircase(Form):
    series: Annotated[list[_Line], Len(1, 1)]
    predicted: str


class _Scatter(Form):
    series: list[_Line]
    fits: list[_Line]
    identity: bool


class _Spectrum(Form):
    series: list[_Line]
    ticks: list[str] | None


class _Bars(Form):
    groups: list[str]
    labels: list[str]


class _Histogram(Form):
    labels: list[str]
    theory: list[_Line]


class _Phase(Form):
    theory: list[_Line]
    x_names: list[str] | None = None
    y_names: list[str] | None = None


class _Alignment(Form):
    rows: list[str]
    columns: list[str]


class _Coloured(Form):
    palette: Literal["sequential", "diverging"]
    center: Finite
    limits: Limits | None


class _Heatmap(_Coloured):
    rows: list[str] | None
    columns: list[str] | None


class _Grid(_Coloured):
    labels: list[str]
    columns: Annotated[int, Ge(1)]


class _Circles(Form):
    cyclic: bool
    connect: bool


class _Panels(Form):
    columns: Annotated[int, Ge(1)]
    panels: Annotated[list[dict[str, Any]], Len(1)]


def _numbers(*shape: int | str, optional: bool = False, **bounds: float) -> Tensor:
    return Tensor(shape, ("b", "i", "u", "f"), finite=False, optional=optional, **bounds)


def _places(length: int | str) -> Tensor:
    # The bounds keep the midpoint of two places finite.
    return Tensor((length,), ("i", "u", "f"), low=-1e300, high=1e300)


def _lines(group: str, lines: list[_Line], length: int | str | None = None) -> dict[str, Tensor]:
    declared = {}
    for j in range(len(lines)):
        size = f"{group} {j}" if length is None else length
        declared |= {f"{group}{j}.{column}": _numbers(size) for column in "xy"}
        declared |= {f"{group}{j}.{column}": _numbers(size, optional=True) for column in ("lower", "upper")}
    return declared


def _spectrum(meta: _Spectrum) -> dict[str, Tensor]:
    return _lines("series", meta.series, None if meta.ticks is None else len(meta.ticks))


def _bars(meta: _Bars) -> dict[str, Tensor]:
    heights = {f"height{j}": _numbers(len(meta.groups)) for j in range(len(meta.labels))}
    error = _numbers(len(meta.groups), optional=True, low=0)
    return heights | {f"error{j}": error for j in range(len(meta.labels))}


def _histogram(meta: _Histogram) -> dict[str, Tensor]:
    counts = {f"counts{j}": _numbers("bins") for j in range(len(meta.labels))}
    return {"edges": _places("edges"), **counts, **_lines("theory", meta.theory)}


def _heatmap(meta: _Heatmap) -> dict[str, Tensor]:
    rows = "rows" if meta.rows is None else len(meta.rows)
    return {"matrix": _numbers(rows, "columns" if meta.columns is None else len(meta.columns))}


def _phase(meta: _Phase) -> dict[str, Tensor]:
    x = "x" if meta.x_names is None else len(meta.x_names)
    y = "y" if meta.y_names is None else len(meta.y_names)
    rate = _numbers(y, x, low=0, high=1)
    return {"x": _places(x), "y": _places(y), "rate": rate, **_lines("theory", meta.theory)}


_KINDS: dict[str, tuple[type[Form], Callable[[Any], dict[str, Tensor]]]] = {
    "curves": (_Curves, lambda meta: _lines("series", meta.series)),
    "staircase": (
        _Staircase,
        lambda meta: _lines("series", meta.series) | {"levels": _numbers("levels"), "jumps": _places("jumps")},
    ),
    "scatter": (_Scatter, lambda meta: _lines("series", meta.series) | _lines("fits", meta.fits)),
    "spectrum": (_Spectrum, _spectrum),
    "bars": (_Bars, _bars),
    "histogram": (_Histogram, _histogram),
    "heatmap": (_Heatmap, _heatmap),
    "grid": (_Grid, lambda meta: {"matrices": _numbers(len(meta.labels), "rows", "columns")}),
    "phase": (_Phase, _phase),
    "alignment": (_Alignment, lambda meta: {"matrix": _numbers(len(meta.rows), len(meta.columns))}),
    "circles": (_Circles, lambda meta: {"points": _numbers("n", 2), "index": _numbers("n")}),
}


def check(header: Mapping[str, Any], arrays: Arrays) -> None:
    """Raise `ValueError` for a header or arrays that the constructor of the figure's kind cannot make."""
    head = filled(FigureHeader, header)
    if head.kind == "panels":
        _check_panels(filled(_Panels, head.meta), arrays)
        return
    if head.kind not in _KINDS:
        raise ValueError(f"kind is one of {', '.join([*_KINDS, 'panels'])}; received {head.kind[:40]!r}")
    form, declared = _KINDS[head.kind]
    meta: Any = filled(form, head.meta)
    sizes = check_tensors(arrays, declared(meta))
    if head.x is None or head.y is None:
        raise ValueError(f"a figure of kind {head.kind} needs both axes; received one or none")
    if head.kind in ("heatmap", "grid", "phase", "alignment", "circles") and head.value is None:
        raise ValueError(f"a figure of kind {head.kind} needs the axis value; received none")
    if head.kind == "staircase" and sizes["levels"] != sizes["jumps"] + 1:
        raise ValueError(f"{sizes['jumps']} jumps need {sizes['jumps'] + 1} levels; received {sizes['levels']}")
    for name in {"staircase": ("jumps",), "phase": ("x", "y"), "histogram": ("edges",)}.get(head.kind, ()):
        if not (np.diff(arrays[name]) >= 0).all():
            raise ValueError(f"array {name!r} must increase; received other numbers")
    if head.kind == "histogram" and sizes.get("bins", sizes["edges"] - 1) != sizes["edges"] - 1:
        raise ValueError(f"{sizes['edges']} edges make {sizes['edges'] - 1} bins; received {sizes['bins']}")


def _check_panels(meta: _Panels, arrays: Arrays) -> None:
    """Raise `ValueError` for arrays that belong to no panel; `unpack_panels` checks each panel."""
    known = {f"{number}/{name}" for number, panel in enumerate(meta.panels) for name in panel.get("arrays", ())}
    if other := [name for name in arrays if name not in known]:
        raise ValueError(f"the headers of {len(meta.panels)} panels do not name the array {other[0][:40]!r}")
    if any(panel.get("kind") == "panels" for panel in meta.panels):
        raise ValueError("panels do not nest; received a figure of kind 'panels' inside one")
