"""Estimate the memory, disk space and time of a sweep before it starts."""

import os
from collections import Counter
from collections.abc import Sequence

from firstlight import runs
from firstlight.records import RunSpec, SpecError, Store
from firstlight.records._base import Frozen
from firstlight.records._room import available_memory, free_disk
from firstlight.sweeps._batches import cut
from firstlight.sweeps._sample import Cost, chosen, measure, recorded_costs

_WORKER_BYTES = 4e8
"""Memory of Python and JAX in a worker before training, in bytes."""

_HEADERS = 4096
"""Bytes of spec, versions, titles and labels in a record, for each lens and once more."""

_CORES = 2
"""Cores that the estimate of a single run assumes."""

WORTH_A_SAMPLE = 120.0
"""Processor seconds of a sweep above which it is worth to measure a sample, which takes several seconds itself."""


class SweepEstimate(Frozen):
    """The expected cost of a sweep.

    **Attributes:**

    - `points`: number of points of the sweep.
    - `left`: number of points still to run.
    - `programs`: number of programs to compile.
    - `workers`: number of worker processes; None on a cluster.
    - `memory`: bytes of memory per worker.
    - `disk`: bytes of the results.
    - `core_hours`: processor time of all points, in hours of a core of this machine.
    - `seconds`: expected duration; on a cluster, with one worker.
    - `sampled`: number of programs whose cost was measured by short runs.
    - `recorded`: number of programs whose cost is that of earlier runs in the store. If both are 0, all follows from
      sizes.
    """

    points: int
    left: int
    programs: int
    workers: int | None
    memory: float
    disk: float
    core_hours: float
    seconds: float
    sampled: int = 0
    recorded: int = 0


def estimate_sweep(
    left: Sequence[RunSpec],
    points: int,
    workers: int | None,
    *,
    keep_weights: bool = False,
    data: str | os.PathLike[str] | None = None,
    sample: bool | None = False,
    store: Store | None = None,
) -> SweepEstimate:
    """Estimate the cost of the points left to run; points that share a program are estimated once.

    From sizes alone, time is right to a factor of three. Earlier runs of the same programs, or a sample of short runs,
    measure it.

    **Arguments:**

    - `left`: the points to run.
    - `points`: number of points of the sweep.
    - `workers`: number of worker processes; None on a cluster.
    - `keep_weights`: whether weights are stored.
    - `data`: folder of the arrays that specs name.
    - `sample`: measure up to three programs; None does so if programs without earlier runs take more than two minutes
      of processor time.
    - `store`: an open store with earlier runs, or None.

    >>> specs = [RunSpec(seed=seed) for seed in range(4)]
    >>> whole = estimate_sweep(specs, points=6, workers=2)
    >>> whole.points, whole.left, whole.programs, whole.memory > 4e8
    (6, 4, 1, True)
    """
    known: dict[str, runs.Estimate] = {}
    firsts: dict[str, RunSpec] = {}
    counts: Counter[str] = Counter()
    memory = 0.0
    for batch in cut(left, workers or 1):
        firsts.setdefault(batch.key, batch.specs[0])
        each = known[batch.key] = known.get(batch.key) or runs.estimate(batch.specs[0], data)
        counts[batch.key] += len(batch)
        memory = max(memory, _WORKER_BYTES + len(batch) * each.bytes)
    sizes = {key: _record_bytes(firsts[key], each) for key, each in known.items()}
    costs = {key: Cost(each.start, _CORES * (each.seconds - each.start), sizes[key]) for key, each in known.items()}
    recorded = {} if store is None else recorded_costs(store, costs.keys())
    totals = {key: cost.start + counts[key] * cost.point for key, cost in costs.items() if key not in recorded}
    sampled: dict[str, Cost] = {}
    if sample or (sample is None and sum(totals.values()) > WORTH_A_SAMPLE):
        sampled = {key: measure(firsts[key], data) for key in chosen(totals)}
    if recorded or sampled:
        recorded = {key: Cost(costs[key].start, cost.point, cost.bytes) for key, cost in recorded.items()}
        costs = _scaled(costs, recorded | sampled)
    seconds = sum(cost.start + counts[key] * cost.point for key, cost in costs.items())
    weights = sum(counts[key] * (each.disk - sizes[key]) for key, each in known.items()) if keep_weights else 0.0
    cores = 1 if workers is None else min(os.cpu_count() or 1, max(workers, _CORES))
    return SweepEstimate(
        points=points,
        left=len(left),
        programs=len(known),
        workers=workers,
        memory=memory,
        disk=sum(counts[key] * cost.bytes for key, cost in costs.items()) + max(weights, 0.0),
        core_hours=seconds / 3600,
        seconds=seconds / cores,
        sampled=len(sampled),
        recorded=len(recorded),
    )


def _record_bytes(spec: RunSpec, each: runs.Estimate) -> float:
    """Return the bytes of a record without weights: its table, the figures that draw it, and their headers."""
    return 2 * each.rows * each.numbers * 8.0 + _HEADERS * (1 + len(set(spec.lenses)))


def _scaled(costs: dict[str, Cost], measured: dict[str, Cost]) -> dict[str, Cost]:
    """Replace costs by measured ones; scale those of other programs by the mean ratio of the sample."""

    def ratio(part: str) -> float:
        expected = sum(getattr(costs[key], part) for key in measured)
        return sum(getattr(cost, part) for cost in measured.values()) / expected if expected else 1.0

    start, point, size = ratio("start"), ratio("point"), ratio("bytes")
    return {
        key: measured.get(key) or Cost(start * cost.start, point * cost.point, size * cost.bytes)
        for key, cost in costs.items()
    }


def check_sweep(
    expected: SweepEstimate,
    left: Sequence[RunSpec],
    data: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
) -> None:
    """Raise `SpecError` if a point, all workers together, or the results do not fit into memory or on disk."""
    memory = available_memory()
    problems: Counter[str] = Counter()
    seen: set[str] = set()
    for spec in left:
        # The workers of a cluster check their own memory.
        if expected.workers is not None and (key := runs.batch_key(spec)) not in seen:
            seen.add(key)
            try:
                runs.check_sizes(spec, data)
            except SpecError as error:
                problems.update(error.problems)
    if problems:
        raise SpecError(list(problems))
    needed = expected.memory * (expected.workers or 0)
    if memory is not None and expected.workers is not None and expected.workers > 1 and needed > memory:
        fitting = max(int(memory // expected.memory), 1)
        raise SpecError(
            [
                f"jobs: {expected.workers} workers need about {runs.size(needed)} of memory "
                f"({runs.size(expected.memory)} each); {runs.size(memory)} are available. "
                f"Use --jobs {fitting}; --allow-large (allow_large=True) tries anyway"
            ]
        )
    disk = None if store is None else free_disk(store)
    if disk is not None and expected.disk > disk:
        raise SpecError(
            [
                f"the sweep writes about {runs.size(expected.disk)}; {runs.size(disk)} are free where the store is. "
                "Use fewer points or snapshots, or leave out --keep-weights; "
                "--allow-large (allow_large=True) tries anyway"
            ]
        )
