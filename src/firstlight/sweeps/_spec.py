"""A sweep as plain data: a base run, the fields that vary, and the seeds."""

import itertools
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from firstlight import runs
from firstlight._suggest import closest
from firstlight.records import RunSpec, SpecError, apply_overrides, load_spec, pin_arrays, run_id
from firstlight.records._base import Frozen
from firstlight.records._explain import explain
from firstlight.records._parsing import require_plain
from firstlight.records._spec import Whole
from firstlight.records._specfile import parse_override, read_file, replace_fields
from firstlight.records._values import plain

_TABLES = ("layer_rates",)
"""Fields whose values are tables; all other tables are parts of a spec and become dotted fields."""


def _flat(table: Any, prefix: str = "") -> Any:
    """Flatten nested tables to dotted fields: TOML reads `task.group = …` as a table within a table."""
    if not isinstance(table, Mapping):
        return table
    flat: dict[str, Any] = {}
    for key, value in table.items():
        nested = isinstance(value, Mapping) and key.rpartition(".")[2] not in _TABLES
        flat.update(_flat(value, f"{prefix}{key}.") if nested else {f"{prefix}{key}": plain(value)})
    return flat


def _lists(grid: Any) -> Any:
    grid = _flat(grid)
    for field, values in grid.items() if isinstance(grid, dict) else ():
        if not isinstance(values, list) or not values:
            raise ValueError(f"{field} needs a list of values")
    return grid


MOST_POINTS = 1_000_000
"""Largest number of points in a sweep; each point is a spec in memory and a row of the store."""


def _counted(seeds: Any) -> Any:
    if not isinstance(seeds, int) or isinstance(seeds, bool) or seeds <= 0:
        return seeds
    if seeds > MOST_POINTS:
        raise ValueError(f"a sweep has at most {MOST_POINTS:,} points; use fewer seeds")
    return range(seeds)


Point = Annotated[dict[str, Any], BeforeValidator(_flat)]
Seed = Annotated[Whole, Field(ge=0, lt=2**32)]


class Sweep(Frozen):
    """Every combination of `points`, `grid` and `seeds`, each a change of `base`.

    **Fields:**

    - `name`: a title.
    - `base`: the run that the points change.
    - `grid`: dotted field → list of values; the sweep takes every combination.
    - `points`: explicit points, each a table of dotted fields.
    - `seeds`: a list of seeds, or a number n for the seeds 0 … n − 1; the seed of `base` if left out.

    >>> sweep = Sweep(grid={"task.group": ["Z5", "Z7"], "task.split.fraction": [0.5, 0.7]}, seeds=3)
    >>> specs = sweep.expand()
    >>> len(specs), specs[3].task.split.fraction, specs[3].seed
    (12, 0.7, 0)
    """

    name: str = ""
    base: RunSpec = RunSpec()
    grid: Annotated[dict[str, tuple[Any, ...]], BeforeValidator(_lists)] = Field(default_factory=dict)
    points: tuple[Point, ...] = ()
    seeds: Annotated[tuple[Seed, ...], BeforeValidator(_counted)] = ()

    @model_validator(mode="after")
    def _each_field_once(self) -> "Sweep":
        listed = {field for point in self.points for field in point}
        if both := sorted(listed & self.grid.keys()):
            raise ValueError(f"a field varies either in grid or in points; {', '.join(both)} is in both")
        if self.seeds and "seed" in listed | self.grid.keys():
            raise ValueError("seeds are given in seeds or as the field seed, not both")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds must differ from each other")
        return self

    @property
    def fields(self) -> tuple[str, ...]:
        """The dotted fields that vary, in order of appearance, without the seed, which always varies."""
        varying = dict.fromkeys([*(field for point in self.points for field in point), *self.grid])
        return tuple(field for field in varying if field != "seed")

    def expand(self, data: str | os.PathLike[str] | None = None, *, allow_large: bool = False) -> list[RunSpec]:
        """Return the specs of the sweep, each once and checked; a `SpecError` has one line per kind of mistake.

        >>> Sweep(grid={"task.group": ["Z5", "ZZ"]}, seeds=4).expand()
        Traceback (most recent call last):
        firstlight.records._explain.SpecError: task.group: unknown group 'ZZ'; ... (in 4 of 8 points)
        """
        sizes = [len(self.points) or 1, *map(len, self.grid.values()), len(self.seeds) or 1]
        if math.prod(sizes) > MOST_POINTS:
            size = f"the sweep has {math.prod(sizes):,} points ({' × '.join(map(str, sizes))}); at most"
            raise SpecError([f"grid: {size} {MOST_POINTS:,} are allowed; use fewer values, or several sweeps"])
        specs: dict[str, RunSpec] = {}
        problems: Counter[str] = Counter()
        changes = list(self._changes())
        for change in changes:
            try:
                spec = pin_arrays(replace_fields(self.base, change), data)
                runs.check(spec, data)
                specs.setdefault(run_id(spec), spec)
            except SpecError as error:
                problems.update(error.problems)
        # Stop rules name observables, which exist only after a run is built. Build the first run of each set of rules.
        ruled = Counter(spec.stop for spec in specs.values() if spec.stop)
        for stop, count in ruled.items():
            try:
                ruling = next(spec for spec in specs.values() if spec.stop == stop)
                runs.resolve(ruling, data, allow_large=allow_large)
            except SpecError as error:
                problems.update(dict.fromkeys(error.problems, count))
        if problems:
            total = f"of {len(changes)} points"
            raise SpecError([f"{problem} (in {count} {total})" for problem, count in problems.items()])
        return list(specs.values())

    def _changes(self) -> Iterator[dict[str, Any]]:
        seeds = [{"seed": seed} for seed in self.seeds] or [{}]
        for point, *values, seed in itertools.product(self.points or ({},), *self.grid.values(), seeds):
            yield {**point, **dict(zip(self.grid, values, strict=True)), **seed}


