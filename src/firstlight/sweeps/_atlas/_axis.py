"""Axes of a phase diagram: the values of a field in order, and how to space their cells."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from firstlight import groups
from firstlight.plots import short_number
from firstlight.records import PhaseAxis, RunSpec

AXES = {
    "fraction": "task.split.fraction",
    "decay": "optimizer.weight_decay",
    "width": "model.width",
    "rate": "optimizer.learning_rate",
    "order": "task.group",
}
"""Short names of the fields that span a phase diagram most often; any dotted field can be used as well."""

_LABELS = {
    "task.split.fraction": "training fraction",
    "optimizer.weight_decay": "weight decay",
    "model.width": "hidden units",
    "optimizer.learning_rate": "learning rate",
    "task.group": "group",
    "optimizer.name": "optimizer",
    "model.activation": "activation",
    "steps": "steps",
}

_WIDE = 20.0
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""

_UNEVEN = 4.0
"""Ratio of the largest to the smallest gap from which cells would differ too much in size, and get names instead."""


def field_of(axis: str) -> str:
    """Return the dotted field of a short name; a dotted field stays as it is.

    >>> field_of("decay"), field_of("loss.kind")
    ('optimizer.weight_decay', 'loss.kind')
    """
    return AXES.get(axis, axis)


def choose_axes(fields: Sequence[str], x: str = "", y: str = "") -> tuple[str, str]:
    """Return the two axes of a diagram: as given, else the fraction upwards and the first other field that varies.

    >>> choose_axes(["task.split.fraction", "model.width", "seed"]), choose_axes(["model.width"], y="decay")
    (('model.width', 'task.split.fraction'), ('model.width', 'optimizer.weight_decay'))
    """
    x, y, fraction = field_of(x), field_of(y), AXES["fraction"]
    varying = [field for field in fields if field not in (x, y, "seed")]
    pool = list(dict.fromkeys([*varying, *AXES.values()]))
    wanted = 2 - bool(x) - bool(y)
    if not y and fraction != x and (fraction in varying or len(varying) < wanted):
        y = fraction
    left = [field for field in pool if field not in (x, y)]
    x = x or left.pop(0)
    return x, y or left.pop(0)


def label_of(field: str) -> str:
    """Return a field in words.

    >>> label_of("model.width"), label_of("loss.kind")
    ('hidden units', 'loss.kind')
    """
    return _LABELS.get(field, field)


def value_of(spec: RunSpec, field: str) -> Any:
    """Return the value of a dotted field; None if the kind of task or model has no such field."""
    value: Any = spec
    for name in field.split("."):
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    return value


def make_axis(field: str, values: Iterable[Any]) -> PhaseAxis:
    """Return the axis of a field: equal values once, in order, spaced so that every cell can be seen.

    Numbers are spaced linearly, or logarithmically if they span a factor of 20. If zero is among numbers that span
    decades, or the gaps differ by more than a factor of four, each value gets a cell of the same size and a name.

    >>> make_axis("optimizer.weight_decay", [1e-3, 0, 1e-4]).spacing, make_axis("model.width", [8, 64, 512]).spacing
    ('named', 'log')
    >>> make_axis("task.group", ["Z11", "Z7"]).names
    ('7', '11')
    """
    distinct = list(dict.fromkeys(plain_value(value) for value in values if value is not None))
    if field == "task.group":
        return _group_axis(distinct)
    if not distinct or any(isinstance(value, str | bool) for value in distinct):
        names = tuple(sorted(map(str, distinct))) or ("not set",)
        return PhaseAxis(field=field, label=label_of(field), spacing="named", values=names, names=names)
    numbers = tuple(sorted(float(value) for value in distinct))
    return PhaseAxis(
        field=field, label=label_of(field), spacing=_spacing(numbers), values=numbers, names=_names(numbers)
    )


def places_of(axis: PhaseAxis) -> np.ndarray:
    """Return the position of each value on the scale of the axis: its number, or 0, 1, 2 … if the axis is named."""
    return np.arange(len(axis.names), dtype=float) if axis.spacing == "named" else np.array(axis.values, float)


def place_of(axis: PhaseAxis, value: Any) -> int | None:
    """Return the place of a value among those of the axis, or None."""
    value = plain_value(value)
    if axis.field == "task.group" and axis.spacing != "named":
        value = _order(value)
    key = value if isinstance(value, str) else None if value is None else float(value)
    key = str(value) if axis.spacing == "named" and isinstance(axis.values[0], str) else key
    return axis.values.index(key) if key in axis.values else None


def plain_value(value: Any) -> Any:
    """Return a value that can be a key: numbers and text as they are, lists and tables as text.

    >>> plain_value((64, 64)), plain_value(0.5)
    ('[64, 64]', 0.5)
    """
    if isinstance(value, tuple | list):
        return str(list(value))
    return value if value is None or isinstance(value, int | float | str | bool) else str(value)


def _spacing(numbers: tuple[float, ...]) -> Any:
    array = np.array(numbers)
    if len(array) < 2:
        return "linear"
    positive = array[array > 0]
    wide = len(positive) > 1 and positive[-1] / positive[0] >= _WIDE
    if wide and array[0] <= 0:
        return "named"
    gaps = np.diff(np.log(array) if wide else array)
    if gaps.max() / gaps.min() > _UNEVEN:
        return "named"
    return "log" if wide else "linear"


def _names(numbers: tuple[float, ...]) -> tuple[str, ...]:
    names = tuple(short_number(number, plain=(1e-3, 1e5)) for number in numbers)
    return names if len(set(names)) == len(names) else tuple(f"{number:.10g}" for number in numbers)


def _group_axis(names: list[str]) -> PhaseAxis:
    """Return an axis of orders if they differ and are known, else one of names in the order of the orders."""
    orders = [_order(name) for name in names]
    known = [order for order in orders if order is not None]
    if len(set(known)) == len(names):
        numbers = tuple(sorted(float(order) for order in known))
        label = "order M of the group"
        return PhaseAxis(
            field="task.group", label=label, spacing=_spacing(numbers), values=numbers, names=_names(numbers)
        )
    ordered = tuple(sorted(names, key=lambda name: (_order(name) or 0, name)))
    return PhaseAxis(field="task.group", label="group", spacing="named", values=ordered, names=ordered)


def _order(name: str) -> int | None:
    try:
        return groups.parse(name).order
    except ValueError:  # the name of a user's own table
        return None
