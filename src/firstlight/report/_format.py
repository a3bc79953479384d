"""Plain values as short text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from firstlight.plots import short_number

_SHOWN = 8


@dataclass(frozen=True)
class Quantity:
    """One row of a claim's numbers; `name` is empty when the claim has a single one."""

    name: str
    measured: str
    expected: str
    tolerance: str


def text_of(value: Any) -> str:
    """Format a value: few digits, long lists shortened.

    >>> text_of(0.123456789), text_of(True), text_of(None), text_of([1, 2.5]), text_of(list(range(99)))
    ('0.12346', 'yes', '–', '1, 2.5', '0, 1, 2, 3, 4, 5, 6, … (99 values)')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value).replace("-", "−")
    if isinstance(value, float):
        return short_number(value, digits=5)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {text_of(item)}" for name, item in value.items()) or "–"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _list_text(value)
    return str(value)


def quantities(measured: Any, expected: Any, tolerance: Any) -> tuple[Quantity, ...]:
    """The numbers of a claim, row by row; values that are tables are matched by their names.

    A single tolerance belongs to the rows where a number is expected.

    >>> quantities({"a": 1, "b": 2}, {"a": 1}, 0.1)
    (Quantity(name='a', measured='1', expected='1', tolerance='0.1'),
     Quantity(name='b', measured='2', expected='–', tolerance='–'))
    """
    if isinstance(expected, Mapping) and not isinstance(tolerance, Mapping | None):
        tolerance = {name: tolerance for name, value in expected.items() if _is_number(value)}
    tables = [value for value in (measured, expected, tolerance) if isinstance(value, Mapping)]
    names = list(dict.fromkeys(name for table in tables for name in table)) or [""]
    cells = [[_cell(value, name) for value in (measured, expected, tolerance)] for name in names]
    return tuple(Quantity(str(name), *row) for name, row in zip(names, cells, strict=True))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def duration(seconds: float) -> str:
    """Format a number of seconds in readable units.

    >>> duration(0.0123), duration(4.56), duration(200), duration(7500)
    ('0.012 s', '4.6 s', '3 min 20 s', '2 h 05 min')
    """
    if seconds < 100:
        return f"{short_number(seconds, digits=2)} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def machine_text(machine: Mapping[str, Any]) -> str:
    """The machine in one line.

    >>> machine_text({"system": "Linux 6.1", "cores": 2, "memory_bytes": 8 * 2**30})
    'Linux 6.1, 2 cores, 8 GiB'
    """
    words = []
    for name, value in machine.items():
        if name == "memory_bytes":
            words.append(f"{round(value / 2**30)} GiB" if value else "")
        elif name == "cores":
            words.append(f"{value} core{'s' if value != 1 else ''}")
        else:
            words.append(str(value))
    return ", ".join(word for word in words if word)


def _cell(value: Any, name: Any) -> str:
    return text_of(value.get(name) if isinstance(value, Mapping) else value)


def _list_text(values: Sequence[Any]) -> str:
    if values and all(isinstance(row, Sequence) and not isinstance(row, str) for row in values):
        lengths = {len(row) for row in values}
        if len(values) > 2 or max(lengths) > _SHOWN:
            return f"{len(values)} × {lengths.pop() if len(lengths) == 1 else 'varying'} values"
        return "; ".join(f"({_list_text(row)})" for row in values)
    shown = [text_of(value) for value in values]
    if len(shown) > _SHOWN:
        shown = [*shown[: _SHOWN - 1], f"… ({len(shown)} values)"]
    return ", ".join(shown) or "none"
