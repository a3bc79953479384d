"""A sweep against a script that starts one process per point."""

import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from benchmarks._timing import result
from firstlight.sweeps import sweep_from_mapping

__all__ = ["sweep200_vs_process_per_point"]

CORES, SAMPLE = 2, 6
SWEEP = {
    "base": {"model": {"width": 128}, "steps": 200, "optimizer": {"learning_rate": 0.01, "weight_decay": 0.001}},
    "grid": {
        "task.group": ["Z7", "Z11", "Z13", "Z17"],
        "task.split.fraction": [0.4, 0.5, 0.6, 0.7, 0.8],
    },
    "seeds": 10,
}

_POINT = """
import sys
from firstlight import runs
from firstlight.records import RunSpec
record = runs.run(RunSpec.model_validate_json(sys.argv[1]), progress="off")
assert record.status == "finished", record.message
"""
_ALL = """
import json, sys
from firstlight.sweeps import run_sweep, sweep_from_mapping
result = run_sweep(sweep_from_mapping(json.loads(sys.argv[1])), sys.argv[2], jobs=int(sys.argv[3]), progress="off")
assert set(result.frame.status) == {"finished"}, result
"""


def _process(*arguments: str) -> None:
    subprocess.run([sys.executable, "-c", *arguments], check=True)


def sweep200_vs_process_per_point() -> dict:
    """200 points (four groups, five fractions, ten seeds) on two cores, into a store, each side from a cold start."""
    specs = [spec.model_dump_json() for spec in sweep_from_mapping(SWEEP).expand()]
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        _process(_ALL, json.dumps(SWEEP), f"{folder}/runs.sqlite", str(CORES))
        together = time.perf_counter() - start
    sample = specs[:: len(specs) // SAMPLE][:SAMPLE]
    start = time.perf_counter()
    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(lambda spec: _process(_POINT, spec), sample))
    per_point = (time.perf_counter() - start) / len(sample)
    return result(
        per_point * len(specs) / together,
        "× faster",
        "higher",
        15.0,
        ("one process per point, two at a time, seconds (200 × the mean of a sample of 6)", per_point * len(specs)),
        sweep_seconds=together,
        seconds_per_process=per_point,
        points=len(specs),
        sampled=len(sample),
    )
