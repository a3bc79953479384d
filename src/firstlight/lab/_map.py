"""Answers of a worker about sweeps: the phase diagram of stored runs, and what a new sweep would cost."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import groups
from firstlight.lab._form import FormError, by_control
from firstlight.lab._sweep_form import ASK_ABOVE, sweep_of
from firstlight.records import RunSpec, SpecError, Store, run_id, sha256, spec_from_mapping
from firstlight.sweeps import (
    AXES,
    GENERALISED,
    Family,
    Outcome,
    Sweep,
    draw_phase,
    families,
    preview_sweep,
    stored_outcomes,
    sweep_from_mapping,
)
from firstlight.sweeps._atlas import family_id, label_of, make_axis, not_cached, value_of
from firstlight.sweeps._boundary._plan import with_rules
from firstlight.theories import li2

_KNOWN: dict[str, dict[str, tuple[str, Outcome]]] = {}
"""Store → what was read of it, so that a refreshed map reads the new runs only."""

_COMPUTING: set[str] = set()
"""Groups whose boundary a thread computes."""


def planned_sweep(form: Mapping[str, str]) -> Sweep:
    """Return the sweep of a form; a run ends when it has generalised, or has memorised and stalled."""
    wanted = sweep_of(form)
    base = with_rules(spec_from_mapping(wanted.base), GENERALISED, "auto")
    varying = {field: values for field, values in wanted.grid.items() if len(values) > 1}
    return Sweep(base=base, grid=varying, seeds=wanted.seeds)  # type: ignore[arg-type]


def cost(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the sweep of a form would cost, or the problems of its controls.

    **Arguments:**

    - `given`: `form`, the controls; `store`, the store that may already have some of its runs; `data`, the folder of
      Cayley tables.

    >>> form = {"group": "Z5", "fraction": "0.5", "seeds": "2", "decay": "0, 1"}
    >>> answer = cost({"form": form, "store": "", "data": ""})
    >>> answer["points"], answer["left"], answer["asks"]
    (4, 4, False)
    """
    data = given["data"] or None
    try:
        sweep = planned_sweep(given["form"])
        specs = sweep.expand(data)
        store = Path(given["store"]) if given["store"] else None
        expected = preview_sweep(sweep, store, jobs=1, data=data)
    except FormError as error:
        return {"problems": error.problems}
    except SpecError as error:
        return {"problems": by_control([problem.partition(" (in ")[0] for problem in error.problems])}
    except ValueError as error:
        return {"problems": {"group": str(error)}}
    return {
        "id": f"sweep:{sha256(sorted(map(run_id, specs)))[:16]}",
        "family": family_id(specs[0]),
        "sweep": plain_sweep(sweep),
        "title": Family("", tuple(Outcome("", spec, "", False) for spec in specs)).title,
        "points": expected.points,
        "left": expected.left,
        "programs": expected.programs,
        "core_hours": expected.core_hours,
        "seconds": expected.seconds,
        "bytes": expected.disk,
        "memory": expected.memory,
        "asks": expected.core_hours > ASK_ABOVE,
    }


def plain_sweep(sweep: Sweep) -> dict[str, Any]:
    """Return a sweep as plain values that `sweep_from_mapping` reads."""
    values = sweep.model_dump(mode="json")
    return {"base": values["base"], "grid": values["grid"], "seeds": list(sweep.seeds)}


def atlas(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sweeps of a store, and the phase diagram of one of them.

    **Arguments:**

    - `given`: `store`; `map`, the id of a family, or '' for the newest; `x`, `y`, axes or ''; `fixed`, other axes with
      their values; `planned`, sweeps of jobs, whose missing points are drawn as empty cells.
    """
    known = _KNOWN.setdefault(given["store"], {})
    with Store(given["store"]) as store:
        outcomes = stored_outcomes(store, known)
    here = families(outcomes, least=1)
    plans = [sweep_from_mapping(plan) for plan in given["planned"]]
    points: dict[str, dict[str, tuple[RunSpec, Outcome | None]]] = {}
    for plan in reversed(plans):
        specs = plan.expand()
        own = points.setdefault(family_id(specs[0]), {})
        own.update({run_id(spec): (spec, None) for spec in specs})
    for family in here:
        if family.id in points or len(family.varying) > 0:
            points.setdefault(family.id, {}).update({run.id: (run.spec, run) for run in family.runs})
    listed = [_facts(id, list(own.values())) for id, own in points.items()]
    if not points:
        return {"families": [], "record": None}
    chosen = given["map"] if given["map"] in points else next(iter(points))
    return {"families": listed, "map": chosen, **_diagram(list(points[chosen].values()), given)}


def _diagram(points: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    whole = _family(points)
    values = {
        axis: make_axis(field, (value_of(spec, field) for spec, _ in points))
        for axis, field in AXES.items()
        if axis in whole.varying
    }
    x, y = given["x"], given["y"]
    if x not in AXES or y not in AXES or x == y:
        x, y = whole.default_axes
    fixed = {a: v for a, v in given["fixed"].items() if a in values and a not in (x, y)}
    try:
        record = draw_phase(points, x, y, fixed=fixed, compute=False)
    except SpecError:  # a value of another sweep in an old address
        fixed = {}
        record = draw_phase(points, x, y, compute=False)
    waiting = _computing([spec for spec, _ in points])
    return {
        "x": x,
        "y": y,
        "fixed": fixed,
        "record": record.to_json(),
        "waiting": waiting,
        "axes": {axis: label_of(field) for axis, field in AXES.items()},
        "others": {
            axis: [
                [f"{_text(value)}", name] for value, name in zip(_raw(points, AXES[axis], own), own.names, strict=True)
            ]
            for axis, own in values.items()
            if axis not in (x, y)
        },
    }


def _raw(points: Sequence[Any], field: str, axis: Any) -> list[Any]:
    """Return the values of an axis as the specs hold them: group names, not orders."""
    if field != "task.group":
        return list(axis.values)
    names = dict.fromkeys(value_of(spec, field) for spec, _ in points)
    return sorted(names, key=lambda name: (groups.parse(name).order, name))


def _text(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _family(points: Sequence[Any]) -> Family:
    runs = tuple(run or Outcome(run_id(spec), spec, "planned", False) for spec, run in points)
    return Family(family_id(points[0][0]), runs)


def _facts(id: str, points: Sequence[Any]) -> dict[str, Any]:
    family = _family(points)
    ended = [run for run in family.runs if run.has_ended]
    return {
        "id": id,
        "title": family.title,
        "varying": family.varying,
        "runs": len(family.runs),
        "ended": len(ended),
        "generalised": sum(run.generalised for run in ended),
    }


def _computing(specs: Sequence[RunSpec]) -> bool:
    """Compute boundaries that are not in the cache, in a thread; return whether the page should ask again."""
    waiting = not_cached(specs)
    names = set(waiting) - _COMPUTING
    _COMPUTING.update(names)

    def work() -> None:
        for name in sorted(names, key=lambda name: groups.parse(name).order):
            try:
                li2.own_boundary(groups.parse(name), lambda fraction, note: None)
            finally:
                _COMPUTING.discard(name)

    if names:
        threading.Thread(target=work, daemon=True).start()
    return bool(waiting)
