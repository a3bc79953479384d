"""Lanes of work: a worker process and the kinds of jobs that it does, one at a time.

Sweeps have a lane of their own, so that a run of the page does not wait for hours behind them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firstlight.lab._frames import Arrays
from firstlight.lab._hands import Hand


@dataclass
class Lane:
    """A worker and its jobs.

    **Attributes:**

    - `hand`: the worker process.
    - `kinds`: the kinds of jobs that it does.
    - `stays`: whether the process stays warm between jobs; otherwise it starts with a job and ends after the last.
    - `current`: the job in progress, or None.
    - `refusal`: why the store refused what the job in progress sent, or ''.
    """

    hand: Hand
    kinds: tuple[str, ...]
    stays: bool
    current: str | None = None
    refusal: str = ""


def make_lanes(
    log: Path, receive: Callable[[Lane, dict[str, Any], Arrays], None], worker: Sequence[str]
) -> tuple[Lane, ...]:
    """Return the lane of live jobs, then that of sweeps; neither is started.

    **Arguments:**

    - `log`: the file for what workers print.
    - `receive`: called with the lane, a message and its arrays.
    - `worker`: the command of a worker.
    """

    def lane(role: str, kinds: tuple[str, ...], stays: bool) -> Lane:
        made = Lane(Hand(role, log, lambda message, arrays: receive(made, message, arrays), worker), kinds, stays)
        return made

    live = ("run", "claim", "staircase", "fit", "probe")
    return lane("train", live, True), lane("sweep", ("sweep",), False)
