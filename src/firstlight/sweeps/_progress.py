"""Progress of a sweep, passed to a callback or shown as a bar with the remaining time."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from firstlight.records import RunRecord


@dataclass(frozen=True)
class SweepProgress:
    """The state of a sweep when a point has ended.

    **Attributes:**

    - `done`: number of points done.
    - `total`: number of points of the sweep.
    - `bad`: number of points that failed, diverged or were interrupted.
    - `seconds`: seconds since the start.
    - `remaining`: expected seconds to the end, or None if unknown.
    - `record`: the newest record, or None.
    """

    done: int
    total: int
    bad: int
    seconds: float
    remaining: float | None
    record: RunRecord | None


ProgressOption = Literal["auto", "off"] | Callable[[SweepProgress], None]


class SweepReporter:
    """Count finished points; points done before this sweep started do not count towards the speed."""

    def __init__(self, option: ProgressOption, total: int, already: int) -> None:
        self._callback = option if callable(option) else None
        self._total, self._done, self._already, self._bad = total, already, already, 0
        self._start = time.perf_counter()
        self._bar: Any = _bar(total, already) if option == "auto" and sys.stderr.isatty() else None

    @property
    def done(self) -> int:
        """Number of points that need no more work."""
        return self._done

    @property
    def bad(self) -> int:
        """Number of points that failed, diverged or were interrupted."""
        return self._bad

    def expect(self, total: int) -> None:
        """Change the number of points, for a sweep that chooses them while it runs."""
        self._total = total
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], total=total)

    def skip(self) -> None:
        """Count a point that was done before this sweep started."""
        self._done += 1
        self._already += 1

    def add(self, record: RunRecord) -> None:
        """Count a point that has ended, and report it."""
        self._done += 1
        self._bad += record.status != "finished"
        seconds = time.perf_counter() - self._start
        remaining = seconds / (self._done - self._already) * (self._total - self._done)
        if self._callback is not None:
            self._callback(SweepProgress(self._done, self._total, self._bad, seconds, remaining, record))
        if self._bar is not None:
            note = f"{self._bad} not finished" if self._bad else ""
            self._bar.update(self._bar.task_ids[0], completed=self._done, note=note)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


def _bar(total: int, already: int) -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("sweep"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task("sweep", total=total, completed=already, note="")
    bar.start()
    return bar
