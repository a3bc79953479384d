"""A sweep as a folder on a shared filesystem: its plan, its tasks, and the bundles that the tasks leave.

| file | what it holds |
|---|---|
| `sweep.json` | the sweep, the number of points and tasks, the options of the tasks |
| `points.bin` | the ids of all points, 32 bytes each |
| `tasks/<k>.json.z` | the batches of task k: specs that share a compiled program, as compressed JSON |
| `runs/<xx>/<id>.bundle.safetensors` | finished runs, see `records` |
| `checkpoints/<batch>/` | the state of a batch in progress, and how often its task died |
| `state/<name>.json` | the progress of a task or a driver, rewritten every few seconds |
| `cancel` | present if the sweep was cancelled |
"""

import contextlib
import json
import os
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from firstlight._files import write_atomically
from firstlight.records import FileError, RunSpec, canonical_json, changed_fields, run_id, sha256
from firstlight.records._base import Frozen
from firstlight.records._bundle import BundledEntry, bundle_name, bundles_named, read_header
from firstlight.runs import OVER
from firstlight.sweeps._batches import cut
from firstlight.sweeps._spec import Sweep

_FRESH = 120.0
"""Seconds after which a task that has not reported counts as stopped."""


class FolderError(OSError):
    """Raised if the folder of a sweep cannot be written or holds another sweep."""


