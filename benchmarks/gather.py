"""Gathering bundles of finished runs into a store: the time for ten thousand, and whether it grows in proportion."""

import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from benchmarks._timing import result
from firstlight import runs
from firstlight.records import Store, run_id, spec_from_mapping
from firstlight.records._bundle import BundledRun, bundle_paths, write_bundle
from firstlight.sweeps import gather

__all__ = ["gather_10k_seconds"]

COUNTS = (1_000, 10_000, 30_000)
SPEC = spec_from_mapping(
    {"task": {"group": "Z7"}, "model": {"width": 32}, "steps": 200, "recording": {"every": 10}},
)


def gather_10k_seconds() -> dict:
    """Write 1000, 10,000 and 30,000 bundles with the record of a real run, one file each, and gather each folder."""
    outcome = runs.compute([SPEC], progress="off", keep_weights=False)[0]
    seconds, processor, again = {}, {}, {}
    copy = 0.0
    with tempfile.TemporaryDirectory() as place:
        for count in COUNTS:
            folder = Path(place) / str(count)
            with patch("os.fsync"):  # the bundles need not survive a power cut, and flushing each takes minutes
                for seed in range(count):
                    spec = SPEC.model_copy(update={"seed": seed})
                    record = outcome.record.model_copy(update={"spec": spec, "id": run_id(spec)})
                    write_bundle(folder, [BundledRun(record, {})])
            seconds[count], processor[count] = _timed(folder, f"{place}/{count}.sqlite", count)
            again[count], _ = _timed(folder, f"{place}/{count}.sqlite", 0)
            if count == 10_000:
                start = time.perf_counter()
                for path in bundle_paths(folder):
                    path.read_bytes()
                copy = time.perf_counter() - start
    per_bundle = {count: processor[count] * 1e3 / count for count in COUNTS}
    return result(
        processor[10_000],
        "s of processor time",
        "lower",
        60.0,
        ("reading the 10,000 files alone, seconds", copy),
        **{f"seconds_{count}": seconds[count] for count in COUNTS},
        **{f"processor_ms_per_bundle_{count}": per_bundle[count] for count in COUNTS},
        **{f"seconds_again_{count}": again[count] for count in COUNTS},
        growth_of_cost_per_bundle=per_bundle[30_000] / per_bundle[1_000],
    )


def _timed(folder: Path, store: str, added: int) -> tuple[float, float]:
    wall, processor = time.perf_counter(), time.process_time()
    report = gather(folder, store)
    took = time.perf_counter() - wall, time.process_time() - processor
    if report.added != added or report.damaged or report.conflicts:
        raise RuntimeError(f"expected {added} new runs, got {report}")
    with Store(store) as opened:
        if len(opened.run_ids("finished")) < added:
            raise RuntimeError("a run is missing in the store")
    return took
