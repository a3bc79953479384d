"""A sweep as a folder on a shared filesystem: its plan, its tasks, and the bundles that the tasks leave.

| file | what it holds |
|---|---|
| `sweep.json` | the sweep, the number of points and tasks, the options of the tasks |
| `tasks/<k>.json.z` | the batches of task k: specs that share a compiled program, as compressed JSON |
| `runs/<xx>/<id>.bundle.safetensors` | finished runs, see `records` |
| `checkpoints/` | the state of batches in progress |
| `state/<k>.json` | what task k does now; rewritten about once a second |
| `cancel` | present if the sweep was cancelled |
"""

import json
import os
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from firstlight._files import write_atomically
from firstlight.records import FileError, RunSpec, canonical_json, run_id
from firstlight.records._base import Frozen
from firstlight.records._bundle import BundledEntry, bundle_name, bundle_paths, read_header
from firstlight.runs import OVER
from firstlight.sweeps._batches import cut
from firstlight.sweeps._spec import Sweep

_FRESH = 120.0
"""Seconds after which a task that has not reported counts as stopped."""


class SweepPlan(Frozen):
    """What `sweep.json` holds.

    **Attributes:**

    - `sweep`: the sweep.
    - `points`: number of points.
    - `tasks`: number of tasks.
    - `data`: folder of the arrays that specs name, as the tasks see it.
    - `keep_weights`: whether bundles hold weights.
    - `job`: the id that the batch system gave to the submitted array, or ''.
    """

    sweep: Sweep
    points: int
    tasks: int
    data: str = ""
    keep_weights: bool = False
    job: str = ""


class SweepFolder:
    """A sweep on a shared filesystem. Nothing is locked: every task owns its batches, every file is written once.

    **Arguments:**

    - `path`: the folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @property
    def bundles(self) -> Path:
        """The folder of the bundles."""
        return self.path / "runs"

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints of batches in progress."""
        return self.path / "checkpoints"

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        sweep: Sweep,
        tasks: int,
        *,
        data: str | os.PathLike[str] | None = None,
        keep_weights: bool = False,
        allow_large: bool = False,
    ) -> "SweepFolder":
        """Plan a sweep: divide its batches among tasks and write the plan; a folder with this plan is reused.

        **Arguments:**

        - `path`: the folder, on a filesystem that every node sees.
        - `sweep`: the sweep.
        - `tasks`: number of tasks; fewer if there are fewer batches.
        - `data`: folder of the arrays that specs name, as the tasks see it.
        - `keep_weights`: whether bundles hold weights.
        - `allow_large`: accept points that may not fit into memory.
        """
        if tasks < 1:
            raise ValueError(f"a sweep needs at least one task; got {tasks}")
        folder = cls(path)
        specs = sweep.expand(data, allow_large=allow_large)
        batches = [batch.specs for batch in cut(specs, tasks)]
        shares = _share(batches, tasks)
        plan = SweepPlan(
            sweep=sweep,
            points=len(specs),
            tasks=len(shares),
            data="" if data is None else os.fspath(data),
            keep_weights=keep_weights,
        )
        if (folder.path / "sweep.json").exists():
            folder._require_same(plan)
            return folder
        folder.path.mkdir(parents=True, exist_ok=True)
        (folder.path / "tasks").mkdir(exist_ok=True)
        for number, share in enumerate(shares):
            text = canonical_json([[spec.model_dump(exclude_defaults=True) for spec in batch] for batch in share])
            write_atomically(folder._task_file(number), zlib.compress(text.encode()))
        folder.write_plan(plan)  # last: a folder with a plan is whole
        return folder

    def plan(self) -> SweepPlan:
        """Read the plan."""
        path = self.path / "sweep.json"
        try:
            return SweepPlan.model_validate_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FileError(
                f"{self.path} holds no planned sweep: {path.name} is missing; `firstlight sweep SPEC --slurm` makes one"
            ) from None
        except ValueError as error:
            raise FileError(f"{path} is not the plan of a sweep: {str(error).splitlines()[0]}") from None

    def write_plan(self, plan: SweepPlan) -> None:
        """Write the plan, whole or not at all."""
        write_atomically(self.path / "sweep.json", canonical_json(plan.model_dump(mode="json")).encode())

    def batches(self, task: int) -> list[list[RunSpec]]:
        """Return the batches of a task."""
        plan = self.plan()
        if not 0 <= task < plan.tasks:
            raise ValueError(f"the sweep in {self.path} has tasks 0 to {plan.tasks - 1}; got {task}")
        try:
            values = json.loads(zlib.decompress(self._task_file(task).read_bytes()))
            return [[RunSpec.model_validate(spec) for spec in batch] for batch in values]
        except (OSError, ValueError, zlib.error) as error:
            raise FileError(f"{self._task_file(task)} cannot be read ({error}); plan the sweep again") from None

    def missing(self, batch: Sequence[RunSpec]) -> list[RunSpec]:
        """Return the points of a batch that no bundle holds as finished or diverged."""
        done = {entry.id for path in self._bundles_of(batch) for entry in _entries(path) if entry.status in OVER}
        return [spec for spec in batch if run_id(spec) not in done]

    def cancel(self) -> None:
        """Ask all tasks to stop at the next checkpoint."""
        write_atomically(self.path / "cancel", b"")

    def cancelled(self) -> bool:
        """Whether the sweep was cancelled."""
        return (self.path / "cancel").exists()

    def allow(self) -> None:
        """Take back a cancellation."""
        (self.path / "cancel").unlink(missing_ok=True)

    def report_task(self, task: int, state: dict[str, Any]) -> None:
        """Write what a task does now."""
        (self.path / "state").mkdir(exist_ok=True)
        write_atomically(self.path / "state" / f"{task}.json", canonical_json(state | {"at": time.time()}).encode())

    def task_states(self) -> dict[int, dict[str, Any]]:
        """Return what each task last reported; `running` is false if it has not reported for two minutes."""
        states = {}
        for path in sorted((self.path / "state").glob("*.json")):
            try:
                state = json.loads(path.read_text(encoding="utf-8"))
                state["running"] = state["state"] == "running" and time.time() - state["at"] < _FRESH
                states[int(path.stem)] = state
            except (ValueError, KeyError, OSError):  # a file that another node is replacing
                continue
        return states

    def _bundles_of(self, batch: Sequence[RunSpec]) -> list[Path]:
        """Return the bundles that may hold points of a batch: that of the batch, and those of single points."""
        ids = [run_id(spec) for spec in batch]
        paths: list[Path] = []
        for name in dict.fromkeys([bundle_name(ids), *ids]):
            place = self.bundles / name[:2]
            if place.is_dir():
                paths += sorted(place.glob(f"{name}*"))
        return paths

    def _task_file(self, task: int) -> Path:
        return self.path / "tasks" / f"{task}.json.z"

    def _require_same(self, plan: SweepPlan) -> None:
        earlier = self.plan()
        if earlier.model_copy(update={"job": ""}) != plan:
            raise ValueError(
                f"{self.path} holds another sweep or another division into tasks; give a new folder with --bundles"
            )


