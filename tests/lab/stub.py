"""A worker without JAX, and a recorder that uses it: `python -m tests.lab.stub serve|recorder|worker …`."""

import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from safetensors.numpy import save_file

from firstlight.lab._form import spec_of
from firstlight.lab._outcomes import pack_run, pack_runs
from firstlight.records import RunRecord, Store, Table, run_id, spec_from_mapping

COMMAND = (sys.executable, "-m", "tests.lab.stub")


def row(step):
    return {"train_accuracy": min(1.0, step / 10), "train_loss": 1 / (1 + step), "extra": np.full(3, float(step))}


def train(message, channel, control):
    """Record a row every `every` epochs, 50 rows a second, with a checkpoint every ten rows."""
    spec, folder = spec_from_mapping(message["payload"]["spec"]), Path(message["folder"])
    first = 0
    file = folder / "lane-0-seed-0.safetensors"
    if message["resume"]:
        from safetensors import safe_open

        with safe_open(file, framework="numpy") as opened:
            first = int(opened.metadata()["step"]) + 1
    rows = [(step, row(step)) for step in spec.recording.steps(spec.steps) if step < first]
    for step in spec.recording.steps(spec.steps):
        if step < first:
            continue
        values = row(step)
        rows.append((step, values))
        scalars = {name: value for name, value in values.items() if np.ndim(value) == 0}
        frame = {"event": "rows", "steps": [step], "scalars": [scalars], "total": spec.steps}
        channel.send(frame, {"0/extra": values["extra"]})
        control.hold()
        if control.stopping.is_set() or len(rows) % 10 == 0:
            save_file({"x": np.zeros(1)}, file, metadata={"step": str(step)})
        if control.stopping.is_set():
            break
        time.sleep(0.02)
    status = "interrupted" if control.stopping.is_set() else "finished"
    record = RunRecord(spec=spec, status=status, steps=rows[-1][0], table=Table.from_rows(rows))
    values, arrays = pack_run(record, {"final": {"W": np.eye(2)}})
    channel.send({"event": "end", "state": "stopped" if status == "interrupted" else status, "run": values}, arrays)


def sweep(message, channel, control):
    """End two points at a time, ten batches a second, except those that the store already has."""
    specs = [spec_from_mapping(values) for values in message["payload"]["specs"]]
    with Store(message["store"]) as store:
        left = [spec for spec in specs if store.run_status(spec) != "finished"]
    done = len(specs) - len(left)
    while left and not control.stopping.is_set():
        batch, left = left[:2], left[2:]
        time.sleep(0.1)
        records = [RunRecord(spec=s, status="finished", steps=1, table=Table([0], {"a": [1.0]})) for s in batch]
        done += len(batch)
        points, arrays = pack_runs(records)
        if message["payload"].get("broken"):
            points = [{"record": {}, "figures": []}]
        channel.send({"event": "points", "points": points, "done": done, "total": len(specs)}, arrays)
    channel.send({"event": "end", "state": "stopped" if left else "finished", "message": ""})


def answer(message, channel, control):
    """Answer the setting of a form without a forecast; echo any other question."""
    given = message["given"]
    is_form = message["what"] == "setting" and "steps" in given.get("form", {})
    result = setting(given["form"]) if is_form else {"heard": given}
    channel.send({"answer": message["n"], "result": result})


def setting(form):
    """Return what the page needs of a setting; every epoch is recorded."""
    spec = spec_of(form, snapshots=0)
    spec = spec.model_copy(update={"recording": spec.recording.model_copy(update={"every": 1})})
    forecast = {"covered": False, "computing": False, "reason": "a stub forecasts nothing", "point": [5, 0.6]}
    return {"id": run_id(spec), "spec": spec.model_dump(mode="json"), "title": "a long run", "order": 5,
            "pairs": [15, 25], "clock": "epoch", "seconds": 1.0, "copies": {}, "forecast": forecast}  # fmt: skip


def die(message, channel, control):
    import os

    os._exit(3)


def fit(message, channel, control):
    """Report most of the work, then the end."""
    channel.send({"event": "progress", "done": 0.97, "total": 1.0, "message": "nearly"})
    channel.send({"event": "end", "state": message["payload"]["end"], "message": ""})


DUTIES = {"run": train, "ask": answer, "claim": die, "sweep": sweep, "fit": fit}

if __name__ == "__main__":
    role, *rest = sys.argv[1:]
    sys.argv = [sys.argv[0], *rest]
    if role == "serve":
        from functools import partial

        from firstlight.lab import _serve

        _serve.Client = partial(_serve.Client, command=(*COMMAND, "recorder"))
        _serve.serve(Path(rest[0]), browser=False, say=partial(print, flush=True))
        sys.exit(0)
    if role == "recorder":
        from firstlight.lab._recorder import main

        sys.exit(main(worker=(*COMMAND, "worker")))
    from firstlight.lab._worker import main as work

    work(SimpleNamespace(prepare=lambda role: None, DUTIES=DUTIES))
