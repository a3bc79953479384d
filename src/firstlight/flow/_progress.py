"""How far training has come, told to a callback or shown as a bar once it takes longer than two seconds."""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal


@dataclass(frozen=True)
class Progress:
    """A moment of training: steps done over all runs, seconds left (None while unknown), one run's newest row."""

    done: int
    total: int
    seconds: float
    remaining: float | None
    seed: int
    step: int
    values: Mapping[str, Any] = field(default_factory=dict)


_SETTLED = 0.5  # seconds before a speed is worth extrapolating

ProgressOption = Literal["auto", "off"] | Callable[[Progress], None]


class Reporter:
    """Adds up the steps of all lanes and passes each moment on, one at a time."""

    def __init__(self, option: ProgressOption, total: int, label: str) -> None:
        self._callback = option if callable(option) else None
        self._show = option == "auto" and sys.stderr.isatty()
        self._total, self._label = total, label
        self._steps: dict[int, int] = {}
        self._start: float | None = None  # when the first step was reported, so that compiling does not count
        self._already = 0
        self._bar: Any = None
        self._lock = Lock()

    def resumed(self, lane: int, step: int) -> None:
        """Steps done before; they do not count towards the speed."""
        with self._lock:
            self._steps[lane] = step
            self._already += step if self._start is not None else 0

    def update(self, lane: int, seed: int, step: int, values: Mapping[str, Any]) -> None:
        with self._lock:
            self._steps[lane] = step
            done = sum(self._steps.values())
            if self._start is None:
                self._start, self._already = time.perf_counter(), done
            seconds, fresh = time.perf_counter() - self._start, done - self._already
            remaining = seconds / fresh * (self._total - done) if fresh > 0 and seconds > _SETTLED else None
            if self._callback is not None:
                self._callback(Progress(done, self._total, seconds, remaining, seed, step, values))
            elif self._show and (self._bar is not None or seconds > 2 or seconds + (remaining or 0) > 2):
                self._draw(done)

    def _draw(self, done: int) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )
            from rich.progress import Progress as Bar

            columns = (TextColumn(self._label), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = Bar(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._label, total=self._total)
            self._bar.start()
        self._bar.update(self._task, completed=done)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