class SweepStatus(Frozen):
    """How far a sweep on a shared filesystem is.

    **Attributes:**

    - `points`: number of points.
    - `finished`, `diverged`, `failed`: number of points by how they ended.
    - `left`: points that have not ended.
    - `running`: number of tasks that reported in the last two minutes.
    - `seconds`: mean seconds per ended point.
    - `remaining`: expected seconds to the end at the present number of tasks; None if unknown.
    - `damaged`: bundles that cannot be read.
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


def sweep_status(folder: SweepFolder) -> SweepStatus:
    """Count the points of a sweep from the headers of its bundles, and estimate the remaining time."""
    plan = folder.plan()
    statuses: dict[str, str] = {}
    damaged = []
    for path in bundle_paths(folder.bundles) if folder.bundles.is_dir() else ():
        try:
            for entry in read_header(path):
                if statuses.get(entry.id) not in OVER:
                    statuses[entry.id] = entry.status
        except FileError as error:
            damaged.append(str(error))
    ended = list(statuses.values())
    counts = {status: ended.count(status) for status in ("finished", "diverged", "failed")}
    states = folder.task_states()
    running = sum(state["running"] for state in states.values())
    spent = sum(state.get("seconds", 0.0) for state in states.values())
    points = sum(state.get("points", 0) for state in states.values())
    seconds = spent / points if points else None
    left = plan.points - len(ended)
    remaining = seconds * left / running if seconds is not None and running else (0.0 if not left else None)
    return SweepStatus(
        points=plan.points,
        **counts,
        left=left,
        running=running,
        seconds=seconds,
        remaining=remaining,
        damaged=tuple(damaged),
        cancelled=folder.cancelled(),
    )


def _entries(path: Path) -> tuple[BundledEntry, ...]:
    """Return what a bundle holds; nothing if it cannot be read, so that its points run again."""
    try:
        return read_header(path)
    except FileError:
        return ()


def _share(batches: Sequence[Sequence[RunSpec]], tasks: int) -> list[list[Sequence[RunSpec]]]:
    """Divide batches among tasks: neighbours stay together, because they share a compiled program."""
    count = max(min(tasks, len(batches)), 1)
    ends = [round(len(batches) * (k + 1) / count) for k in range(count)]
    return [list(batches[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
