"""Measure what the points of a sweep cost, by runs that a store holds or by short runs of a few programs."""

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median

from firstlight import _interrupts as interrupts
from firstlight import runs
from firstlight.records import RunRecord, RunSpec, Store, machine_facts
from firstlight.records._store._runs import stored_bytes

MOST_PROGRAMS = 3
"""Number of programs that are sampled at most: each has to be compiled."""

_SECONDS = 2.0
"""Seconds that the longer run of a sample should take, by its sizes."""

_RECENT = 200
"""Number of stored runs that are looked at, newest first: reading them takes some milliseconds each hundred."""

_STEPS = 60
"""Steps of the longer run at most."""


@dataclass(frozen=True)
class Cost:
    """The measured cost of a point.

    **Attributes:**

    - `start`: processor seconds to compile its program.
    - `point`: processor seconds of a run of all its steps, without `start`.
    - `bytes`: bytes of its record.
    """

    start: float
    point: float
    bytes: float


def recorded_costs(store: Store, programs: Collection[str]) -> dict[str, Cost]:
    """Return the cost of the programs whose runs are among the newest of a store and took place on this machine.

    `point` is the median of their seconds, in a sweep those of one core; `start` is unknown and 0.

    **Arguments:**

    - `store`: an open store.
    - `programs`: the `runs.batch_key` of each program.
    """
    alike: dict[str, list[RunRecord]] = {}
    for record in store.recent_runs(_RECENT):
        is_comparable = record.status in runs.OVER and record.seconds > 0 and record.machine == machine_facts()
        if is_comparable and (key := runs.batch_key(record.spec)) in programs:
            alike.setdefault(key, []).append(record)
    return {
        key: Cost(0.0, median(record.seconds for record in same), stored_bytes(store.get_run(same[0].id)))
        for key, same in alike.items()
    }


def measure(spec: RunSpec, data: str | os.PathLike[str] | None = None) -> Cost:
    """Time two short runs of a spec, and extrapolate to all of its steps and rows.

    **Arguments:**

    - `spec`: the point. Its stop rules are ignored, so its cost is an upper limit.
    - `data`: the folder of the arrays that specs name.

    >>> cost = measure(RunSpec.model_validate({"task": {"group": "Z5"}, "model": {"width": 8}, "steps": 1000}))
    >>> cost.point > 0, cost.bytes > 1000
    (True, True)
    """
    spec = spec.model_copy(update={"stop": (), "snapshots": 0})
    expected = runs.estimate(spec, data)
    step = max((expected.seconds - expected.start) / max(spec.steps, 1), 1e-9)
    long = max(min(int(_SECONDS / step), _STEPS, spec.steps), 1)
    short = max(long // 6, 1)
    first, _ = _timed(spec, long, data)  # compiles
    less, small = _timed(spec, short, data)
    more, large = _timed(spec, long, data)
    per_step = max(more - less, 0.0) / (long - short) if long > short else more / long
    added = len(large.table.step) - len(small.table.step)
    per_row = (stored_bytes(large) - stored_bytes(small)) / added if added else 0.0
    return Cost(
        start=max(first - more, 0.0),
        point=max(less - short * per_step, 0.0) + spec.steps * per_step,
        bytes=stored_bytes(large) + max(expected.rows - len(large.table.step), 0) * per_row,
    )


def chosen(points: dict[str, float]) -> Sequence[str]:
    """Return the programs to sample, given the expected cost of each: the most expensive ones of all sizes.

    >>> chosen({"a": 5.0, "b": 1.0, "c": 9.0, "d": 2.0, "e": 3.0})
    ['c', 'e', 'b']
    """
    ranked = sorted(points, key=lambda key: -points[key])
    places = {0, len(ranked) // 2, len(ranked) - 1}
    return [ranked[place] for place in sorted(places) if 0 <= place < len(ranked)][:MOST_PROGRAMS]


def _timed(spec: RunSpec, steps: int, data: str | os.PathLike[str] | None) -> tuple[float, RunRecord]:
    interrupts.check()
    before = time.process_time()
    short = spec.model_copy(update={"steps": steps})
    outcome = runs.compute([short], data=data, progress="off", keep_weights=False, allow_large=True)[0]
    return time.process_time() - before, outcome.record
