"""What both dashboards show of a run: its title, the fields of its spec, and its curves."""

import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from firstlight.records._run import RunRecord
from firstlight.records._titles import run_title


class DashboardError(RuntimeError):
    """Raised if the library of a dashboard is missing, or its server does not answer."""


def missing(library: str, extra: str) -> DashboardError:
    """Return the error for a library that is not installed."""
    return DashboardError(f"this needs the package {library}; install it with `pip install 'firstlight[{extra}]'`")


def label(record: RunRecord) -> str:
    """Return a name for people: the title of the run, its seed, and the first digits of its id."""
    return f"{run_title(record.spec)}, seed {record.spec.seed}, {record.id[:12]}"


def fields(record: RunRecord) -> dict[str, Any]:
    """Return the fields of the spec under dotted names.

    >>> from firstlight.records import RunSpec
    >>> fields(RunRecord(spec=RunSpec(seed=3), status="finished"))["seed"]
    3
    """
    return dict(_leaves(record.spec.model_dump(mode="json")))


def started(record: RunRecord) -> float:
    """Return the time at which the run began, in seconds since 1970."""
    return datetime.fromisoformat(record.created).timestamp()


def moments(record: RunRecord) -> Iterator[tuple[int, float, dict[str, float]]]:
    """Yield (step, time, values) of each recorded row; the time is shared equally among the steps."""
    scalars = record.table.scalars()
    begin, last = started(record), max(record.steps, 1)
    for place, step in enumerate(map(int, record.table.step)):
        values = {name: float(column[place]) for name, column in scalars.items()}
        yield step, begin + record.seconds * step / last, values


def numbers(summary: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return the finite numbers of a summary under dotted names.

    >>> numbers({"final": {"loss": 0.5}, "story": "it learned"})
    {'final.loss': 0.5}
    """
    flat: dict[str, float] = {}
    for name, value in summary.items():
        if isinstance(value, Mapping):
            flat |= numbers(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            flat[prefix + name] = float(value)
    return flat


def _leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        elif value is not None and value != []:
            yield prefix + name, value
