"""Train one run in a worker: rows, stages and the finished record go to the recorder as messages."""

import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firstlight import groups, runs
from firstlight.lab._form import default_form, spec_of
from firstlight.lab._outcomes import pack_run
from firstlight.lab._worker import Channel, Control
from firstlight.records import GroupTask, RunSpec, SpecError, Table, spec_from_mapping
from firstlight.theories import li2

CHECKPOINT_SECONDS = 5.0
_STAGE_SECONDS = 0.5


def train_run(message: Mapping[str, Any], channel: Channel, control: Control) -> None:
    """Train the run of a message; `resume` continues from its checkpoint."""
    folder, seconds = Path(message["folder"]), float(message.get("seconds", 0.0))
    try:
        spec = spec_from_mapping(message["payload"]["spec"])
        if isinstance(spec.task, GroupTask):
            groups.of_task(spec.task, message["data"])  # first: lenses ask for the group, and not for its folder
        resolved = runs.resolve(spec, message["data"], store=message["store"])
    except SpecError as error:
        channel.send({"event": "end", "state": "failed", "message": "; ".join(error.problems)})
        return
    rows = _Rows(spec, channel, control)
    outcome = runs.train_apart(
        resolved,
        folder,
        on_record=rows.append,
        checkpoint_seconds=CHECKPOINT_SECONDS,
        resume=bool(message["resume"]),
    )
    rows.close()
    record = outcome.record.model_copy(update={"seconds": outcome.record.seconds + seconds})
    values, arrays = pack_run(record, outcome.weights)
    state = "stopped" if record.status == "interrupted" else record.status
    channel.send({"event": "end", "state": state, "run": values, "message": record.message}, arrays)


def warm_up() -> None:
    """Compile the programs of the default run by training two rows of it."""
    try:
        spec = runs.with_lenses(spec_of(default_form()))
        short = spec.model_copy(update={"steps": 2 * (spec.recording.every or 1), "snapshots": 0})
        runs.run(short, progress="off")
    except Exception:  # a cold worker is slower, and says why in its log
        traceback.print_exc()


class _Rows:
    """Sends rows in batches that grow with the load, and the stages as they are detected."""

    def __init__(self, spec: RunSpec, channel: Channel, control: Control) -> None:
        self._spec, self._channel, self._control = spec, channel, control
        self._rows: list[tuple[int, dict[str, Any]]] = []
        self._unsent: list[tuple[int, dict[str, Any]]] = []
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._staged = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def append(self, row: Mapping[str, Any]) -> None:
        """Take a row from the training thread; wait here while the run is paused."""
        values = {name: value for name, value in row.items() if name != "step"}
        with self._lock:
            self._unsent.append((int(row["step"]), values))
        if self._control.paused.is_set():
            self._flush()  # the last row goes out before the pause is reported
            self._control.hold()

    def close(self) -> None:
        """Send what is left."""
        self._closed.set()
        self._thread.join()
        self._flush()

    def _watch(self) -> None:
        last = 0.0
        while not self._closed.wait(0.05):
            self._flush()
            now = time.monotonic()
            # Detection reads every row, so a long run is read again only after it has grown by a tenth.
            if now - last > _STAGE_SECONDS and len(self._rows) >= max(3, 1.1 * self._staged):
                last, self._staged = now, len(self._rows)
                self._send_stages()

    def _flush(self) -> None:
        with self._lock:
            self._send_rows()

    def _send_rows(self) -> None:
        rows, self._unsent = self._unsent, []
        if not rows:
            return
        self._rows += [(step, _scalars(values)) for step, values in rows]
        scalars = [_scalars(values) for _, values in rows]
        arrays = {
            f"{place}/{name}": np.asarray(value)
            for place, (_, values) in enumerate(rows)
            for name, value in values.items()
            if np.ndim(value)
        }
        message = {"event": "rows", "steps": [step for step, _ in rows], "scalars": scalars, "total": self._spec.steps}
        self._channel.send(message, arrays)

    def _send_stages(self) -> None:
        if "li2" not in self._spec.lenses:
            return
        try:
            marked = li2.stages(Table.from_rows(self._rows))
        except ValueError:
            return  # too few rows, or a resumed run whose first rows are in the store
        bands = [[stage.name, stage.start, stage.end] for stage in marked.stages]
        self._channel.send({"event": "notes", "notes": {"stages": bands}})


def _scalars(values: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if np.ndim(value) == 0}
