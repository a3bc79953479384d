"""Progress on stderr: a bar with the time left on a terminal, else a line every few seconds."""

import time
from typing import Any

from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from firstlight.cli._terminal import screen

_REMARK_SECONDS = 10.0


class Bar:
    """A bar that shows the current work, the share done and the time left; it pulses until the first update."""

    def __init__(self, unit: str) -> None:
        count = TextColumn("{task.fields[count]}")
        columns = (TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn(), TimeRemainingColumn())
        self._console = screen.err()
        self._unit = unit
        self._remarked = time.monotonic()
        self._bar = Progress(*columns, console=self._console, transient=True, disable=not self.is_shown)
        self._task = self._bar.add_task("preparing", total=None, count="")

    def update(self, done: float, total: int, label: str) -> None:
        """Set the amount done, the total, and the current work."""
        count = f"{int(done)}/{total} {self._unit}"
        self._bar.update(self._task, completed=done, total=total, description=label, count=count)

    def remark(self, text: str, remaining: float | None) -> None:
        """Print a line if there is no terminal, at most every few seconds."""
        now = time.monotonic()
        if not self.is_shown and now - self._remarked >= _REMARK_SECONDS:
            self._remarked = now
            left = "" if remaining is None else f", {screen.duration(remaining)} left"
            self._console.print(text + left)

    @property
    def remaining(self) -> float | None:
        """Estimated seconds left, or None if unknown."""
        return self._bar.tasks[0].time_remaining

    @property
    def is_shown(self) -> bool:
        """Whether stderr is a terminal."""
        return self._console.is_terminal

    def __enter__(self) -> "Bar":
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()


class ClaimProgress:
    """Shows `claims.Moment`s: a bar over claims, or one line per verdict if there is no terminal."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    def __call__(self, moment: Any) -> None:
        label = f"{moment.claim.id} {moment.note}".strip()
        self._bar.update(moment.index + moment.fraction, moment.count, label)
        if moment.record is not None and not self._bar.is_shown:
            seconds = screen.duration(moment.record.seconds)
            place = f"[{moment.index + 1}/{moment.count}]"
            screen.err().print(f"{place} {moment.claim.id}: {moment.record.status} ({seconds})")


class RunProgress:
    """Shows `flow.Progress` moments: a bar over steps, or a line every few seconds."""

    def __init__(self, bar: Bar, clock: str) -> None:
        self._bar, self._clock = bar, clock

    def __call__(self, moment: Any) -> None:
        printed = ", ".join(
            f"{name.replace('_', ' ')} {float(moment.values[name]):.3f}"
            for name in ("train_accuracy", "test_accuracy")
            if name in moment.values
        )
        self._bar.update(moment.done, moment.total, printed or "training")
        self._bar.remark(f"{self._clock} {moment.done} of {moment.total}: {printed}", moment.remaining)


class SweepBar:
    """Shows `sweeps.SweepProgress` moments: a bar over points, or a line every few seconds."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    def __call__(self, moment: Any) -> None:
        bad = f", {moment.bad} not finished" if moment.bad else ""
        self._bar.update(moment.done, moment.total, f"sweep{bad}")
        self._bar.remark(f"{moment.done} of {moment.total} points{bad}", moment.remaining)