class SweepPlan(Frozen):
    """What `sweep.json` holds.

    **Attributes:**

    - `sweep`: the sweep; None if the points were listed one by one.
    - `points`: number of points.
    - `digest`: SHA-256 of the ids of all points.
    - `tasks`: number of tasks; 0 if a driver hands out the points.
    - `data`: folder of the arrays that specs name, as the tasks see it.
    - `keep_weights`: whether bundles hold weights.
    - `allow_large`: whether points may exceed the memory of their node.
    - `job`: the id that the batch system gave to the submitted array, or ''.
    """

    sweep: Sweep | None
    points: int
    digest: str
    tasks: int
    data: str = ""
    keep_weights: bool = False
    allow_large: bool = False
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
        points: Sweep | Sequence[RunSpec],
        tasks: int,
        *,
        data: str | os.PathLike[str] | None = None,
        keep_weights: bool = False,
        allow_large: bool = False,
    ) -> "SweepFolder":
        """Plan a sweep: divide its batches among tasks and write the plan; a folder with this plan is reused.

        **Arguments:**

        - `path`: the folder, on a filesystem that every node sees.
        - `points`: the sweep, or its specs.
        - `tasks`: number of tasks, fewer if there are fewer batches; 0 if a driver hands out the points.
        - `data`: folder of the arrays that specs name, as the tasks see it.
        - `keep_weights`: whether bundles hold weights.
        - `allow_large`: accept points that may not fit into memory.
        """
        if tasks < 0:
            raise ValueError(f"a sweep needs at least one task; got {tasks}")
        folder = cls(path)
        specs = points.expand(data, allow_large=allow_large) if isinstance(points, Sweep) else list(points)
        shares = _share([batch.specs for batch in cut(specs, tasks)], tasks) if tasks else []
        ids = sorted(map(run_id, specs))
        plan = SweepPlan(
            sweep=points if isinstance(points, Sweep) else None,
            points=len(specs),
            digest=sha256(ids),
            tasks=len(shares),
            data="" if data is None else os.fspath(Path(data).resolve()),
            keep_weights=keep_weights,
            allow_large=allow_large,
        )
        if (folder.path / "sweep.json").exists():
            folder._require_same(plan)
            return folder
        with folder.writing():
            for number, share in enumerate(shares):
                text = canonical_json([[changed_fields(spec) for spec in batch] for batch in share])
                write_atomically(folder._task_file(number), zlib.compress(text.encode()))
            write_atomically(folder._points_file, bytes.fromhex("".join(ids)))
            folder.write_plan(plan)  # last: a folder with a plan is whole
        return folder

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turn a full disk or a read-only folder into a `FolderError` that says what to do."""
        try:
            yield
        except FolderError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise FolderError(
                f"cannot write into {self.path} ({reason}); all bundles written before are whole. Make room or give "
                "a folder that this machine may write, then start the same command again"
            ) from None

    def plan(self) -> SweepPlan:
        """Read the plan."""
        path = self.path / "sweep.json"
        try:
            return SweepPlan.model_validate_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FileError(
                f"{self.path} holds no sweep: there is no {path.name}; `firstlight sweep SPEC --slurm --bundles "
                f"{self.path}` makes one"
            ) from None
        except (OSError, ValueError) as error:
            raise FileError(f"{path} cannot be read ({error}); plan the sweep again in a new folder") from None

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
            raise FileError(
                f"{self._task_file(task)} cannot be read ({error}); plan the sweep again in a new folder"
            ) from None

    def ids(self) -> frozenset[str] | None:
        """Return the ids of all points; None for a folder of an earlier version, which does not list them."""
        try:
            content = self._points_file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FileError(f"{self._points_file} cannot be read ({error}); make it readable") from None
        ids = [content[start : start + 32].hex() for start in range(0, len(content), 32)]
        if sha256(ids) != self.plan().digest:
            raise FileError(f"{self._points_file} does not list the points of the plan; plan the sweep in a new folder")
        return frozenset(ids)

    def missing(self, batch: Sequence[RunSpec]) -> list[RunSpec]:
        """Return the points of a batch that no bundle holds as finished or diverged."""
        ids = [run_id(spec) for spec in batch]
        names = dict.fromkeys([bundle_name(ids), *ids])
        paths = [path for name in names for path in bundles_named(self.bundles, name)]
        done = {entry.id for path in paths for entry in entries_of(path) if entry.status in OVER}
        return [spec for id, spec in zip(ids, batch, strict=True) if id not in done]

    def cancel(self) -> None:
        """Ask all tasks to write their checkpoints and stop."""
        with self.writing():
            write_atomically(self.path / "cancel", b"")

    def cancelled(self) -> bool:
        """Whether the sweep was cancelled."""
        return (self.path / "cancel").exists()

    def allow(self) -> None:
        """Take back a cancellation."""
        (self.path / "cancel").unlink(missing_ok=True)

    def report(self, name: str, state: dict[str, Any]) -> None:
        """Write the progress of a task or a driver; a full disk must not stop what it reports."""
        with contextlib.suppress(OSError):
            text = canonical_json(state | {"at": time.time()})
            write_atomically(self.path / "state" / f"{name}.json", text.encode())

    def states(self) -> dict[str, dict[str, Any]]:
        """Return the last report of each task; `running` is false if it has not reported for two minutes."""
        states = {}
        for path in sorted((self.path / "state").glob("*.json")):
            try:
                state = json.loads(path.read_text(encoding="utf-8"))
                state["running"] = state["state"] == "running" and abs(time.time() - state["at"]) < _FRESH
                states[path.stem] = state
            except (ValueError, KeyError, TypeError, OSError):  # a file that another node is replacing
                continue
        return states

    @property
    def _points_file(self) -> Path:
        return self.path / "points.bin"

    def _task_file(self, task: int) -> Path:
        return self.path / "tasks" / f"{task}.json.z"

    def _require_same(self, plan: SweepPlan) -> None:
        if self.plan().model_copy(update={"job": ""}) != plan:
            raise FolderError(
                f"{self.path} holds another sweep, or this one with other options or another number of tasks; "
                "give a new folder with --bundles, or the same options"
            )


def entries_of(path: Path) -> tuple[BundledEntry, ...]:
    """Return what a bundle holds; nothing if it cannot be read, so that its points run again."""
    try:
        return read_header(path)
    except FileError:
        return ()


def open_folder(path: str | os.PathLike[str]) -> SweepFolder:
    """Return the sweep in a folder, checked to hold a plan."""
    folder = SweepFolder(path)
    folder.plan()
    return folder


def _share(batches: Sequence[Sequence[RunSpec]], tasks: int) -> list[list[Sequence[RunSpec]]]:
    """Divide batches among tasks: neighbours stay together, because they share a compiled program."""
    count = max(min(tasks, len(batches)), 1)
    ends = [round(len(batches) * (k + 1) / count) for k in range(count)]
    return [list(batches[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
