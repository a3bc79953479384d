"""Merge bundles of a shared filesystem into a store, and write the runs of a store as bundles."""

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from firstlight import _interrupts as interrupts
from firstlight.records import BundledRun, FileError, RunRecord, Store, read_bundle, write_bundle
from firstlight.records._bundle import BundledEntry, bundle_paths, read_header
from firstlight.runs import OVER, writing

_AT_ONCE = 200
"""Bundles per transaction: an interruption loses at most this much work, and a commit costs little per bundle."""

GatherProgress = Callable[[int, int], None]
"""A callback that receives the number of bundles done and their total."""


@dataclass(frozen=True)
class GatherReport:
    """What `gather` found.

    **Attributes:**

    - `added`: number of runs that are new in the store.
    - `known`: number of runs that the store had already, with the same numbers. Weights that it lacked are added.
    - `conflicts`: a line per run whose numbers differ between two files, or between a file and the store; the store
      keeps what it had.
    - `damaged`: a line per file that cannot be read; it was left where it is.
    """

    added: int
    known: int
    conflicts: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = [f"{self.added} runs added", f"{self.known} known already"]
        words += [f"{len(self.conflicts)} in conflict"] if self.conflicts else []
        words += [f"{len(self.damaged)} files damaged"] if self.damaged else []
        return ", ".join(words)


def gather(
    folder: str | os.PathLike[str],
    store: Store | str | os.PathLike[str],
    *,
    wait: float = 0.0,
    progress: GatherProgress = lambda done, total: None,
) -> GatherReport:
    """Merge the bundles of a folder into a store; calling it again adds only what is new.

    Each run is checked against its digest. A finished run of the store is never replaced; if it has no weights and a
    bundle with the same numbers has, they are added. An interruption keeps all complete transactions, and the next call
    does the rest.

    **Arguments:**

    - `folder`: the bundle folder of a sweep.
    - `store`: an open store, or the path of one.
    - `wait`: seconds to wait for another process that writes the store.
    - `progress`: callback that receives the number of bundles done and their total.
    """
    paths = list(bundle_paths(folder))
    with writing(store, wait=wait) as opened:
        merge = _Merge(opened)
        for start in range(0, len(paths), _AT_ONCE):
            interrupts.check()
            with interrupts.deferred():
                merge.add(paths[start : start + _AT_ONCE])
            progress(min(start + _AT_ONCE, len(paths)), len(paths))
        return merge.report()


def scatter_bundles(
    store: Store | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    weights: bool = True,
    progress: GatherProgress = lambda done, total: None,
) -> int:
    """Write every finished or diverged run of a store as a bundle; return their number.

    **Arguments:**

    - `store`: an open store, or the path of one.
    - `folder`: where the bundles go.
    - `weights`: whether to include the weights.
    - `progress`: callback that receives the number of runs done and their total.
    """
    with contextlib.nullcontext(store) if isinstance(store, Store) else Store(store) as opened:
        ids = [id for id, (status, _) in opened.run_digests().items() if status in OVER]
        for done, id in enumerate(ids, start=1):
            interrupts.check()
            record = opened.get_run(id)
            arrays = {name: opened.weights(id, name) for name in record.weights} if weights else {}
            write_bundle(folder, [BundledRun(record.model_copy(update={"weights": {}}), arrays)])
            progress(done, len(ids))
    return len(ids)


class _Merge:
    """The state of a merge: what the store holds, and what was found so far."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known = store.run_digests()
        self._added = self._equal = 0
        self._conflicts: list[str] = []
        self._damaged: list[str] = []

    def add(self, paths: Sequence[Path]) -> None:
        """Merge some bundles in one transaction."""
        new: dict[str, BundledRun] = {}
        for path in paths:
            try:
                entries = read_header(path)
                runs = read_bundle(path) if any(self._is_news(entry) for entry in entries) else ()
            except FileError as error:
                self._damaged.append(str(error))
                continue
            by_id = {run.record.id: run for run in runs}
            for entry in entries:
                self._sort(entry, by_id.get(entry.id), path, new)
        self._store.put_runs((run.record, run.weights) for run in new.values())
        self._known |= {id: (run.record.status, run.record.digest) for id, run in new.items()}

    def report(self) -> GatherReport:
        return GatherReport(self._added, self._equal, tuple(self._conflicts), tuple(self._damaged))

    def _is_news(self, entry: BundledEntry) -> bool:
        status, digest = self._known.get(entry.id, (None, ""))
        return digest != entry.digest or status not in OVER

    def _sort(self, entry: BundledEntry, run: BundledRun | None, path: Path, new: dict[str, BundledRun]) -> None:
        """Decide what a run of a bundle is: new, known, or in conflict."""
        if run is None:
            self._equal += 1
            return
        earlier = new[entry.id].record if entry.id in new else self._stored(entry.id)
        if earlier is None or (earlier.status not in OVER and run.record.status in OVER):
            new[entry.id] = run
            self._added += 1
        elif _agree(earlier, run.record):
            self._equal += 1
            if run.weights and not earlier.weights:
                new[entry.id] = BundledRun(earlier.model_copy(update={"weights": run.record.weights}), run.weights)
        elif run.record.status not in OVER:
            self._equal += 1
        else:
            self._conflicts.append(
                f"run {entry.id[:12]} in {path} has other numbers ({entry.status}, {run.record.steps} steps) than the "
                f"one kept ({earlier.status}, {earlier.steps} steps)"
            )

    def _stored(self, id: str) -> RunRecord | None:
        return self._store.get_run(id) if id in self._known else None


def _agree(earlier: RunRecord, later: RunRecord) -> bool:
    """Return whether two records of a run have the same numbers; weights count only if both have them."""
    if not (earlier.weights and later.weights):
        earlier, later = (record.model_copy(update={"weights": {}}) for record in (earlier, later))
    return earlier.result_digest == later.result_digest
