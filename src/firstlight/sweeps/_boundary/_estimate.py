"""Estimate the cost of a boundary search before it starts."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from firstlight import runs
from firstlight.records import RunSpec
from firstlight.sweeps._boundary._plan import GENERALISED, Axis, Bounds, Guess, Plan, make_plan
from firstlight.sweeps._boundary._rounds import Rounds

FOLLOWER_RUNS = 3.0
"""Runs of a seed that starts at the boundary of another seed, on average."""

SHARE_OF_STEPS = 0.65
"""Share of its steps that a run near the boundary takes until its outcome is decided, on average."""

_TIMED = (10, 60)
"""Steps of the two short runs that measure the cost of a step."""


def estimate_boundary(
    base: RunSpec | Mapping[str, Any],
    field: str,
    bounds: Bounds,
    *,
    seeds: int | Sequence[int] = 5,
    groups: Sequence[str] = (),
    points: Sequence[Mapping[str, Any]] = (),
    precision: float = 0.02,
    axis: Axis = "linear",
    rising: bool = True,
    start: Guess = None,
    measure: bool = False,
) -> pd.DataFrame:
    """Return one row per point of `boundary` with these arguments: runs, steps, seconds and core-hours.

    **Arguments:**

    - `measure`: train a few steps of every point to measure the cost of a step; otherwise it follows from sizes, which
      is right to a factor of three.

    The other arguments are those of `boundary`.

    >>> table = estimate_boundary({"steps": 100}, "task.split.fraction", (0.2, 0.9), groups=["Z5", "Z7"])
    >>> list(table["task.group"]), bool((table["runs"] > 15).all())
    (['Z5', 'Z7'], True)
    """
    plan = make_plan(
        base,
        field,
        bounds,
        seeds=seeds,
        groups=groups,
        points=points,
        precision=precision,
        axis=axis,
        rising=rising,
        start=start,
        success=GENERALISED,
        stall="auto",
    )
    searches = Rounds(plan).searches
    rows = []
    for number, point in enumerate(plan.points):
        count = searches[number, plan.seeds[0]].left + FOLLOWER_RUNS * (len(plan.seeds) - 1)
        steps = count * SHARE_OF_STEPS * point.spec.steps
        seconds, cores = _measured(plan, number) if measure else (_from_sizes(plan, number), math.nan)
        rows.append(
            {
                **point.fields,
                "runs": count,
                "steps": steps,
                "seconds": steps * seconds,
                "core_hours": steps * (cores if measure else 2 * seconds) / 3600,
            }
        )
    return pd.DataFrame(rows)


def _middle(plan: Plan, number: int) -> RunSpec:
    point = plan.points[number]
    place = len(point.values) // 2 if point.start is None else point.start
    return plan.spec(number, place, plan.seeds[0])


def _from_sizes(plan: Plan, number: int) -> float:
    """Return the seconds of a step, from the sizes of the run."""
    spec = _middle(plan, number)
    return runs.estimate(spec).seconds / spec.steps


def _measured(plan: Plan, number: int) -> tuple[float, float]:
    """Return the wall seconds and the processor seconds of a step, from two short runs of a compiled program."""
    spec = _middle(plan, number).model_copy(update={"stop": ()})
    clocks = []
    for steps in (_TIMED[1], *_TIMED):  # the first run compiles
        short = spec.model_copy(update={"steps": steps})
        before = time.perf_counter(), time.process_time()
        runs.compute([short], progress="off", keep_weights=False, allow_large=True)
        clocks.append((time.perf_counter() - before[0], time.process_time() - before[1]))
    more = _TIMED[1] - _TIMED[0]
    wall, processor = ((long - short) / more for short, long in zip(clocks[1], clocks[2], strict=True))
    return max(wall, 0.0), max(processor, 0.0)
