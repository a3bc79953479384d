"""Progress on stderr: a bar with the time left on a terminal, a line now and then elsewhere."""

from threading import Lock
from typing import Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from firstlight.cli import screen


class Bar:
    """A bar that shows what is being done, how much of it is done, and the time left."""

    def __init__(self, total: float | int, label: str = "", unit: str = "") -> None:
        count = MofNCompleteColumn() if not unit else TextColumn("{task.completed:.0f}/{task.total:.0f} " + unit)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            count,
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._console = screen.err()
        self._bar = Progress(*columns, console=self._console, transient=True, disable=not self._console.is_terminal)
        self._task = self._bar.add_task(label, total=total)

    def update(self, done: float | int, label: str = "") -> None:
        """Set how much is done and, if given, what is being done."""
        self._bar.update(self._task, completed=done, description=label or None)

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
    """Tells of `claims.Moment`s: a bar over claims, or one line per verdict where there is no terminal."""

    def __init__(self) -> None:
        self._bar: Bar | None = None

    def __call__(self, moment: Any) -> None:
        if self._bar is None:
            self._bar = Bar(moment.count, unit="claims").__enter__()
        label = f"{moment.claim.id} {moment.note}".strip()
        self._bar.update(moment.index + moment.fraction, label)
        if moment.record is not None and not self._bar.is_shown:
            seconds = screen.duration(moment.record.seconds)
            line = f"[{moment.index + 1}/{moment.count}] {moment.claim.id}: {moment.record.status} ({seconds})"
            screen.err().print(line)

    def __enter__(self) -> "ClaimProgress":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.__exit__()


class RunProgress:
    """Tells of `flow.Progress` moments: a bar on a terminal, elsewhere a line every few seconds."""

    def __init__(self, lines_every: float = 10.0) -> None:
        self._bar: Bar | None = None
        self._lines_every = lines_every
        self._last = 0.0
        self._lock = Lock()

    @property
    def has_begun(self) -> bool:
        """Whether anything was told."""
        return self._bar is not None

    def __call__(self, moment: Any) -> None:
        with self._lock:
            if self._bar is None:
                self._bar = Bar(moment.total, unit="steps").__enter__()
            told = ", ".join(
                f"{name.replace('_', ' ')} {float(moment.values[name]):.3f}"
                for name in ("train_accuracy", "test_accuracy")
                if name in moment.values
            )
            self._bar.update(moment.done, told or "training")
            if not self._bar.is_shown and moment.seconds - self._last >= self._lines_every:
                self._last = moment.seconds
                left = "" if moment.remaining is None else f", {screen.duration(moment.remaining)} left"
                screen.err().print(f"step {moment.done} of {moment.total}{left}: {told}")

    def __enter__(self) -> "RunProgress":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.__exit__()
