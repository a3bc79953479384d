"""The learning rates to try: a search on the logarithm that spends the same number of runs on every optimizer."""

from collections.abc import Mapping
from typing import Any

from firstlight.records import DuelRate


def score(rate: DuelRate) -> tuple[float, float, float, float]:
    """Return what the best tuning point has least of: seeds that fail, then time, then errors, then learning rate.

    >>> fields = {"weight_decay": 0.0, "seeds": 2, "steps": 10.0, "accuracy": 1.0}
    >>> slow, fast = (DuelRate(learning_rate=0.1, generalised=n, **fields) for n in (1, 2))
    >>> score(fast) < score(slow)
    True
    """
    return -rate.generalised, rate.steps, -rate.accuracy, rate.learning_rate


def next_place(scores: Mapping[float, Any]) -> float:
    """Return the place to try next on the axis of log rates, where 0 is the first rate and 1 a factor √10.

    First both neighbours of the best place are tried, one after the other; the search walks on while a neighbour is
    better. Then the wider gap beside the best place is halved.

    **Arguments:**

    - `scores`: place → score of the places tried so far, smaller is better.

    >>> next_place({}), next_place({0.0: 5}), next_place({0.0: 5, 1.0: 3}), next_place({0.0: 5, 1.0: 3, 2.0: 4})
    (0.0, 1.0, 2.0, 1.5)
    """
    if not scores:
        return 0.0
    best = min(scores, key=lambda place: scores[place])
    above = [place for place in scores if place > best]
    below = [place for place in scores if place < best]
    if not above:
        return best + 1
    if not below:
        return best - 1
    up, down = min(above) - best, best - max(below)
    return best + up / 2 if up >= down else best - down / 2
