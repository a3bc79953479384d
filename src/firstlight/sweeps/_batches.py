"""What a worker is given at a time: points that share a compiled program."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from firstlight import runs
from firstlight.records import RunSpec

_PER_WORKER = 8
"""Batches that each worker should get over a sweep, so that none idles at its end."""

_MOST = 8
"""Points in a batch at most, so that progress keeps moving and little is lost with a worker."""


@dataclass(frozen=True)
class Batch:
    """Points with one `batch_key`. `deaths` counts the workers that died of it; a `suspect` runs by itself."""

    key: str
    specs: tuple[RunSpec, ...]
    deaths: int = 0
    suspect: bool = False

    def __len__(self) -> int:
        return len(self.specs)

    def alone(self) -> list["Batch"]:
        """One batch per point, to find the one that kills its worker."""
        deaths = self.deaths + 1 if len(self) == 1 else 0
        return [Batch(self.key, (spec,), deaths, suspect=True) for spec in self.specs]


def cut(specs: Sequence[RunSpec], workers: int) -> list[Batch]:
    """Points in batches: few enough to compile seldom, many enough to keep every worker busy.

    >>> specs = [RunSpec(seed=seed, steps=steps) for steps in (5, 6) for seed in range(8)]
    >>> [len(batch) for batch in cut(specs, workers=1)], len(cut(specs, workers=4))
    ([2, 2, 2, 2, 2, 2, 2, 2], 16)
    """
    most = min(max(math.ceil(len(specs) / (_PER_WORKER * max(workers, 1))), 1), _MOST)
    found = []
    for places in runs.batches(specs, len(specs) or 1):
        size = math.ceil(len(places) / math.ceil(len(places) / most))
        for start in range(0, len(places), size):
            members = tuple(specs[i] for i in places[start : start + size])
            found.append(Batch(runs.batch_key(members[0]), members))
    return found
