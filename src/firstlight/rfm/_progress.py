"""A progress bar for long fits, with the time and memory that they are expected to take."""

import sys
import threading
import time
from typing import Any, Literal

Verbose = bool | Literal["auto"]


class Progress:
    """Counts rows and draws a bar on standard error after two seconds; safe to use from several threads.

    **Arguments:**

    - `verbose`: whether to draw; "auto" draws in a terminal only.
    - `label`: words in front of the bar.
    - `total`: number of units of work.

    >>> with Progress(False, "rows", 10) as progress:
    ...     progress.add(4)
    >>> progress.done
    4
    """

    def __init__(self, verbose: Verbose, label: str, total: int) -> None:
        self._show = sys.stderr.isatty() if verbose == "auto" else bool(verbose)
        self.label, self.total, self.done = label, total, 0
        self._start, self._lock, self._bar = time.perf_counter(), threading.Lock(), None

    def announce(self, text: str) -> None:
        """Print a line above the bar."""
        if self._show:
            print(text, file=sys.stderr, flush=True)

    def add(self, units: int) -> None:
        """Add finished work."""
        with self._lock:
            self.done += units
            if self._show and (self._bar is not None or time.perf_counter() - self._start > 2):
                self._draw()

    def _draw(self) -> None:
        if self._bar is None:
            self._bar, self._task = self._opened()
        self._bar.update(self._task, completed=min(self.done, self.total))

    def _opened(self) -> tuple[Any, Any]:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn(self.label), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        bar = Bar(*columns, console=Console(stderr=True), transient=True)
        bar.start()
        return bar, bar.add_task(self.label, total=self.total)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.stop()
