"""The records of the points that are done, in a store, in bundles, or only in memory."""

import contextlib
from collections.abc import Iterator, Sequence

from firstlight import _interrupts as interrupts
from firstlight.records import BundledRun, FileError, RunRecord, RunSpec, Store, read_bundle, run_id, write_bundle
from firstlight.records._bundle import bundle_paths
from firstlight.runs import OVER, RunOutcome, keep
from firstlight.sweeps._delivery import collect
from firstlight.sweeps._folder import SweepFolder
from firstlight.sweeps._gather import gather
from firstlight.sweeps._pool import Delivery
from firstlight.sweeps._progress import ProgressOption, SweepReporter


class Ledger:
    """What a sweep has done.

    **Arguments:**

    - `store`: where records go, or None.
    - `specs`: all points.
    - `force`: count no point as done.
    - `progress`: see `run_sweep`.
    - `folder`: where workers leave bundles, or None. Its bundles are gathered first.

    **Attributes:**

    - `left`: the points to run.
    - `reporter`: counts and shows the progress.
    """

    def __init__(
        self,
        store: Store | None,
        specs: Sequence[RunSpec],
        force: bool,
        progress: ProgressOption,
        folder: SweepFolder | None = None,
    ) -> None:
        self._store, self._folder = store, folder
        self._ids = [run_id(spec) for spec in specs]
        self._records = {} if force else self._known()
        self.left = [spec for id, spec in zip(self._ids, specs, strict=True) if id not in self._records]
        self.reporter = SweepReporter(progress, len(specs), len(specs) - len(self.left))

    def keep(self, result: RunOutcome | Delivery) -> None:
        """Store and report the outcome of a point, or of the points in bundles."""
        with interrupts.deferred():
            if isinstance(result, Delivery):
                if self._folder is None:
                    raise RuntimeError("a worker delivered bundles to a sweep without a folder")
                for run in collect(self._folder, result):
                    self._add(RunOutcome(run.record, {name: dict(arrays) for name, arrays in run.weights.items()}))
                return
            if self._folder is not None:  # the worker died before it could write a bundle
                with self._folder.writing():
                    write_bundle(self._folder.bundles, [BundledRun(result.record, result.weights)])
            self._add(result)

    def in_order(self) -> tuple[RunRecord | None, ...]:
        """Return the record of each point, or None if it has none."""
        return tuple(self._records.get(id) for id in self._ids)

    def _add(self, outcome: RunOutcome) -> None:
        record = outcome.record if self._store is None else keep(self._store, outcome)
        self._records[record.id] = record
        self.reporter.add(record)

    def _known(self) -> dict[str, RunRecord]:
        """Return the finished and diverged points of the store and of the bundles."""
        if self._store is None:
            wanted = set(self._ids)
            records = (run.record for run in self._bundled())
            return {record.id: record for record in records if record.id in wanted and record.status in OVER}
        if self._folder is not None and self._folder.bundles.is_dir():
            gather(self._folder.bundles, self._store)
        return {id: self._store.get_run(id) for id in self._ids if self._store.run_status(id) in OVER}

    def _bundled(self) -> Iterator[BundledRun]:
        if self._folder is None or not self._folder.bundles.is_dir():
            return
        for path in bundle_paths(self._folder.bundles):
            with contextlib.suppress(FileError):  # its points run again
                yield from read_bundle(path)
