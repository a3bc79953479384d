"""Results that a worker leaves as bundles on a shared filesystem instead of returning them."""

import time
from collections.abc import Sequence
from pathlib import Path

from firstlight import _interrupts as interrupts
from firstlight.records import BundledRun, FileError, RunSpec, read_bundle, run_id
from firstlight.records._bundle import bundle_name, bundles_named
from firstlight.runs import OVER
from firstlight.sweeps._folder import SweepFolder
from firstlight.sweeps._pool import Delivery
from firstlight.sweeps._task import train_bundle

VISIBLE_SECONDS = 60.0
"""Seconds after which a file that another machine wrote must be visible; NFS remembers a missing file for a while."""


def run_bundled(specs: Sequence[RunSpec], folder: str) -> list[Delivery]:
    """Train a batch with its checkpoints in the folder of the sweep, and leave bundles there."""
    shared = SweepFolder(folder)
    with shared.writing():
        left = shared.missing(specs)
        if left:
            train_bundle(shared, shared.plan(), left, specs)
    ids = [run_id(spec) for spec in specs]
    names = dict.fromkeys([bundle_name(ids), *ids])
    paths = [path for name in names for path in bundles_named(shared.bundles, name)]
    return [Delivery(tuple(ids), tuple(path.relative_to(shared.bundles).as_posix() for path in paths))]


def collect(folder: SweepFolder, delivery: Delivery) -> list[BundledRun]:
    """Return the runs of a delivery, each checked against its digest; wait for files that are not visible yet."""
    wanted, runs = set(delivery.ids), dict[str, BundledRun]()
    for path in delivery.paths:
        for run in _read(folder.bundles / path):
            known = runs.get(run.record.id)
            if run.record.id in wanted and (known is None or known.record.status not in OVER):
                runs[run.record.id] = run
    if len(runs) < len(wanted):
        raise FileError(
            f"a worker wrote {len(wanted)} runs into {folder.bundles}, but only {len(runs)} are there; the folder must "
            "be the same shared filesystem on every machine"
        )
    return [runs[id] for id in delivery.ids]


def _read(path: Path) -> tuple[BundledRun, ...]:
    deadline = time.monotonic() + VISIBLE_SECONDS
    while True:
        interrupts.check()
        try:
            return read_bundle(path)
        except FileError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.2)
