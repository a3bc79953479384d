"""How far a sweep on a shared filesystem is, and how long it will take."""

from collections import Counter
from collections.abc import Callable

from firstlight import _interrupts as interrupts
from firstlight.records import FileError
from firstlight.records._base import Frozen
from firstlight.records._bundle import bundle_paths, read_header
from firstlight.runs import OVER
from firstlight.sweeps._folder import SweepFolder


class SweepStatus(Frozen):
    """The progress of a sweep.

    **Attributes:**

    - `points`: number of points.
    - `finished`, `diverged`, `failed`: number of points by how they ended.
    - `left`: points that have not ended.
    - `running`: number of tasks, or workers of a driver, that reported in the last two minutes.
    - `seconds`: mean seconds of a task per ended point; None if none has ended.
    - `remaining`: expected seconds to the end at the present number of tasks; None if unknown.
    - `damaged`: a line per bundle that cannot be read.
    - `cancelled`: whether the sweep was cancelled.
    """

    points: int
    finished: int
    diverged: int
    failed: int
    left: int
    running: int
    seconds: float | None
    remaining: float | None
    damaged: tuple[str, ...] = ()
    cancelled: bool = False


def sweep_status(folder: SweepFolder, progress: Callable[[int], None] = lambda bundles: None) -> SweepStatus:
    """Count the points of a sweep from the headers of its bundles, and estimate the remaining time.

    Bundles of other points, copied or gathered into the same folder, do not count.

    **Arguments:**

    - `folder`: the sweep.
    - `progress`: callback that receives the number of bundles read.
    """
    plan, own = folder.plan(), folder.ids()
    statuses: dict[str, str] = {}
    spent: dict[str, float] = {}
    damaged = []
    for number, path in enumerate(bundle_paths(folder.bundles) if folder.bundles.is_dir() else (), start=1):
        interrupts.check()
        progress(number)
        try:
            for entry in read_header(path):
                if (own is None or entry.id in own) and statuses.get(entry.id) not in OVER:
                    statuses[entry.id], spent[entry.id] = entry.status, entry.seconds
        except FileError as error:
            damaged.append(str(error))
    counts = Counter(statuses.values())
    running, seconds = _rate(folder, spent)
    left = max(plan.points - len(statuses), 0)
    remaining = seconds * left / running if seconds is not None and running else (None if left else 0.0)
    return SweepStatus(
        points=plan.points,
        finished=counts["finished"],
        diverged=counts["diverged"],
        failed=counts["failed"],
        left=left,
        running=running,
        seconds=seconds,
        remaining=remaining,
        damaged=tuple(damaged),
        cancelled=folder.cancelled(),
    )


def _rate(folder: SweepFolder, spent: dict[str, float]) -> tuple[int, float | None]:
    """Return the number of running tasks, and the seconds of a task per point."""
    states = folder.states().values()
    running = sum(state.get("workers", 1) for state in states if state["running"])
    points = sum(state.get("points", 0) for state in states)
    if points:  # what tasks measured includes the time to start and to compile
        return running, sum(state.get("seconds", 0.0) for state in states) / points
    return running, sum(spent.values()) / len(spent) if spent else None
