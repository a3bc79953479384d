"""A sweep as a form: lists and ranges of values as text, and the sweep that they mean. Knows no JAX."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firstlight.lab._form import (
    ACTIVATIONS,
    FIELDS,
    GROUPS,
    MOST_STEPS,
    OPTIMIZERS,
    Field,
    FormError,
    number_in,
    spec_of,
)

MOST_POINTS = 1000
"""Points of a sweep that the page starts; `firstlight sweep` takes a million."""

ASK_ABOVE = 0.5
"""Core-hours above which the page asks before it starts a sweep."""

_SINGLE = {field.name: field for field in FIELDS}

_RANGE = re.compile(r"^(?P<low>\S+)\s+to\s+(?P<high>\S+)\s+in\s+(?P<count>\d{1,12})(?P<log>\s+log)?$")

FORM = (
    Field("group", "Groups", "Z13", "task.group", "text", "A list, such as Z7, Z11, S4."),
    Field("fraction", "Training fractions", "0.4 to 0.8 in 5", "task.split.fraction", "number",
          "A list 0.4, 0.6 or a range: 0.4 to 0.8 in 5."),
    Field("decay", "Weight decays", "0, 0.0001, 0.001, 0.01", "optimizer.weight_decay", "number",
          "A list, or 1e-4 to 1e-2 in 3 log."),
    Field("width", "Hidden units", "128", "model.width", "number", "A list, or 32 to 512 in 5 log."),
    Field("rate", "Learning rates", "0.004", "optimizer.learning_rate", "number", "A list, or 1e-3 to 1e-2 in 3 log."),
    Field("activation", "Activation", "quadratic", "model.activation", ACTIVATIONS, "The nonlinearity of a unit."),
    Field("optimizer", "Optimizer", "adam", "optimizer.name", OPTIMIZERS, "The rule that changes the weights."),
    Field("steps", "Epochs", "1000", "steps", "number", "The most; a run ends when it has generalised.", 1, MOST_STEPS),
    Field("seeds", "Seeds", "3", "seeds", "number", "Runs in every cell.", 1, 100),
)  # fmt: skip
"""The controls in the order of the page."""

LISTS = {"group": "task.group", "fraction": "task.split.fraction", "decay": "optimizer.weight_decay",
         "width": "model.width", "rate": "optimizer.learning_rate"}  # fmt: skip
"""Controls that take several values, and the fields that they vary."""


@dataclass(frozen=True)
class SweepForm:
    """What a form means: the base spec as plain values, the lists that vary, the number of seeds."""

    base: dict[str, Any]
    grid: dict[str, list[Any]]
    seeds: int

    @property
    def points(self) -> int:
        """Number of runs."""
        return math.prod(map(len, self.grid.values())) * self.seeds


def default_sweep() -> dict[str, str]:
    """Return the form of a new page."""
    return {field.name: field.default for field in FORM}


def sweep_of(form: Mapping[str, str]) -> SweepForm:
    """Return the sweep of a form; a `FormError` says which control is wrong, and why.

    >>> sweep = sweep_of({"fraction": "0.3 to 0.5 in 3", "seeds": "2", "decay": "0"})
    >>> sweep.grid["task.split.fraction"], sweep.points
    ([0.3, 0.4, 0.5], 6)
    >>> sweep_of({"fraction": "0.1 to 0.9 in 1000", "decay": "1e-6 to 1 in 1000 log", "seeds": "1"})
    Traceback (most recent call last):
    firstlight.lab._form.FormError: fraction: 1,000,000 points (1000 × 1000 × 1 seed) are too many: ...
    """
    values = default_sweep() | {name: str(value).strip() for name, value in form.items() if name in default_sweep()}
    problems: dict[str, str] = {}
    counts: dict[str, int] = {}
    for name in (*LISTS, "seeds"):
        try:
            counts[name] = int(_one(name, values[name])) if name == "seeds" else _count(values[name])
        except ValueError as error:
            problems[name] = str(error)
    if problems:
        raise FormError(problems)
    total = math.prod(counts.values())
    if total > MOST_POINTS:
        raise FormError({_longest(counts): _too_many(total, counts)})
    grid: dict[str, list[Any]] = {}
    for name, field in LISTS.items():
        try:
            listed = _values(name, values[name])
            grid[field] = list(dict.fromkeys(listed))
        except ValueError as error:
            problems[name] = str(error)
    if problems:
        raise FormError(problems)
    return SweepForm(_base(values, grid), grid, counts["seeds"])


def _base(values: Mapping[str, str], grid: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the spec at the first value of every list, without snapshots."""
    first = {name: str(grid[field][0]) for name, field in LISTS.items()}
    single = {name: values[name] for name in ("activation", "optimizer", "steps")}
    spec = spec_of({**first, **single, "model": "two_layer", "seed": "0"}, snapshots=0)
    return spec.model_dump(mode="json")


def _count(text: str) -> int:
    """Return the number of values, without making them."""
    matched = _RANGE.match(text)
    if matched:
        return int(matched["count"])
    return len([part for part in text.split(",") if part.strip()]) or 1


def _values(name: str, text: str) -> list[Any]:
    matched = _RANGE.match(text)
    if name == "group":
        names = [part.strip() for part in text.split(",") if part.strip()]
        if not names or matched:
            raise ValueError("give names of groups, separated by commas, such as Z7, Z11")
        return names
    if not matched:
        return [_one(name, part.strip()) for part in text.split(",") if part.strip()] or [_one(name, text)]
    low, high, count = _one(name, matched["low"]), _one(name, matched["high"]), int(matched["count"])
    if count < 2 or not low < high:
        raise ValueError(f"a range is low to high in n, with low below high and n at least 2; got {text[:60]}")
    if matched["log"] and low <= 0:
        raise ValueError(f"a range on a log scale begins above 0; got {text[:60]}")
    ends = (math.log(low), math.log(high)) if matched["log"] else (low, high)
    places = [ends[0] + (ends[1] - ends[0]) * k / (count - 1) for k in range(count)]
    numbers = [float(f"{math.exp(place) if matched['log'] else place:.6g}") for place in places]
    return [round(number) for number in numbers] if name == "width" else numbers


def _one(name: str, text: str) -> Any:
    if name == "seeds":
        return number_in(next(field for field in FORM if field.name == "seeds"), text, whole=True)
    return number_in(_SINGLE[name], text)


def _longest(counts: Mapping[str, int]) -> str:
    return max(counts, key=lambda name: counts[name])


def _too_many(total: int, counts: Mapping[str, int]) -> str:
    seeds = counts["seeds"]
    sizes = [str(count) for name, count in counts.items() if name != "seeds" and count > 1]
    product = " × ".join([*sizes, f"{seeds} seed{'s' * (seeds != 1)}"])
    return (
        f"{total:,} points ({product}) are too many: the lab starts at most {MOST_POINTS:,}. Use fewer values, or "
        "`firstlight sweep` in a terminal"
    )


__all__ = ["ASK_ABOVE", "FORM", "GROUPS", "LISTS", "MOST_POINTS", "SweepForm", "default_sweep", "sweep_of"]
