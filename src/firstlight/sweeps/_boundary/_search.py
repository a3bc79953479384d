"""Bisection of a lattice of values, from the middle or from a guess."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Search:
    """The search of one seed for its boundary among the places 0 … size − 1 of a lattice.

    Success is assumed to be monotone: it fails up to some place and succeeds beyond. Without a guess the search
    bisects. With a guess it steps outwards in strides that double, until it has seen both outcomes, then bisects.
    The ends of the lattice are tested only if the search arrives there.

    **Attributes:**

    - `size`: number of places.
    - `start`: the guess, the first place to test; None to bisect from the middle.
    - `stride`: the first step away from the guess.
    - `outcomes`: whether each tested place succeeded, in the order of the tests.

    >>> search = Search(100)
    >>> while (place := search.next) is not None:
    ...     search = search.record(place, place >= 37)
    >>> search.low, search.high, len(search.outcomes)
    (36, 37, 6)
    """

    size: int
    start: int | None = None
    stride: int = 1
    outcomes: Mapping[int, bool] = field(default_factory=dict)

    @property
    def low(self) -> int:
        """The highest place that failed below `high`; −1 if there is none."""
        high = self.high
        return max((place for place, success in self.outcomes.items() if not success and place < high), default=-1)

    @property
    def high(self) -> int:
        """The lowest place that succeeded; `size` if there is none."""
        return min((place for place, success in self.outcomes.items() if success), default=self.size)

    @property
    def done(self) -> bool:
        """Whether no place is left between failure and success."""
        return self.high - self.low == 1

    @property
    def next(self) -> int | None:
        """The next place to test; None if the search is done."""
        low, high = self.low, self.high
        if self.done:
            return None
        if self.start is None or (low >= 0 and high < self.size):
            return (low + high) // 2
        if not self.outcomes:
            return min(max(self.start, 0), self.size - 1)
        stride = self.stride * 2 ** (len(self.outcomes) - 1)
        return max(high - stride, 0) if high < self.size else min(low + stride, self.size - 1)

    @property
    def left(self) -> int:
        """An estimate of the tests that are left."""
        gap = self.high - self.low
        if self.done:
            return 0
        if self.start is None or (self.low >= 0 and self.high < self.size):
            return math.ceil(math.log2(gap))
        # Typically the boundary is within two strides of the guess.
        return max(2 + math.ceil(math.log2(2 * self.stride)) - len(self.outcomes), 1)

    def record(self, place: int, success: bool) -> "Search":
        """Return the search after the test of a place."""
        return replace(self, outcomes={**self.outcomes, place: success})
