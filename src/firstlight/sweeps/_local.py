"""Worker processes on this machine.

Each worker is a loky executor (joblib's engine) with one process. The death of one process breaks a whole executor
and does not say which batch was running. With one process per executor, the batch is known.
"""

import math
import multiprocessing.resource_tracker
import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor, cpu_count
from joblib.externals.loky.backend import resource_tracker

from firstlight import _interrupts as interrupts
from firstlight.sweeps._batches import Batch, Waiting
from firstlight.sweeps._pool import Pool, Result, WorkerDied
from firstlight.sweeps._worker import Worker, environment


@dataclass
class _Seat:
    """A place for one worker process, empty until first used; `compiled` holds the keys of its programs."""

    executor: Any = None
    batch: Batch | None = None
    future: Future | None = None
    since: float = 0.0
    compiled: set[str] = field(default_factory=set)


def default_jobs() -> int:
    """Return the number of cores that this process may use."""
    return cpu_count()


class LocalPool(Pool):
    """Processes on this machine, started on first use and restarted when they die."""

    patience = 2  # a worker may also be killed because its neighbours used too much memory

    def __init__(self, jobs: int, worker: Worker) -> None:
        self._worker = worker
        self._seats = [_Seat() for _ in range(jobs)]
        self._next = self._seats[0]
        self._first_batch: dict[str, float] = {}
        self._per_point: dict[str, float] = {}

    @property
    def workers(self) -> int:
        return len(self._seats)

    @property
    def room(self) -> int:
        return len(self._free)

    @property
    def busy(self) -> int:
        return len(self._seats) - self.room

    def choose(self, waiting: Waiting) -> Batch | None:
        """Take the next batch: already compiled by a free worker, or by no worker, or worth compiling again."""
        for seat in self._seats:
            seat.compiled &= waiting.programs()  # so that a sweep with many programs is not slower per batch
        compiled = set().union(*(seat.compiled for seat in self._seats))
        for seat in self._free:
            key = next(iter(seat.compiled), None)
            if key is None:
                key = next((key for key in waiting.programs() if key not in compiled), None)
            if key is None:
                key = next((key for key in waiting.programs() if self._worthwhile(waiting, key)), None)
            if key is not None:
                self._next = seat
                return waiting.take(key)
        return None

    def start(self, batch: Batch) -> None:
        seat = self._next if self._next.batch is None else self._free[0]
        with interrupts.deferred():  # an interrupt in between would leave a worker that no seat holds
            try:
                future = self._submit(seat, batch)
            except BrokenProcessPool:
                # The worker died while idle, so no batch is to blame.
                self._dismiss(seat)
                future = self._submit(seat, batch)
            seat.batch, seat.future = batch, future
        seat.since = time.perf_counter()
        seat.compiled.add(batch.key)

    def ended(self, seconds: float) -> list[tuple[Batch, Result]]:
        wait([seat.future for seat in self._seats if seat.future], seconds, FIRST_COMPLETED)
        return [self._take(seat) for seat in self._seats if seat.future and seat.future.done()]

    def close(self) -> None:
        with interrupts.deferred():
            for seat in self._seats:
                self._dismiss(seat)

    def _hire(self) -> Any:
        """Return an executor whose process starts with its first batch."""
        # Start the trackers first: their start unblocks the signals that `children_ignore_ctrl_c` blocks.
        with _without_warnings_of_trackers():
            for tracker in (multiprocessing.resource_tracker, resource_tracker):
                tracker.ensure_running()
        threads = max(cpu_count() // len(self._seats), 1)
        # The initialiser is in a light module: a worker must follow its parent before the long imports begin.
        return ProcessPoolExecutor(
            max_workers=1, initializer=interrupts.follow, initargs=(os.getpid(),), env=environment(threads)
        )

    @property
    def _free(self) -> list[_Seat]:
        return [seat for seat in self._seats if seat.batch is None]

    def _submit(self, seat: _Seat, batch: Batch) -> Future:
        if seat.executor is None:
            seat.executor = self._hire()
        with interrupts.children_ignore_ctrl_c():
            return seat.executor.submit(self._worker, batch.specs)

    def _worthwhile(self, waiting: Waiting, key: str) -> bool:
        """Return whether a second worker helps: not if the first is done before the second has compiled."""
        return waiting.points(key) * self._per_point.get(key, math.inf) > self._first_batch.get(key, 0.0)

    def _take(self, seat: _Seat) -> tuple[Batch, Result]:
        batch, future = seat.batch, seat.future
        if batch is None or future is None:
            raise RuntimeError("a worker without a batch has no result")
        seat.batch = seat.future = None
        seconds = time.perf_counter() - seat.since
        self._first_batch.setdefault(batch.key, seconds)
        self._per_point[batch.key] = min(seconds / len(batch), self._per_point.get(batch.key, math.inf))
        error = future.exception()
        if isinstance(error, BrokenProcessPool):
            self._dismiss(seat)
            codes = re.search(r"\{(.*)\}", str(error))
            error = WorkerDied(f"the worker process died{f' ({codes[1]})' if codes else ''}")
        return batch, error or future.result()

    def _dismiss(self, seat: _Seat) -> None:
        if seat.executor is not None:
            seat.executor.shutdown(wait=True, kill_workers=True)
        seat.executor = None
        seat.compiled.clear()


@contextmanager
def _without_warnings_of_trackers() -> Iterator[None]:
    """Start resource trackers without warnings about files that a killed parent left behind."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [before, "ignore:resource_tracker"]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before
