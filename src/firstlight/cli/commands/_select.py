"""Choose, order and group runs by fields of their specs and by what came of them."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from firstlight._suggest import did_you_mean
from firstlight.cli import _exits as exits
from firstlight.cli._terminal import screen
from firstlight.records import RunRecord

OUTCOMES = (
    "status",
    "steps",
    "memorised_at",
    "generalised_at",
    "train_loss",
    "test_loss",
    "train_accuracy",
    "test_accuracy",
)
"""What came of a run, beside the fields of its spec."""

_HEADINGS = {
    "memorised": "memorised_at",
    "generalised": "generalised_at",
    "test": "test_accuracy",
    "rate": "optimizer.learning_rate",
    "decay": "optimizer.weight_decay",
}
"""Columns of `runs list` whose headings are shorter than the names of their fields, as in `sweeps phase --x decay`."""

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}


def fields_of(record: RunRecord) -> dict[str, Any]:
    """Return the fields of a run's spec under dotted names, and its outcome.

    >>> from firstlight.records import RunSpec
    >>> fields = fields_of(RunRecord(spec=RunSpec(), status="finished", steps=5))
    >>> fields["task.group"], fields["status"], fields["generalised_at"]
    ('Z71', 'finished', None)
    """
    final = record.summary.get("final") or {}
    outcome = {"status": record.status, "steps": record.steps} | {
        name: record.summary.get(name) for name in ("memorised_at", "generalised_at")
    }
    spec = dict(leaves(record.spec.model_dump()))
    return spec | outcome | {name: final.get(name) for name in OUTCOMES if name not in outcome}


def leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the entries of nested tables under dotted names."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def heading(field: str, taken: Sequence[str]) -> str:
    """Return a short head for a field of a spec, or its dotted name if another column has this head too.

    >>> heading("optimizer.weight_decay", ["decay", "width"]), heading("optimizer.name", ["name", "name"])
    ('decay', 'optimizer.name')
    """
    short = next((word for word, name in _HEADINGS.items() if name == field), field.rpartition(".")[2])
    return short if taken.count(short) < 2 else field


def chosen(records: Sequence[RunRecord], conditions: Sequence[str]) -> list[RunRecord]:
    """Return the runs that meet all conditions, such as `task.group=Z7` or `test_accuracy>0.9`.

    >>> from firstlight.records import RunSpec
    >>> runs = [RunRecord(spec=RunSpec(seed=seed), status="finished") for seed in range(3)]
    >>> [run.spec.seed for run in chosen(runs, ["seed>=1", "status=finished"])]
    [1, 2]
    """
    tests = [_condition(text) for text in conditions]
    return [record for record in records if all(_meets(record, *test) for test in tests)]


def ordered(records: Sequence[RunRecord], field: str) -> list[RunRecord]:
    """Return the runs by a field, smallest first, or largest first after a minus sign; runs without it come last."""
    name, largest = field.removeprefix("-"), field.startswith("-")
    values = {record.id: _value(record, name) for record in records}
    there = [record for record in records if values[record.id] is not None]
    there.sort(key=lambda record: _sortable(values[record.id]), reverse=largest)
    return there + [record for record in records if values[record.id] is None]


def differing(records: Sequence[RunRecord]) -> dict[str, list[Any]]:
    """Return the fields in which the specs of runs differ, with the value of each run."""
    flat = [dict(leaves(record.spec.model_dump())) for record in records]
    names = dict.fromkeys(name for fields in flat for name in fields)
    values = {name: [fields.get(name) for fields in flat] for name in names}
    return {name: column for name, column in values.items() if any(value != column[0] for value in column)}


def grouped(records: Sequence[RunRecord], field: str) -> dict[Any, list[RunRecord]]:
    """Return the runs by the value of a field, in the order of the values."""
    groups: dict[str, tuple[Any, list[RunRecord]]] = {}
    for record in records:
        value = _value(record, field)
        groups.setdefault(str(value), (value, []))[1].append(record)
    pairs = sorted(groups.values(), key=lambda pair: (pair[0] is None, _sortable(pair[0])))
    return {"" if value is None else screen.brief(value): members for value, members in pairs}


def _condition(text: str) -> tuple[str, str, str]:
    match = re.fullmatch(r"\s*([\w.\[\]-]+)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*", text)
    if match is None:
        raise exits.UserError(f"--where {text!r}: write it as FIELD=VALUE; =, !=, <, <=, > and >= are known")
    name, sign, value = match.groups()
    return name, sign, value


def _meets(record: RunRecord, name: str, sign: str, wanted: str) -> bool:
    value = _value(record, name)
    if value is None:
        return sign == "!="
    number = _number(wanted)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if number is None:
            raise exits.UserError(f"--where {name}{sign}{wanted}: {name} is a number; got {wanted!r}")
        return _OPERATORS[sign](value, number)
    if sign in ("<", "<=", ">", ">="):
        raise exits.UserError(f"--where {name}{sign}{wanted}: {name} is no number; compare it with = or !=")
    return _OPERATORS[sign](str(value).lower() if isinstance(value, bool) else str(value), wanted)


def _value(record: RunRecord, name: str) -> Any:
    fields = fields_of(record)
    name = _HEADINGS.get(name, name)
    if name not in fields:
        # The heads of `runs list` are the last words of dotted names.
        endings = [field for field in fields if field.rpartition(".")[2] == name]
        name = endings[0] if len(endings) == 1 else name
    if name not in fields:
        raise exits.UserError(
            f"runs have no field {name!r}; {did_you_mean(name, fields)}`firstlight runs list --json` shows all fields"
        )
    return fields[name]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _sortable(value: Any) -> tuple[int, float, str]:
    is_number = isinstance(value, int | float)
    return (0, float(value), "") if is_number else (1, 0.0, str(value))
