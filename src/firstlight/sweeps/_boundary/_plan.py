"""What a boundary search tests: points, the lattice of values of each, seeds and stop rules, all checked."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from firstlight import runs
from firstlight.records import LEARNED, RunSpec, SpecError, Stop, pin_arrays, spec_from_mapping
from firstlight.records._specfile import replace_fields

Axis = Literal["linear", "log"]
Bounds = tuple[float, float] | Callable[[RunSpec], tuple[float, float]]
"""The two ends of the search, or a function that returns them for the spec of a point."""

Guess = float | Callable[[RunSpec], float] | None
"""The value to test first, or a function that returns it for the spec of a point; None for the middle."""

GENERALISED = Stop(observable="test_accuracy", at_least=LEARNED)
"""The default success rule: the held-out rows are learned."""

MOST_VALUES = 100_000
"""Largest number of values between the two ends."""

LEAST_FALL = 0.005
"""Fall of the test loss over the last half of a run below which the run counts as stalled."""

FIRST_SHARE = 0.5
"""Share of the steps before which no run counts as stalled."""


def default_stall(steps: int) -> Stop:
    """Return the default stall rule for runs of this length.

    A run is stalled if it memorised the training rows in the first half of its steps, and its test loss fell by less
    than 0.5 % in the second half. It is tested from half of all steps on: in large groups the test loss of a run that
    will generalise first rises for a while.

    >>> default_stall(3000).after
    1500
    """
    return Stop(observable="test_loss", stalled=LEAST_FALL, after=math.ceil(FIRST_SHARE * steps))


@dataclass(frozen=True)
class Point:
    """A variant of the base run, with the lattice of values to search.

    **Attributes:**

    - `fields`: the dotted fields that make the variant.
    - `spec`: its spec with the stop rules, for any seed and value.
    - `values`: the lattice, ordered from failure to success.
    - `start`: the place of the guess, or None.
    """

    fields: Mapping[str, Any]
    spec: RunSpec
    values: tuple[float, ...]
    start: int | None


@dataclass(frozen=True)
class Plan:
    """A whole boundary search as plain data."""

    field: str
    axis: Axis
    rising: bool
    precision: float
    success: Stop
    seeds: tuple[int, ...]
    points: tuple[Point, ...]

    def spec(self, point: int, place: int, seed: int) -> RunSpec:
        """Return the run at a place of a point's lattice."""
        here = self.points[point]
        return replace_fields(here.spec, {self.field: here.values[place], "seed": seed})


def make_plan(
    base: RunSpec | Mapping[str, Any],
    field: str,
    bounds: Bounds,
    *,
    seeds: int | Sequence[int],
    groups: Sequence[str],
    points: Sequence[Mapping[str, Any]],
    precision: float,
    axis: Axis,
    rising: bool,
    start: Guess,
    success: Stop,
    stall: Stop | Literal["auto"] | None,
    data: Any = None,
    allow_large: bool = False,
) -> Plan:
    """Check the arguments of `boundary` and return what to search."""
    spec = base if isinstance(base, RunSpec) else spec_from_mapping(base)
    if axis not in ("linear", "log"):
        raise ValueError(f"axis must be linear or log, got {axis!r}")
    if not (math.isfinite(precision) and precision > 0):
        raise ValueError(f"precision must be a positive number, got {precision!r}")
    spec = with_rules(spec, success, stall)
    variants = [
        {**point, **({} if name is None else {"task.group": name})}
        for point, name in itertools.product(points or ({},), groups or (None,))
    ]
    if len(variants) > len({tuple(sorted(fields.items())) for fields in variants}):
        raise ValueError("groups and points must differ from each other; one is given twice")
    chosen = []
    for fields in variants:
        if field in fields:
            raise SpecError([f"{field}: the searched field cannot also be set by a point"])
        variant = pin_arrays(replace_fields(spec, fields), data)
        low, high = bounds(variant) if callable(bounds) else bounds
        values = lattice(variant, field, low, high, precision, axis)
        for value in (values[0], values[-1]):
            runs.resolve(replace_fields(variant, {field: value}), data, allow_large=allow_large)
        guess = start(variant) if callable(start) else start
        values = values if rising else values[::-1]
        place = None if guess is None else int(np.abs(np.array(values) - guess).argmin())
        chosen.append(Point(fields, variant, values, place))
    return Plan(field, axis, rising, precision, success, list_seeds(seeds), tuple(chosen))


def with_rules(spec: RunSpec, success: Stop, stall: Stop | Literal["auto"] | None) -> RunSpec:
    """Return the spec with the rules that end a run at success or when it has stalled."""
    if success.stalled is not None:
        raise ValueError("success must be a level (at_least or at_most), got a stall rule; pass it as stall")
    rules = (success,) if stall is None else (success, default_stall(spec.steps) if stall == "auto" else stall)
    return spec.model_copy(update={"stop": (*spec.stop, *(rule for rule in rules if rule not in spec.stop))})


def list_seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """Return the seeds 0 … n − 1 of a number n, or the listed ones, which must differ."""
    listed = tuple(range(seeds)) if isinstance(seeds, int) else tuple(int(seed) for seed in seeds)
    if not listed or len(set(listed)) < len(listed):
        raise ValueError(f"seeds must be a positive number or a list of different seeds, got {seeds!r}")
    return listed


def lattice(
    spec: RunSpec, field: str, low: float, high: float, precision: float, axis: Axis = "linear"
) -> tuple[float, ...]:
    """Return the values to search, from low to high, whose neighbours differ by at most `precision`.

    On a linear axis the precision is a difference. On a log axis it is the relative difference. Values have six
    digits; the values of an integer field are integers.

    >>> lattice(RunSpec(), "task.split.fraction", 0.2, 0.4, 0.05)
    (0.2, 0.25, 0.3, 0.35, 0.4)
    >>> lattice(RunSpec(), "model.width", 16, 128, 1.0, "log")
    (16, 32, 64, 128)
    """
    if field == "seed":
        raise SpecError(["seed: a boundary is searched for every seed; choose another field"])
    ends = [_number(spec, field, value) for value in (low, high)]
    if not low < high:
        raise ValueError(f"the low end must be below the high end, got {low!r} and {high!r}; swap them")
    if axis == "log" and low <= 0:
        raise ValueError(f"a log axis needs positive ends, got {low!r}; use axis='linear'")
    cells = math.log(high / low) / math.log1p(precision) if axis == "log" else (high - low) / precision
    # Rounding of the ends must not add a cell.
    count = max(math.ceil(cells - 1e-6), 1)
    if count >= MOST_VALUES:
        raise ValueError(f"there are {count:,} values between {low} and {high}; at most {MOST_VALUES:,} are allowed")
    values = np.geomspace(low, high, count + 1) if axis == "log" else np.linspace(low, high, count + 1)
    whole = all(isinstance(end, int) for end in ends)
    return tuple(dict.fromkeys(round(value) if whole else float(f"{value:.6g}") for value in values.tolist()))


def _number(spec: RunSpec, field: str, value: float) -> float:
    """Return the field of the spec with this value; raise if it is not a number."""
    number: Any = replace_fields(spec, {field: value})
    for name in field.split("."):
        number = number.get(name) if isinstance(number, dict) else getattr(number, name, None)
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise SpecError([f"{field}: a boundary needs a numeric field, got a {type(number).__name__}"])
    return number
