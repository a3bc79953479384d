"""Estimate the memory, disk space and time of a sweep before it starts."""

import os
from collections import Counter
from collections.abc import Sequence

from firstlight import runs
from firstlight.records import RunSpec, SpecError
from firstlight.records._base import Frozen
from firstlight.records._room import available_memory, free_disk
from firstlight.sweeps._batches import cut

_WORKER_BYTES = 4e8
"""Memory of Python and JAX in a worker before training, in bytes."""


class SweepEstimate(Frozen):
    """The expected cost of a sweep.

    **Attributes:**

    - `points`: number of points of the sweep.
    - `left`: number of points still to run.
    - `workers`: number of worker processes; None on a cluster.
    - `memory`: bytes of memory per worker.
    - `disk`: bytes written to the store.
    - `seconds`: expected duration.
    """

    points: int
    left: int
    workers: int | None
    memory: float
    disk: float
    seconds: float


def estimate_sweep(
    left: Sequence[RunSpec],
    points: int,
    workers: int | None,
    *,
    keep_weights: bool = False,
    data: str | os.PathLike[str] | None = None,
) -> SweepEstimate:
    """Estimate the cost of the points left to run; points that share shapes are estimated once.

    >>> specs = [RunSpec(seed=seed) for seed in range(4)]
    >>> whole = estimate_sweep(specs, points=6, workers=2)
    >>> whole.points, whole.left, whole.memory > 4e8
    (6, 4, True)
    """
    known: dict[str, runs.Estimate] = {}
    memory = disk = seconds = 0.0
    for batch in cut(left, workers or 1):
        each = known[batch.key] = known.get(batch.key) or runs.estimate(batch.specs[0], data)
        memory = max(memory, _WORKER_BYTES + len(batch) * each.bytes)
        disk += len(batch) * (each.disk if keep_weights else each.rows * each.numbers * 8.0)
        seconds += len(batch) * each.seconds
    return SweepEstimate(
        points=points, left=len(left), workers=workers, memory=memory, disk=disk, seconds=seconds / (workers or 1)
    )


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
