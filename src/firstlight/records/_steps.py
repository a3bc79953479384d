"""The recorded steps of a run as lazy sequences, because a run may have more steps than fit in memory."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

_SHOWN = 4

# Not Sequence[int]: a runtime type checker would check an item, and compute the whole sequence for it.


@dataclass(frozen=True, repr=False)
class EverySteps(Sequence):
    """0, every, 2·every, … and `last`.

    >>> steps = EverySteps(last=10**12, every=7)
    >>> len(steps), steps[-1], 14 in steps, 15 in steps
    (142857142859, 1000000000000, True, False)
    """

    last: int
    every: int

    @property
    def at_most(self) -> int:
        """The number of steps, which may be larger than `len` can return."""
        return 1 - (-self.last // self.every)

    def __len__(self) -> int:
        return self.at_most

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[int]: ...
    def __getitem__(self, place: int | slice) -> int | Sequence[int]:
        if isinstance(place, slice):
            return [self[i] for i in range(len(self))[place]]
        return min(range(len(self))[place] * self.every, self.last)

    def __iter__(self) -> Iterator[int]:
        yield from range(0, self.last, self.every)
        yield self.last

    def __contains__(self, step: object) -> bool:
        return step == self.last or step in range(0, self.last, self.every)

    def __repr__(self) -> str:
        return shortened(self)


@dataclass(frozen=True, repr=False)
class LogSteps(Sequence):
    """0, then `points` steps from 1 to `last` with equal ratios, rounded; equal steps count once.

    >>> LogSteps(last=100, points=4)
    (0, 1, 5, 22, 100)
    >>> 22 in LogSteps(last=100, points=4), len(LogSteps(last=5, points=10**15))
    (True, 6)
    """

    last: int
    points: int

    def __iter__(self) -> Iterator[int]:
        yield 0
        step, place = 0, self._first_above(0, 0)
        while place < self.points and (step := self._at(place)) < self.last:
            yield step
            place = self._first_above(step, place)
        yield self.last

    @property
    def at_most(self) -> int:
        """An upper bound on the number of steps that needs no computation of the steps."""
        return min(self.points + 1, self.last) + 1

    def __len__(self) -> int:
        return len(self._listed)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[int]: ...
    def __getitem__(self, place: int | slice) -> int | Sequence[int]:
        return self._listed[place]

    def __contains__(self, step: object) -> bool:
        if not isinstance(step, int) or not 0 < step < self.last:
            return step in (0, self.last)
        place = bisect_left(range(self.points), step, key=self._at)
        return place < self.points and self._at(place) == step

    def __repr__(self) -> str:
        return shortened(self)

    @cached_property
    def _listed(self) -> tuple[int, ...]:
        return tuple(iter(self))  # `tuple(self)` would call `len`, which calls this property

    @cached_property
    def _ratio(self) -> float:
        return self.last ** (1 / max(self.points - 1, 1))

    def _at(self, place: int) -> int:
        return round(self._ratio**place)

    def _first_above(self, step: int, place: int) -> int:
        """Return the first index from `place` on with a step above `step`; strides double to skip equal steps fast."""
        stride = 1
        while place < self.points and self._at(place) <= step:
            place, stride = place + stride, 2 * stride
        start, end = max(place - stride // 2, 0), min(place, self.points)
        return start + bisect_left(range(start, end), step + 1, key=self._at)


RecordedSteps = EverySteps | LogSteps


def shortened(steps: Sequence[int]) -> str:
    """Format the first few steps and the last.

    >>> shortened(range(0, 101, 10))
    '(0, 10, 20, 30, …, 100)'
    """
    if len(steps) <= _SHOWN + 1:
        return str(tuple(steps))
    return f"({', '.join(map(str, steps[:_SHOWN]))}, …, {steps[-1]})"