def sweep_from_mapping(mapping: Mapping[str, Any]) -> Sweep:
    """Build a sweep from plain nested values; a `SpecError` has one line per wrong field.

    >>> sweep_from_mapping({"seeds": 2, "gird": {}})
    Traceback (most recent call last):
    firstlight.records._explain.SpecError: gird: unknown field (got {}); did you mean grid?
    """
    values = dict(mapping)
    try:
        require_plain({name: value for name, value in values.items() if name != "base"})
        return Sweep.model_validate(values)
    except ValidationError as error:
        raise explain(error, Sweep) from None
    except ValueError as error:
        raise SpecError([str(error)]) from None


def load_sweep(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> Sweep:
    """Read a sweep from a `.toml` or `.json` file and apply overrides `field=value`.

    `seeds=5`, `seeds=[0, 7]`, `name=…` and `grid.task.split.fraction=[0.3, 0.5]` change the sweep; every other field,
    with or without `base.` in front, is one of the base run. `base` in the file may be the path of a run's file,
    relative to the file of the sweep.
    """
    folder = Path(path).parent

    def build(values: dict[str, Any]) -> Sweep:
        if isinstance(values.get("base"), str):
            values["base"] = load_spec(folder / values["base"])
        return sweep_from_mapping(values)

    of_base = [text.removeprefix("base.") for text in overrides if not _is_of_sweep(text)]
    of_sweep = [text for text in overrides if _is_of_sweep(text)]
    sweep = read_file(path, "a sweep", build)
    for text in of_base:
        _require_no_misspelling(text)
    if of_sweep:
        sweep = sweep_from_mapping(_with_fields(sweep, of_sweep))
    varied = [field for text in of_base if (field := text.partition("=")[0].strip()) in sweep.grid]
    if varied:
        raise SpecError(
            [f"{varied[0]}: the sweep varies this field; change its values with --set grid.{varied[0]}=[…]"]
        )
    return sweep.model_copy(update={"base": apply_overrides(sweep.base, of_base)}) if of_base else sweep


def _require_no_misspelling(override: str) -> None:
    """Refuse a field that a run does not have and that is close to one of the sweep."""
    field, _, value = (part.strip() for part in override.partition("="))
    meant = "" if field in RunSpec.model_fields else closest(field, ("seeds", "name", "grid"), cutoff=0.75)
    if meant:
        raise SpecError([f"{field}: unknown field (got {value}); did you mean {meant}?"])


def _is_of_sweep(override: str) -> bool:
    field = override.partition("=")[0].strip()
    return field in ("seeds", "name") or field.startswith("grid.")


def _with_fields(sweep: Sweep, overrides: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a sweep as a mapping, some replaced by `field=value`."""
    values: dict[str, Any] = {"name": sweep.name, "base": sweep.base, "points": [dict(point) for point in sweep.points]}
    values |= {"grid": {field: list(listed) for field, listed in sweep.grid.items()}, "seeds": list(sweep.seeds)}
    for override in overrides:
        field, value = parse_override(override)
        if field.startswith("grid."):
            values["grid"][field.removeprefix("grid.")] = list(value) if isinstance(value, list) else [value]
        else:
            values[field] = value
    return values
