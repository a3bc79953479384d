"""Batches: groups of points that share a compiled program and go to one worker together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from firstlight import runs
from firstlight.records import RunSpec

_PER_WORKER = 8
"""Batches per worker in a sweep, so that no worker idles at the end."""

_MOST = 8
"""Largest number of points in a batch; a small batch reports often, and little is lost if its worker dies."""


@dataclass(frozen=True)
class Batch:
    """Points with the same `batch_key`.

    **Attributes:**

    - `key`: the `runs.batch_key` of all points.
    - `specs`: the points.
    - `deaths`: the number of workers that died while they ran this batch.
    - `suspect`: whether the batch may have killed a worker; a suspect batch runs when no other suspect does.
    """

    key: str
    specs: tuple[RunSpec, ...]
    deaths: int = 0
    suspect: bool = False

    def __len__(self) -> int:
        return len(self.specs)

    def alone(self) -> list["Batch"]:
        """Return one batch per point, to find the point that kills its worker."""
        deaths = self.deaths + 1 if len(self) == 1 else 0
        return [Batch(self.key, (spec,), deaths, suspect=True) for spec in self.specs]


def cut(specs: Sequence[RunSpec], workers: int) -> list[Batch]:
    """Split points into batches: few enough to compile seldom, many enough to keep every worker busy.

    >>> specs = [RunSpec(seed=seed, steps=steps) for steps in (5, 6) for seed in range(8)]
    >>> [len(batch) for batch in cut(specs, workers=1)], len(cut(specs, workers=4))
    ([2, 2, 2, 2, 2, 2, 2, 2], 16)
    """
    most = min(max(math.ceil(len(specs) / (_PER_WORKER * max(workers, 1))), 1), _MOST)
    batches = []
    for places in runs.batches(specs, len(specs) or 1):
        size = math.ceil(len(places) / math.ceil(len(places) / most))
        for start in range(0, len(places), size):
            members = tuple(specs[i] for i in places[start : start + size])
            batches.append(Batch(runs.batch_key(members[0]), members))
    return batches
