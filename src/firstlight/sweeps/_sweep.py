"""Run a sweep: skip points that are done, store each new record at once, and return one table."""

import contextlib
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from firstlight import _interrupts as interrupts
from firstlight.records import PhaseRecord, RunRecord, RunSpec, Store, run_id
from firstlight.records._store import locate
from firstlight.runs import OVER, writing
from firstlight.sweeps._atlas import draw_all, outcome_of, value_of
from firstlight.sweeps._batches import cut
from firstlight.sweeps._cluster import ClusterError, ClusterPool
from firstlight.sweeps._control import Cancelled, Control
from firstlight.sweeps._delivery import run_bundled
from firstlight.sweeps._drive import drive
from firstlight.sweeps._estimate import SweepEstimate, check_sweep, estimate_sweep
from firstlight.sweeps._folder import SweepFolder
from firstlight.sweeps._ledger import Ledger
from firstlight.sweeps._local import LocalPool, default_jobs
from firstlight.sweeps._pool import Pool
from firstlight.sweeps._progress import ProgressOption
from firstlight.sweeps._spec import Sweep
from firstlight.sweeps._worker import Worker, run_points

Path = str | os.PathLike[str]


class SweepInterrupted(KeyboardInterrupt):
    """Raised by Ctrl-C during a sweep; all finished points are in the store."""

    word = "stopped"

    def __init__(self, done: int, total: int, stored: bool) -> None:
        again = "run it again with the same store to continue" if stored else "give it a store to be able to continue"
        super().__init__(f"sweep {self.word} with {done} of {total} points done; {again}")
        self.done, self.total = done, total


class SweepCancelled(SweepInterrupted):
    """Raised if another terminal cancelled a sweep; all finished points are in the store."""

    word = "cancelled"


