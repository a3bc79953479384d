"""Progress of a driver that other terminals can follow, and their request to cancel it."""

import time
from typing import Any

from firstlight.sweeps._folder import SweepFolder
from firstlight.sweeps._pool import Pool
from firstlight.sweeps._progress import SweepReporter

_SECONDS = 2.0
"""Seconds between two reports."""


class Cancelled(Exception):
    """Raised in the driver after a request from another terminal."""


class Control:
    """Publishes the progress of a sweep in its folder, if it has one, and on its cluster, if it runs on one.

    **Arguments:**

    - `reporter`: counts the points.
    - `total`: number of points of the sweep.
    - `name`: a title for those who follow.
    - `folder`: the folder of the sweep, or None.
    """

    def __init__(self, reporter: SweepReporter, total: int, name: str, folder: SweepFolder | None) -> None:
        self._reporter, self._total, self._name, self._folder = reporter, total, name, folder
        self._start, self._before, self._last = time.time(), reporter.done, 0.0
        self._worked = 0.0

    def tick(self, pool: Pool) -> None:
        """Report now and then; raise `Cancelled` if a terminal has asked for it."""
        now = time.monotonic()
        if now - self._last < _SECONDS:
            return
        self._worked += pool.busy * (now - self._last if self._last else 0.0)
        self._last = now
        if self._publish(pool, "running"):
            raise Cancelled

    def close(self, pool: Pool, state: str) -> None:
        """Report how the sweep ended."""
        self._publish(pool, state)

    def _publish(self, pool: Pool, state: str) -> bool:
        facts: dict[str, Any] = {
            "name": self._name,
            "state": state,
            "done": self._reporter.done,
            "total": self._total,
            "bad": self._reporter.bad,
            "points": self._reporter.done - self._before,
            "seconds": self._worked,
            "workers": pool.busy,
            "since": self._start,
            "at": time.time(),
        }
        asked = pool.report(facts)
        if self._folder is not None:
            self._folder.report("driver", facts)
            asked = asked or self._folder.cancelled()
        return asked
