"""The store as the recorder writes it: one run in progress, committed ten times a second."""

import contextlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from firstlight.lab._frames import Arrays
from firstlight.lab._outcomes import unpack_claim, unpack_fits, unpack_run, unpack_runs
from firstlight.lab._places import Places
from firstlight.records import FitRecord, ProbeRecord, RunHandle, Store, run_id, spec_from_mapping


class Writer:
    """Writes rows, records and claims into a store that is open for writing."""

    def __init__(self, store: Store, places: Places) -> None:
        self._store, self._places = store, places
        self._handle: RunHandle | None = None
        self._count, self._is_dirty = 0, False

    def begin(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Open a run, with the rows of an interrupted one, and return what its worker needs.

        A checkpoint that is ahead of the stored rows is not resumed: the rows between would be missing.
        """
        wanted = spec_from_mapping(dict(spec))
        id = run_id(wanted)
        folder = self._places.checkpoint(id)
        earlier = self._store.get_run(id) if self._store.run_status(id) == "interrupted" else None
        rows = earlier.table.rows() if earlier else []
        step = _checkpoint_step(folder)
        recorded = [s for s in wanted.recording.steps(wanted.steps) if step is not None and s <= step]
        resume = bool(rows) and bool(recorded) and rows[-1][0] >= recorded[-1]
        if resume:
            rows = [row for row in rows if row[0] <= recorded[-1]]
        else:
            shutil.rmtree(folder, ignore_errors=True)
            rows = []
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "runs.txt").write_text(id)
        self._handle = self._store.open_run(wanted, restart=True, rows=rows)
        self._count, self._is_dirty = len(rows), True
        return {
            "folder": str(folder),
            "resume": resume,
            "seconds": earlier.seconds if earlier and resume else 0.0,
            "store": str(self._places.store),
            "data": str(self._places.tables),
        }

    def append(self, steps: Sequence[int], scalars: Sequence[Mapping[str, float]], arrays: Arrays) -> None:
        """Add rows; they are committed at the next tick."""
        if self._handle is None:
            return
        for place, (step, values) in enumerate(zip(steps, scalars, strict=True)):
            prefix = f"{place}/"
            own = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
            self._handle.append(step, {**values, **own})
            self._count += 1
        self._is_dirty = True

    def commit(self) -> list[tuple[str, int]]:
        """Commit the rows since the last call; return the run and its number of rows, if there are new rows."""
        if self._handle is None or not self._is_dirty:
            return []
        self._handle.commit()
        self._is_dirty = False
        return [(self._handle.id, self._count)]

    def put_points(self, points: Sequence[Mapping[str, Any]], arrays: Arrays) -> None:
        """Write ended points of a sweep, all in one transaction."""
        self._store.put_runs([(record, {}) for record in unpack_runs(points, arrays)])

    def finish(self, kind: str, message: Mapping[str, Any], arrays: Arrays) -> None:
        """Write the record of an ended job; rows of a run in progress stay open while a sweep ends beside it."""
        if kind == "run":
            self.close()
        if "run" in message:
            record, weights = unpack_run(message["run"], arrays)
            if record.status == "interrupted":
                # Its rows are in the store, its state is in the checkpoint.
                return
            self._store.put_run(record, weights, replace=True)
            shutil.rmtree(self._places.checkpoint(record.id), ignore_errors=True)
            with contextlib.suppress(OSError):
                self._places.checkpoint(record.id).parent.rmdir()
        elif "claim" in message:
            record, figures = unpack_claim(message["claim"], arrays)
            for figure in figures:
                self._store.put_figure(figure)
            self._store.put_claim(record)
        for fit in unpack_fits(FitRecord, message.get("fits", ()), arrays):
            self._store.put_fit(fit)
        for probe in unpack_fits(ProbeRecord, message.get("probes", ()), arrays):
            self._store.put_probe(probe)

    def forget(self, kind: str, id: str) -> None:
        """Delete the checkpoints of a removed sweep; a stopped run can still be resumed by `firstlight run`."""
        if kind == "sweep":
            shutil.rmtree(self._places.sweep_checkpoint(id), ignore_errors=True)

    def close(self) -> None:
        """Commit the rows of the run in progress."""
        if self._handle is not None:
            self._handle.__exit__(None, None, None)
            self._handle = None


def _checkpoint_step(folder: Path) -> int | None:
    """Return the step of a checkpoint, or None; `flow.checkpoint_step` would load JAX into the recorder."""
    steps = []
    for file in folder.glob("lane-0-*.safetensors"):
        with contextlib.suppress(SafetensorError, OSError), safe_open(file, framework="numpy") as opened:
            step = (opened.metadata() or {}).get("step", "")
            steps += [int(step)] if step.isdecimal() else []
    return max(steps, default=None)
