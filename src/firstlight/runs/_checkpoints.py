"""Checkpoints of runs in progress: folders beside the store, removed when their runs end."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from firstlight.flow import checkpoint_step
from firstlight.records import RunSpec, Store, run_id
from firstlight.records._store import locate

OVER = ("finished", "diverged")
"""Statuses of runs that need not be trained again."""

_MANIFEST = "runs.txt"


def clear_checkpoints(store: Store) -> tuple[str, ...]:
    """Remove the checkpoints of runs that have ended or were deleted; return the names of the files.

    The store must be open for writing, so that no other process trains into it.
    """
    return Checkpoints(store).clear()


def saved_step(store: str | os.PathLike[str], spec: RunSpec) -> int | None:
    """Return the step of the checkpoint of a run that trains alone, or None if there is no checkpoint."""
    folder = _root(locate(store)) / run_id(spec)
    steps = [step for file in folder.glob("lane-*.safetensors") if (step := checkpoint_step(file)) is not None]
    return max(steps, default=None)


class Checkpoints:
    """The checkpoint folders of a store: one folder per call of the training engine, one file per run."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.root = _root(store.path)

    def folder(self, ids: Sequence[str]) -> Path:
        """Return the folder for these runs in this order; move their checkpoints from other folders there."""
        name = ids[0] if len(ids) == 1 else hashlib.sha256("\n".join(ids).encode()).hexdigest()
        folder = self.root / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _MANIFEST).write_text("\n".join(ids))
        for other in self._folders():
            if other != folder:
                self._adopt(folder, ids, other)
        return folder

    def discard(self, folder: Path) -> None:
        """Delete a folder of checkpoints."""
        shutil.rmtree(folder, ignore_errors=True)
        if not self._folders():
            shutil.rmtree(self.root, ignore_errors=True)

    def clear(self) -> tuple[str, ...]:
        """Remove the checkpoints of runs that have ended or left the store; return the names of the files."""
        removed: list[str] = []
        for folder in self._folders():
            ids = _ids(folder)
            done = [place for place, id in enumerate(ids) if self._store.run_status(id) in (*OVER, None)]
            files = [file for place in done for file in folder.glob(f"lane-{place}-*.safetensors")]
            removed += [file.name for file in files]
            for file in files:
                file.unlink(missing_ok=True)
            if len(done) == len(ids):
                self.discard(folder)
        return tuple(removed)

    def _folders(self) -> list[Path]:
        return sorted(path for path in self.root.iterdir() if path.is_dir()) if self.root.is_dir() else []

    def _adopt(self, folder: Path, ids: Sequence[str], other: Path) -> None:
        # The engine names a file by the place of its run in the call, and a resumed call may have fewer runs.
        for place, id in enumerate(_ids(other)):
            for file in other.glob(f"lane-{place}-*.safetensors") if id in ids else ():
                name = file.name.replace(f"lane-{place}-", f"lane-{ids.index(id)}-", 1)
                os.replace(file, folder / name)
        if not any(other.glob("*.safetensors")):
            self.discard(other)


def _root(store: Path) -> Path:
    return store.with_name(f"{store.name}.checkpoints")


def _ids(folder: Path) -> list[str]:
    manifest = folder / _MANIFEST
    return manifest.read_text().split() if manifest.is_file() else []
