"""What a driver spends on each point of a sweep: planning, handing out, receiving, storing and reporting it."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks._timing import result
from firstlight import runs
from firstlight.records import RunSpec, run_id, spec_from_mapping
from firstlight.runs import RunOutcome
from firstlight.sweeps import run_sweep, sweep_from_mapping

__all__ = ["schedule_ms_per_point"]

BASE = {"task": {"group": "Z7"}, "model": {"width": 32}, "steps": 200, "recording": {"every": 10}}
SWEEP = {"base": BASE, "grid": {"optimizer.weight_decay": [0.0, 0.01]}, "seeds": 400}


class Canned:
    """A worker that trains nothing: every point gets the record of a real run under its own name."""

    def __init__(self, record: Any) -> None:
        self._record = record

    def __call__(self, specs: Sequence[RunSpec]) -> list[RunOutcome]:
        named = [self._record.model_copy(update={"spec": spec, "id": run_id(spec)}) for spec in specs]
        return [RunOutcome(record) for record in named]


def schedule_ms_per_point() -> dict:
    """800 points of a real size, local and on a Dask scheduler with two workers, into a store; the driver alone."""
    worker = Canned(runs.compute([spec_from_mapping(BASE)], progress="off", keep_weights=False)[0].record)
    sweep = sweep_from_mapping(SWEEP)
    spent = {}
    with tempfile.TemporaryDirectory() as place:
        spent["local"] = _spent(sweep, f"{place}/local.sqlite", worker, jobs=2)
        with _dask(Path(place)) as address:
            spent["dask"] = _spent(sweep, f"{place}/dask.sqlite", worker, cluster=address, wait_for_workers=300)
    return result(
        max(spent.values()),
        "ms of processor time",
        "lower",
        5.0,
        ("on local processes, ms", spent["local"]),
        local=spent["local"],
        dask=spent["dask"],
        points=len(sweep.expand()),
    )


def _spent(sweep: Any, store: str, worker: Any, **options: Any) -> float:
    start = time.process_time()
    frame = run_sweep(sweep, store, worker=worker, progress="off", **options).frame
    spent = time.process_time() - start
    if set(frame.status) != {"finished"}:
        raise RuntimeError(f"not every point finished: {frame.status.value_counts().to_dict()}")
    return spent * 1e3 / len(frame)


@contextmanager
def _dask(folder: Path) -> Iterator[str]:
    """Start a scheduler and two workers as processes of their own; yield the address."""
    file = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": Path(__file__).parent.parent}

    def start(program: str, *words: str) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, "-m", f"distributed.cli.dask_{program}", *words], **quiet)

    started = [
        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    ]
    try:
        while not file.exists() or not file.read_text().endswith("}"):
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        started.append(start("worker", address, "--nthreads", "1", "--nworkers", "2", "--no-dashboard"))
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)
