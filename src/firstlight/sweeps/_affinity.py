"""Give a worker batches of programs that it has compiled."""

from collections import Counter
from collections.abc import Sequence

from firstlight.sweeps._batches import Batch, Waiting


class Affinity:
    """Remembers which worker has compiled which programs.

    >>> from firstlight.records import RunSpec
    >>> from firstlight.sweeps._batches import cut
    >>> waiting = Waiting(cut([RunSpec(seed=seed, steps=steps) for steps in (5, 6) for seed in range(16)], workers=2))
    >>> affinity, order = Affinity(), []
    >>> while waiting:
    ...     worker, batch = affinity.choose(waiting, ["a", "b"][len(order) % 2:][:1])
    ...     order.append((worker, batch.specs[0].steps))
    >>> sorted(set(order))
    [('a', 5), ('b', 6)]
    """

    def __init__(self) -> None:
        self._programs: dict[str, set[str]] = {}
        self._compilers: Counter[str] = Counter()

    def choose(self, waiting: Waiting, free: Sequence[str]) -> tuple[str, Batch]:
        """Remove a batch from `waiting` and return it with the worker that should run it.

        A worker continues a program that it has compiled. Else it takes a program that no worker has compiled, or the
        one with the most points per worker that has.
        """
        programs = waiting.programs()
        for worker in free:
            own = self._programs.setdefault(worker, set())
            own &= programs
            if own:
                return worker, waiting.take(next(iter(own)))
        key = next((key for key in programs if not self._compilers[key]), None)
        if key is None:
            key = max(programs, key=lambda key: waiting.points(key) / self._compilers[key])
        self._programs[free[0]].add(key)
        self._compilers[key] += 1
        return free[0], waiting.take(key)

    def retain(self, workers: Sequence[str]) -> None:
        """Forget workers that are gone."""
        for worker in self._programs.keys() - set(workers):
            self._compilers.subtract(self._programs.pop(worker))
