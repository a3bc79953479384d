"""Timing on a noisy machine: alternate the contestants and take the best time of each."""

import time
from collections.abc import Callable, Mapping
from typing import Any


class MissingData(Exception):
    """Raised if the data sets of a benchmark are missing; results.json then keeps its last result."""


def best_seconds(contestants: Mapping[str, Callable[[], Any]], rounds: int = 7) -> dict[str, float]:
    """Return the fastest of `rounds` timings of each contestant, taken in turns after one warm-up call.

    >>> sorted(best_seconds({"a": lambda: None, "b": lambda: None}, rounds=1))
    ['a', 'b']
    """
    for call in contestants.values():
        call()
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, call in contestants.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def result(
    value: float, unit: str, better: str, target: float | None, baseline: tuple[str, float], **extra: Any
) -> dict[str, Any]:
    """Return a benchmark's entry in results.json."""
    name, base = baseline
    return {
        "value": round(value, 4),
        "unit": unit,
        "better": better,
        "target": target,
        "baseline": {"name": name, "value": round(base, 6)},
        "extra": {k: round(v, 6) if isinstance(v, float) else v for k, v in extra.items()},
    }
