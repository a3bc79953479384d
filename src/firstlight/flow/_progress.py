"""Progress of training, passed to a callback or shown as a bar if training takes over two seconds."""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal


@dataclass(frozen=True)
class Progress:
    """Progress at one moment of training.

    **Attributes:**

    - `done`: steps done, summed over all runs.
    - `total`: steps to do, summed over all runs.
    - `seconds`: time since the first step, without compilation.
    - `remaining`: estimate of the seconds left; None while unknown.
    - `seed`: seed of the run that reports.
    - `step`: step of that run.
    - `values`: its newest row.
    """

    done: int
    total: int
    seconds: float
    remaining: float | None
    seed: int
    step: int
    values: Mapping[str, Any] = field(default_factory=dict)


_SETTLED = 0.5  # seconds before the speed is extrapolated

ProgressOption = Literal["auto", "off"] | Callable[[Progress], None]


class Reporter:
    """Adds up the steps of all lanes and reports them; safe to use from several threads."""

    def __init__(self, option: ProgressOption, total: int, label: str) -> None:
        self._callback = option if callable(option) else None
        self._show = option == "auto" and sys.stderr.isatty()
        self._total, self._label = total, label
        self._steps: dict[int, int] = {}
        self._start: float | None = None  # time of the first report, so that compilation does not count
        self._already = 0
        self._bar: Any = None
        self._lock = Lock()

    def resumed(self, lane: int, step: int) -> None:
        """Add steps done before a resume; they do not count towards the speed."""
        with self._lock:
            self._steps[lane] = step
            self._already += step if self._start is not None else 0

    def update(self, lane: int, seed: int, step: int, values: Mapping[str, Any]) -> None:
        """Report the step that a lane has reached."""
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
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
