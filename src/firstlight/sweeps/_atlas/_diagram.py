"""Build a phase diagram from points and their outcomes: seeds averaged, theory's line over it."""

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from firstlight.records import FigureData, PhaseAxis, PhaseCell, PhaseRecord, RunSpec, SpecError, figure
from firstlight.sweeps._atlas._axis import choose_axes, field_of, label_of, make_axis, place_of, places_of, value_of
from firstlight.sweeps._atlas._family import Outcome, shared_title
from firstlight.sweeps._atlas._theory import Expectation, expect, half_line
from firstlight.sweeps._wilson import wilson

VALUE = "share of seeds that generalise"

MOST_DIAGRAMS = 12
"""Diagrams of one sweep at most; with more values of its other fields, cells are averaged over them."""

Point = tuple[RunSpec, Outcome | None]
"""A planned run and its outcome, or None if it has not been started."""


def draw_phase(
    points: Sequence[Point],
    x: str,
    y: str,
    *,
    fixed: Mapping[str, Any] | None = None,
    title: str = "",
    theory: bool = True,
    compute: bool = True,
) -> PhaseRecord:
    """Return the phase diagram of points over two fields.

    **Arguments:**

    - `points`: specs with their outcomes.
    - `x`, `y`: the fields, horizontal first: short names such as `decay` or dotted names.
    - `fixed`: other fields, held at one of their values; a field that is not fixed is averaged over.
    - `title`: the heading; by default what the runs share.
    - `theory`: whether to add the forecast of Li₂ where it applies.
    - `compute`: whether to compute boundaries of groups that are not in the cache, see `expect`.
    """
    fields = (field_of(x), field_of(y))
    if fields[0] == fields[1]:
        raise SpecError([f"a phase diagram needs two different axes; got {x} twice"])
    points = _held(points, {field_of(name): value for name, value in (fixed or {}).items()})
    axes = tuple(make_axis(field, (value_of(spec, field) for spec, _ in points)) for field in fields)
    cells = _gathered(points, axes)
    specs = _without_seeds(points)
    expected = expect(specs, compute=compute) if theory else Expectation((None,) * len(specs), "")
    chances = _averaged(specs, expected, axes)
    drawn = tuple(
        _cell(column, row, cells.get((column, row), []), chances[row, column])
        for row in range(len(axes[1].names))
        for column in range(len(axes[0].names))
    )
    others = {field: _distinct(points, field) for field in _varying(points) if field not in (*fields, "seed")}
    title = title or shared_title([spec for spec, _ in points])
    line = half_line(chances, *axes)
    sentence = expected.sentence
    if not line and np.isfinite(chances).any():
        sides = "more" if np.nanmin(chances) > 0.5 else "fewer"
        sentence = f"Li₂'s forecast expects {sides} than half of the networks to grok everywhere in this diagram."
    return PhaseRecord(
        title=title,
        story=_story(drawn),
        x=axes[0],
        y=axes[1],
        cells=drawn,
        averaged=tuple(label_of(field) for field, values in others.items() if len(values) > 1),
        fixed={label_of(field_of(name)): str(value) for name, value in (fixed or {}).items()},
        theory=sentence,
        seconds=sum(outcome.seconds for _, outcome in points if outcome is not None),
        figures=(_figure(drawn, axes, line, title, others),),
    )


def draw_all(points: Sequence[Point], x: str = "", y: str = "", **options: Any) -> list[PhaseRecord]:
    """Return a diagram for every combination of the other fields that vary, or one averaged over them if too many."""
    fields = axis_fields(points)
    chosen = choose_axes(fields, x, y)
    others = [field for field in fields if field not in chosen]
    values = [list(dict.fromkeys(value_of(spec, field) for spec, _ in points)) for field in others]
    combinations = list(itertools.product(*values))
    if not others or len(combinations) > MOST_DIAGRAMS:
        return [draw_phase(points, *chosen, **options)]
    diagrams = []
    for combination in combinations:
        fixed = dict(zip(others, combination, strict=True))
        with contextlib.suppress(ValueError):  # points that are no grid lack some combinations
            diagrams.append(draw_phase(points, *chosen, fixed=fixed, **options))
    return diagrams


def axis_fields(points: Sequence[Point]) -> tuple[str, ...]:
    """Return the fields in which points differ, the seed and the name aside; those with the most values first."""
    counts = {field: len(_distinct(points, field)) for field in _varying(points) if field != "seed"}
    return tuple(sorted(counts, key=lambda field: -counts[field]))


def _held(points: Sequence[Point], fixed: Mapping[str, Any]) -> list[Point]:
    chosen = [p for p in points if all(_same(value_of(p[0], field), value) for field, value in fixed.items())]
    if not chosen:
        shown = ", ".join(f"{field}={value}" for field, value in fixed.items()) or "no point at all"
        values = {field: sorted({str(value_of(spec, field)) for spec, _ in points})[:12] for field in fixed}
        known = "; ".join(f"{field} has {', '.join(names)}" for field, names in values.items())
        raise SpecError([f"no run has {shown}{f'; {known}' if known else ''}"])
    return chosen


