"""Executors: where the runs of an adaptive search run. Each takes specs and yields their records, in any order."""

import functools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from firstlight import _interrupts as interrupts
from firstlight.records import RunRecord, RunSpec, read_bundle, run_id, sha256
from firstlight.records._bundle import bundle_paths
from firstlight.sweeps._batches import cut
from firstlight.sweeps._cluster import ClusterPool
from firstlight.sweeps._drive import outcomes
from firstlight.sweeps._folder import SweepFolder, entries_of
from firstlight.sweeps._local import LocalPool, default_jobs
from firstlight.sweeps._pool import Delivery, Pool
from firstlight.sweeps._slurm import SlurmError, SlurmOptions, job_states, submit, write_script
from firstlight.sweeps._worker import run_points

Submit = Callable[[SweepFolder, Path], str]
"""Submits a script and returns the id of the job."""


class PoolExecutor:
    """Runs specs on local processes or on a Dask cluster, and keeps the workers from round to round.

    Use it as a context manager; its workers keep what they have compiled until it is closed.

    **Arguments:**

    - `jobs`: worker processes on this machine, by default one per core.
    - `cluster`: the address of a Dask scheduler, or a Dask cluster object, instead of this machine.
    - `data`: the folder of the arrays that specs name, as the workers see it.
    - `allow_large`: run points that do not fit into memory.
    - `wait_for_workers`: seconds without any worker of the cluster after which to give up.

    >>> from firstlight.records import spec_from_mapping
    >>> spec = spec_from_mapping({"task": {"group": "Z5"}, "model": {"width": 8}, "steps": 5})
    >>> with PoolExecutor(jobs=1) as execute:
    ...     [record.status for record in execute([spec])]
    ['finished']
    """

    def __init__(
        self,
        *,
        jobs: int | None = None,
        cluster: Any = None,
        data: str | os.PathLike[str] | None = None,
        allow_large: bool = False,
        wait_for_workers: float | None = None,
    ) -> None:
        place = None if data is None else os.fspath(data)
        worker = functools.partial(run_points, data=place, allow_large=allow_large)
        self._pool: Pool = (
            LocalPool(jobs or default_jobs(), worker)
            if cluster is None
            else ClusterPool(cluster, worker, wait_for_workers)
        )

    def __call__(self, specs: Sequence[RunSpec]) -> Iterator[RunRecord]:
        """Yield the record of each spec as soon as its batch has ended."""
        for outcome in outcomes(cut(specs, self._pool.workers), self._pool):
            if isinstance(outcome, Delivery):
                raise RuntimeError("the workers of this executor return their results")
            yield outcome.record

    def __enter__(self) -> "PoolExecutor":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.close()


class SlurmExecutor:
    """Runs each round of specs as an array job, and waits for its bundles.

    A driver that is stopped finds the same rounds again: they are named by their specs.

    **Arguments:**

    - `folder`: where the rounds are kept, on a filesystem that every node sees.
    - `options`: time limit, partition and other options of the jobs.
    - `tasks`: number of tasks of a round at most.
    - `data`: the folder of the arrays that specs name, as the tasks see it.
    - `poll`: seconds between two looks at the folder.
    - `attempts`: how often a round is submitted, if its job ends without all points.
    - `submit`, `states`: functions that submit a script and return the states of a job's tasks; Slurm's by default.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        options: SlurmOptions | None = None,
        *,
        tasks: int = 16,
        data: str | os.PathLike[str] | None = None,
        poll: float = 5.0,
        attempts: int = 3,
        submit: Submit = submit,
        states: Callable[[str], Sequence[str]] = job_states,
    ) -> None:
        self._folder, self._options, self._tasks, self._data = Path(folder), options or SlurmOptions(), tasks, data
        self._poll, self._attempts, self._submit, self._states = poll, attempts, submit, states

    def __call__(self, specs: Sequence[RunSpec]) -> Iterator[RunRecord]:
        """Yield the record of each spec as soon as its bundle is there."""
        ids = {run_id(spec) for spec in specs}
        folder = SweepFolder.create(self._folder / sha256(sorted(ids))[:16], specs, self._tasks, data=self._data)
        script = write_script(folder, self._options)
        seen: set[Path] = set()
        attempts, job = 0, folder.plan().job
        while True:
            interrupts.check()
            is_over = not job or not self._states(job)
            for record in _new_records(folder, ids, seen):
                ids.discard(record.id)
                yield record
            if not ids:
                return
            if is_over:
                if attempts and folder.cancelled():
                    raise SlurmError(
                        f"job {job} was cancelled from another terminal with {len(ids)} points left; the same call "
                        "goes on with them"
                    )
                if attempts == self._attempts:
                    raise SlurmError(
                        f"job {job} ended {attempts} times with {len(ids)} points left; see the logs in {folder.path}"
                    )
                attempts, job = attempts + 1, self._submit(folder, script)
            time.sleep(self._poll)


def _new_records(folder: SweepFolder, ids: set[str], seen: set[Path]) -> Iterator[RunRecord]:
    """Yield the wanted records of bundles that were not there before; a point that failed counts as ended."""
    for path in bundle_paths(folder.bundles) if folder.bundles.is_dir() else ():
        entries = entries_of(path) if path not in seen else ()
        if entries:
            seen.add(path)
        if any(entry.id in ids for entry in entries):
            yield from (run.record for run in read_bundle(path) if run.record.id in ids)