@dataclass(frozen=True)
class SweepResult:
    """The points of a sweep in order, each with its record, or None if the point was not run."""

    sweep: Sweep
    specs: tuple[RunSpec, ...]
    records: tuple[RunRecord | None, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """One row per point: the fields that vary, the seed, the status and the numbers of the summary.

        `memorised_at` and `generalised_at` are steps, or NaN if the event did not happen. `final.<column>` is the last
        observed value. `<lens>.<name>` is a number of a lens. A point that was not run has status `missing`.
        """
        rows = [self._row(spec, record) for spec, record in zip(self.specs, self.records, strict=True)]
        frame = pd.DataFrame(rows)
        if len(frame):
            when = ["memorised_at", "generalised_at"]
            frame[when] = frame[when].astype(float)
        return frame

    def phases(self, x: str = "", y: str = "", **options: Any) -> list[PhaseRecord]:
        """Return phase diagrams over two fields, one for each combination of the others that vary; see `draw_phase`."""
        points = [(s, r and outcome_of(r)) for s, r in zip(self.specs, self.records, strict=True)]
        return draw_all(points, x, y, **{"title": self.sweep.name, **options})

    def __repr__(self) -> str:
        statuses = [record.status if record else "missing" for record in self.records]
        counts = ", ".join(f"{statuses.count(status)} {status}" for status in dict.fromkeys(statuses))
        return f"SweepResult({len(self.specs)} points: {counts})"

    def _row(self, spec: RunSpec, record: RunRecord | None) -> dict[str, Any]:
        row = {field: value_of(spec, field) for field in self.sweep.fields} | {"seed": spec.seed}
        if record is None:
            return row | {"status": "missing", "memorised_at": None, "generalised_at": None, "id": run_id(spec)}
        row |= {"status": record.status, "steps": record.steps, "seconds": record.seconds}
        row |= {"memorised_at": None, "generalised_at": None} | _numbers(record.summary)
        return row | {"message": record.message.partition("\n")[0], "id": record.id}


def run_sweep(
    sweep: Sweep,
    store: Store | Path | None = None,
    *,
    jobs: int | None = None,
    cluster: Any = None,
    bundles: Path | None = None,
    force: bool = False,
    keep_weights: bool = False,
    data: Path | None = None,
    progress: ProgressOption = "auto",
    worker: Worker | None = None,
    wait_for_workers: float | None = None,
    allow_large: bool = False,
    on_estimate: Callable[[SweepEstimate], None] | None = None,
    sample: bool | None = False,
) -> SweepResult:
    """Run every point of a sweep that is not done yet, on all cores or on a Dask cluster.

    Points that share shapes are compiled once per worker. A point that raises or kills its worker is recorded
    as failed, and the other points continue. Only this process writes the store, each point as soon as it ends.
    An interrupted or killed sweep therefore resumes when it is run again.

    **Arguments:**

    - `sweep`: the points to run.
    - `store`: an open store, the path of a store, or None to store nothing.
    - `jobs`: worker processes on this machine, by default one per core.
    - `cluster`: the address of a Dask scheduler, such as `tcp://10.0.0.1:8786`, or a Dask cluster object such as
      `dask_jobqueue.SLURMCluster`, instead of this machine.
    - `bundles`: a folder on a filesystem that all workers share. Workers leave their results there as bundles instead
      of returning them, with checkpoints, so that a batch whose worker dies continues elsewhere.
    - `force`: run points again that are done.
    - `keep_weights`: store final weights and snapshots; left out by default because of their size.
    - `data`: the folder of the arrays that specs name, as the workers see it.
    - `progress`: `"auto"` (a bar on a terminal), `"off"`, or a callback.
    - `worker`: function that runs a batch of specs and returns a `RunOutcome` for each; by default it trains.
    - `wait_for_workers`: seconds without any worker of the cluster after which the sweep gives up, by default 60.
    - `allow_large`: run points that do not fit into memory or on the disk. The workers of a cluster check their own
      memory.
    - `on_estimate`: callback that receives the `SweepEstimate` before the sweep starts; an exception ends it.
    - `sample`: whether the estimate is measured, see `estimate_sweep`.
    """
    specs = sweep.expand(data, allow_large=allow_large)
    options = {"data": data, "keep_weights": keep_weights, "allow_large": allow_large}
    folder = None if bundles is None else SweepFolder.create(bundles, sweep, 0, **options)
    if folder is not None:
        if force and folder.bundles.is_dir():
            raise ValueError(
                f"force trains every point again, but bundles are never replaced and {folder.path} has some; "
                "give a new folder"
            )
        folder.allow()
        worker = worker or functools.partial(run_bundled, folder=os.fspath(folder.path.resolve()))
    worker = worker or functools.partial(
        run_points,
        data=None if data is None else os.fspath(data),
        keep_weights=keep_weights,
        allow_large=allow_large or cluster is None,  # on this machine the whole sweep is checked here
    )
    with contextlib.nullcontext() if store is None else writing(store) as opened:
        ledger = Ledger(opened, specs, force, progress, folder)
        workers = None if cluster is not None else worker_count(jobs, len(ledger.left))
        cost = {"keep_weights": keep_weights, "data": data, "sample": sample, "store": opened}
        expected = estimate_sweep(ledger.left, len(specs), workers, **cost)
        _announce(expected, ledger.left, on_estimate, data, None if opened is None else opened.path, allow_large)
        control = Control(ledger.reporter, len(specs), sweep.name, folder)
        try:
            if ledger.left:
                with contextlib.closing(_pool(len(ledger.left), worker, jobs, cluster, wait_for_workers)) as pool:
                    _run(ledger, pool, control)
        except Cancelled:
            raise SweepCancelled(ledger.reporter.done, len(specs), opened is not None) from None
        except KeyboardInterrupt:
            raise SweepInterrupted(ledger.reporter.done, len(specs), opened is not None) from None
        finally:
            ledger.reporter.close()
    return SweepResult(sweep, tuple(specs), ledger.in_order())


def _run(ledger: Ledger, pool: Pool, control: Control) -> None:
    """Run what is left, and report how it ended."""
    state = "failed"
    try:
        drive(cut(ledger.left, pool.workers), pool, ledger.keep, control.tick)
        state = "done"
    except Cancelled:
        state = "cancelled"
        raise
    except KeyboardInterrupt:
        state = "interrupted"
        raise
    finally:
        with interrupts.deferred(), contextlib.suppress(ClusterError):
            control.close(pool, state)


def preview_sweep(
    sweep: Sweep,
    store: Path | None = None,
    *,
    jobs: int | None = None,
    cluster: Any = None,
    force: bool = False,
    keep_weights: bool = False,
    data: Path | None = None,
    allow_large: bool = False,
    on_estimate: Callable[[SweepEstimate], None] | None = None,
    sample: bool | None = False,
) -> SweepEstimate:
    """Return the estimate of `run_sweep` with these arguments, with the same checks, and write nothing.

    >>> preview_sweep(Sweep(seeds=3)).left
    3
    """
    specs = left = sweep.expand(data, allow_large=allow_large)
    is_there = store is not None and locate(store).exists()
    with Store(store) if store is not None and is_there else contextlib.nullcontext() as opened:
        if opened is not None and not force:
            left = [spec for spec in specs if opened.run_status(spec) not in OVER]
        workers = None if cluster is not None else worker_count(jobs, len(left))
        cost = {"keep_weights": keep_weights, "data": data, "sample": sample, "store": opened}
        expected = estimate_sweep(left, len(specs), workers, **cost)
    _announce(expected, left, on_estimate, data, store, allow_large)
    return expected


def _announce(
    expected: SweepEstimate,
    left: Sequence[RunSpec],
    on_estimate: Callable[[SweepEstimate], None] | None,
    data: Path | None,
    store: Path | None,
    allow_large: bool,
) -> None:
    if on_estimate is not None:
        on_estimate(expected)
    if not allow_large:
        check_sweep(expected, left, data, store)


def collect_sweep(sweep: Sweep, store: Store | Path, data: Path | None = None) -> SweepResult:
    """Read the records of a sweep from a store, also while the sweep is running."""
    with contextlib.nullcontext(store) if isinstance(store, Store) else Store(store) as opened:
        specs = sweep.expand(data)
        records = [opened.get_run(spec) if opened.run_status(spec) else None for spec in specs]
    return SweepResult(sweep, tuple(specs), tuple(records))


def _pool(points: int, worker: Worker, jobs: int | None, cluster: Any, wait_for_workers: float | None) -> Pool:
    if cluster is not None:
        return ClusterPool(cluster, worker, wait_for_workers)
    return LocalPool(worker_count(jobs, points), worker)


def worker_count(jobs: int | None, points: int) -> int:
    """Return the number of local worker processes: `jobs` or one per core, at most one per point."""
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}; leave it out for one per core")
    return max(min(jobs or default_jobs(), points), 1)


def _numbers(summary: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the scalars and words of a summary under dotted names, without lists and stories."""
    numbers: dict[str, Any] = {}
    for name, value in summary.items():
        if isinstance(value, Mapping):
            numbers |= _numbers(value, f"{prefix}{name}.")
        elif not isinstance(value, list) and name != "story":
            numbers[f"{prefix}{name}"] = value
    return numbers
