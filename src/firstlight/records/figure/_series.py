"""`Series`, the named points of a line or a scatter plot, and checks shared by the figure constructors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from firstlight.records.figure._data import FigureData, require_real

Style = Literal["line", "dashed", "points"]
Numbers = Any
"""Any input from which `numpy.asarray` makes real numbers: lists, tuples, NumPy and JAX arrays."""

Number = float | int | np.number
"""A real number."""

_COLUMNS = ("x", "y", "lower", "upper")


@dataclass(frozen=True)
class Series:
    """Named points (xᵢ, yᵢ), optionally with a band lowerᵢ ≤ yᵢ ≤ upperᵢ.

    `like` is the label of another series with the same colour, such as the measurement beside a prediction.

    >>> Series("theory", [1, 10], [1.0, 0.1], style="dashed", like="measured").label
    'theory'
    """

    label: str
    x: Numbers
    y: Numbers
    lower: Numbers | None = None
    upper: Numbers | None = None
    style: Style = "line"
    like: str = ""


def as_floats(name: str, value: Numbers, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return `value` as float32 or float64 and check its shape, in which None allows any length."""
    array = np.asarray(value)
    require_real(name, array)
    array = array if array.dtype == np.float32 else array.astype(np.float64)
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} must have shape ({wanted}); received {array.shape}")
    return array


def as_names(name: str, labels: Sequence[str], count: int) -> list[str]:
    """Return `labels` as a list of `count` strings."""
    if isinstance(labels, str) or len(labels) != count:
        raise ValueError(f"{name} must be {count} labels, one for each; received {labels!r}")
    return [str(label) for label in labels]


def as_levels(name: str, levels: Mapping[str, Number]) -> list[tuple[str, float]]:
    """Return the labels and positions of reference lines, which must be finite."""
    checked = [(str(label), float(value)) for label, value in levels.items()]
    for label, value in checked:
        if not np.isfinite(value):
            raise ValueError(f"{name} {label!r} must be finite; received {value}. Leave out what is undefined")
    return checked


def pack_series(group: str, series: Sequence[Series]) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """Return meta and arrays of `series`; a column of series j is named `<group><j>.<column>`."""
    labels = [curve.label for curve in series]
    if len(set(labels)) != len(labels):
        raise ValueError(f"{group} must have different labels; received {labels}")
    meta, arrays = [], {}
    for number, curve in enumerate(series):
        where = f"series {curve.label!r}: "
        if curve.style not in get_args(Style):
            raise ValueError(f"{where}style is one of {', '.join(get_args(Style))}; received {curve.style!r}")
        if curve.like and curve.like not in labels:
            raise ValueError(f"{where}like must be one of {labels}; received {curve.like!r}")
        if (curve.lower is None) != (curve.upper is None):
            raise ValueError(f"{where}a band needs both lower and upper; received only one of them")
        x = as_floats(where + "x", curve.x, (None,))
        arrays[f"{group}{number}.x"] = x
        for column in _COLUMNS[1:]:
            values = getattr(curve, column)
            if values is not None:
                arrays[f"{group}{number}.{column}"] = as_floats(where + column, values, x.shape)
        meta.append({"label": curve.label, "style": curve.style, "like": curve.like})
    return meta, arrays


def unpack_series(figure: FigureData, group: str = "series") -> tuple[Series, ...]:
    """Return the series that a constructor packed under `group`, in order."""
    return tuple(
        Series(**words, **{c: figure.arrays.get(f"{group}{number}.{c}") for c in _COLUMNS})  # type: ignore[arg-type]
        for number, words in enumerate(figure.meta[group])
    )
