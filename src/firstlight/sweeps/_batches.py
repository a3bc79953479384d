"""Batches: groups of points that share a compiled program and go to one worker together."""

import math
from collections import Counter, deque
from collections.abc import Iterable, KeysView, Sequence
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
        key = runs.batch_key(specs[places[0]])
        parts = (places[start : start + size] for start in range(0, len(places), size))
        batches.extend(Batch(key, tuple(specs[i] for i in part)) for part in parts)
    return batches


class Waiting:
    """Batches that wait for a worker, by program: taking a batch of a program takes the same time for any number.

    >>> waiting = Waiting(cut([RunSpec(seed=seed, steps=steps) for steps in (5, 6) for seed in range(4)], workers=8))
    >>> first, second = waiting.programs()
    >>> len(waiting), waiting.points(second), waiting.take(second).specs[0].steps, len(waiting)
    (8, 4, 6, 7)
    """

    def __init__(self, batches: Iterable[Batch]) -> None:
        self._by_key: dict[str, deque[Batch]] = {}
        self._points: Counter[str] = Counter()
        self._count = 0
        for batch in batches:
            self._by_key.setdefault(batch.key, deque()).append(batch)
            self._points[batch.key] += len(batch)
            self._count += 1

    def __len__(self) -> int:
        return self._count

    def programs(self) -> KeysView[str]:
        """Return the programs of the batches, in order of appearance."""
        return self._by_key.keys()

    def points(self, key: str) -> int:
        """Return the number of points that wait for a program."""
        return self._points[key]

    def take(self, key: str | None = None) -> Batch:
        """Remove and return the first batch of a program, by default of the first program."""
        key = next(iter(self._by_key)) if key is None else key
        batch = self._by_key[key].popleft()
        if not self._by_key[key]:
            del self._by_key[key]
        self._points[key] -= len(batch)
        self._count -= 1
        return batch