def _same(value: Any, wanted: Any) -> bool:
    try:
        return float(value) == float(wanted)
    except (TypeError, ValueError):
        return str(value) == str(wanted)


def _gathered(points: Sequence[Point], axes: tuple[PhaseAxis, ...]) -> dict[tuple[int, int], list[Point]]:
    cells: dict[tuple[int, int], list[Point]] = {}
    for point in points:
        column, row = (place_of(axis, value_of(point[0], axis.field)) for axis in axes)
        # A field that a kind of model lacks gives the axis one nameless value.
        cells.setdefault((column or 0, row or 0), []).append(point)
    return cells


def _without_seeds(points: Sequence[Point]) -> list[RunSpec]:
    alike = {spec.model_copy(update={"seed": 0, "name": ""}).model_dump_json(): spec for spec, _ in points}
    return list(alike.values())


def _averaged(specs: Sequence[RunSpec], expected: Expectation, axes: tuple[PhaseAxis, ...]) -> np.ndarray:
    """Return the mean chance (rows, columns) of each cell; NaN where theory says nothing."""
    total = np.zeros((len(axes[1].names), len(axes[0].names)))
    count = np.zeros_like(total)
    for spec, chance in zip(specs, expected.chances, strict=True):
        if chance is not None:
            column, row = (place_of(axis, value_of(spec, axis.field)) or 0 for axis in axes)
            total[row, column] += chance
            count[row, column] += 1
    with np.errstate(invalid="ignore"):
        return np.where(count > 0, total / count, np.nan)


def _cell(column: int, row: int, points: Sequence[Point], chance: float) -> PhaseCell:
    outcomes = [outcome for _, outcome in points if outcome is not None]
    ended = [outcome for outcome in outcomes if outcome.has_ended]
    successes = sum(outcome.generalised for outcome in ended)
    low, high = wilson(successes, len(ended)) if ended else (None, None)
    return PhaseCell(
        column=column,
        row=row,
        ended=len(ended),
        generalised=successes,
        low=low,
        high=high,
        missing=len(points) - len(ended),
        chance=None if np.isnan(chance) else float(chance),
        runs=tuple(outcome.id for outcome in outcomes),
    )


def _varying(points: Sequence[Point]) -> dict[str, None]:
    """Return the fields in which points differ, as dotted names in the order of the spec."""
    seen: dict[str, Any] = {}
    varying: dict[str, None] = {}
    for spec, _ in points:
        for field, value in _leaves(spec.model_dump(mode="json", exclude={"name"})):
            if field not in seen:
                seen[field] = value
            elif seen[field] != value:
                varying[field] = None
    return {field: None for field in seen if field in varying}


def _leaves(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    for name, value in values.items():
        leaves += _leaves(value, f"{prefix}{name}.") if isinstance(value, Mapping) else [(prefix + name, value)]
    return leaves


def _distinct(points: Sequence[Point], field: str) -> set[str]:
    return {str(value_of(spec, field)) for spec, _ in points}


def _figure(
    cells: Sequence[PhaseCell], axes: tuple[PhaseAxis, ...], line: Sequence[figure.Series], title: str, others: Any
) -> FigureData:
    shape = len(axes[1].names), len(axes[0].names)
    rate = np.array([np.nan if cell.share is None else cell.share for cell in cells]).reshape(shape)
    seeds = {cell.ended for cell in cells if cell.ended}
    count = f"{min(seeds)} runs" if len(seeds) == 1 else f"{min(seeds)} to {max(seeds)} runs" if seeds else "no run yet"
    over = f", averaged over seeds{''.join(f' and {label_of(field)}' for field in others)}"
    x, y = (figure.Axis(axis.label, scale="log" if axis.spacing == "log" else "linear") for axis in axes)
    names = [axis.names if axis.spacing == "named" else None for axis in axes]
    return figure.phase(
        places_of(axes[0]),
        places_of(axes[1]),
        rate,
        x=x,
        y=y,
        value=VALUE,
        title=title,
        caption=f"{count} in each cell{over if seeds else ''}.",
        theory=line,
        x_names=names[0],
        y_names=names[1],
    )


def _story(cells: Sequence[PhaseCell]) -> str:
    ended, left = sum(cell.ended for cell in cells), sum(cell.missing for cell in cells)
    generalised = sum(cell.generalised for cell in cells)
    whole = sum(cell.share is not None and cell.share >= 0.5 for cell in cells)
    known = sum(cell.share is not None for cell in cells)
    rest = f" {left} runs have not ended." if left else ""
    if not ended:
        return f"No run has ended yet.{rest}"
    return (
        f"{generalised} of {ended} runs generalised; at {whole} of {known} tested points at least half of the seeds "
        f"did.{rest}"
    )
