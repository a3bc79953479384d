"""Workers of a Dask cluster, which may join, leave or be killed while a sweep runs.

Batches go through `Client.submit`, because joblib's Dask backend waits forever for a task that kills its workers.
"""

import contextlib
import gc
import logging
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import firstlight
from firstlight import _interrupts as interrupts
from firstlight.sweeps._affinity import Affinity
from firstlight.sweeps._batches import Batch, Waiting
from firstlight.sweeps._pool import Pool, Result, WorkerDied
from firstlight.sweeps._worker import Worker

CONNECT_SECONDS = 10.0
"""Seconds to wait for the answer of a scheduler."""

WAIT_FOR_WORKERS = 60.0
"""Seconds without any worker after which a sweep gives up, by default."""

_WORKERS_PER_SUSPECT = 4
"""Workers of a cluster for each suspect batch that runs at the same time."""

_PROGRESS, _CANCEL = "firstlight-progress", "firstlight-cancel"
"""Names under which the scheduler keeps the progress of sweeps and requests to cancel them."""


def _version() -> str:
    import firstlight.runs

    return firstlight.__version__


_LOGGERS = ("distributed.client", "distributed.core", "distributed.comm", "tornado.application", "asyncio")


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the tracebacks that Dask's client logs from its event loop; `ClusterError` reports the failure."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


class ClusterError(RuntimeError):
    """Raised if a cluster cannot be reached or has no workers."""


def _require_certificates(address: str) -> None:
    """Raise for a tls:// address without certificates, with which Dask's client would fail half open."""
    import dask.config
    from distributed.security import Security

    if not address.startswith("tls://") or dask.config.get("distributed.client.security-loader", None):
        return
    try:
        has_context = Security().get_connection_args("client").get("ssl_context") is not None
        problem = "" if has_context else "no certificate is configured"
    except OSError as error:
        problem = f"the certificates cannot be used: {error}"
    if problem:
        raise ClusterError(
            f"{address} needs TLS, but {problem}; set distributed.comm.tls.ca-file and "
            "distributed.comm.tls.client.cert and key in Dask's configuration, as docs/sweeps.md shows"
        )


def connect(cluster: Any) -> Any:
    """Return a client of the scheduler at an address, or of a Dask cluster object with its own certificates."""
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError(
            "a cluster needs the package distributed; install it with `pip install 'firstlight[cluster]'`"
        ) from None
    if isinstance(cluster, str):
        _require_certificates(cluster)
    try:
        return Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address_of(cluster)} ({error}); start one with `dask scheduler` and "
            "workers with `dask worker ADDRESS`"
        ) from None


def address_of(cluster: Any) -> str:
    """Return the address of a scheduler, given by its address or as a Dask cluster object."""
    return cluster if isinstance(cluster, str) else str(cluster.scheduler_address)


def cluster_progress(cluster: Any) -> dict[str, dict[str, Any]]:
    """Return the last report of each sweep that runs or ran on a cluster, by the id of the sweep."""
    with _quiet(), contextlib.closing(connect(cluster)) as client:
        return client.get_metadata([_PROGRESS], {})


def cancel_on_cluster(cluster: Any, sweep: str = "") -> list[str]:
    """Ask the drivers of the running sweeps on a cluster to stop; return the ids of these sweeps.

    **Arguments:**

    - `cluster`: the address of the scheduler, or a Dask cluster.
    - `sweep`: the first digits of the id of a sweep; all sweeps by default.
    """
    with _quiet(), contextlib.closing(connect(cluster)) as client:
        known = client.get_metadata([_PROGRESS], {})
        ids = [id for id, state in known.items() if state["state"] == "running" and id.startswith(sweep)]
        for id in ids:
            client.set_metadata([_CANCEL, id], True)
        return ids


class ClusterPool(Pool):
    """The workers of a Dask scheduler.

    **Arguments:**

    - `cluster`: the address of the scheduler, or a Dask cluster.
    - `worker`: runs a batch.
    - `wait_for_workers`: seconds without any worker after which the sweep gives up.
    """

    patience = 1  # the scheduler has already tried several workers before it reports a batch as failed

    def __init__(self, cluster: Any, worker: Worker, wait_for_workers: float | None = None) -> None:
        self._address, self._worker = address_of(cluster), worker
        self._wait = WAIT_FOR_WORKERS if wait_for_workers is None else wait_for_workers
        self._id = uuid.uuid4().hex[:12]
        self._running: dict[Any, Batch] = {}
        self._affinity = Affinity()
        self._next: str | None = None
        self._places: dict[Any, str] = {}
        self._threads: dict[str, int] = {}
        self._quiet = contextlib.ExitStack()
        self._quiet.enter_context(_quiet())
        try:
            self._client = connect(cluster)
        except BaseException:
            self._quiet.close()
            raise
        try:
            self._require_firstlight()
        except BaseException:
            self.close()
            raise
        self._alive = time.monotonic()

    @property
    def workers(self) -> int:
        with self._reaching():
            threads: Any = self._client.nthreads()  # a coroutine to the type checker, a dict here
            self._threads = dict(threads)
            return sum(self._threads.values())

    @property
    def room(self) -> int:
        # No more than one batch per thread: a batch that waits on a dying worker would be blamed too.
        return max(self.workers - len(self._running), 0)

    @property
    def suspects(self) -> int:
        # A worker with several threads would take the neighbours of a deadly batch with it.
        has_threads = any(count > 1 for count in self._threads.values())
        return 1 if has_threads else max(len(self._threads) // _WORKERS_PER_SUSPECT, 1)

    def choose(self, waiting: Waiting) -> Batch | None:
        """Take a batch for a worker that has compiled its program, if there is one."""
        self._affinity.retain(list(self._threads))
        busy = Counter(self._places.values())
        free = [worker for worker, count in self._threads.items() if busy[worker] < count]
        if not free:  # batches of a dead worker run elsewhere
            return waiting.take()
        self._next, batch = self._affinity.choose(waiting, free)
        return batch

    @property
    def busy(self) -> int:
        return len(self._running)

    def start(self, batch: Batch) -> None:
        key = f"firstlight-{uuid.uuid4()}"
        place, self._next = self._next, None
        # The batch is not bound to the worker: the scheduler would wait forever for a worker that has died. As every
        # other thread is busy, it goes to the worker whose last batch has ended, which has compiled its program.
        with self._reaching():
            future = self._client.submit(self._worker, batch.specs, key=key, pure=False)
        self._running[future] = batch
        if place:
            self._places[future] = place

    def ended(self, seconds: float) -> list[tuple[Batch, Result]]:
        from distributed import wait

        self._require_workers()
        try:
            with self._reaching(), self._client.as_current():
                if self._running:
                    wait(list(self._running), timeout=seconds, return_when="FIRST_COMPLETED")
                else:
                    time.sleep(seconds)
        except TimeoutError:
            return []
        return [self._take(future) for future in list(self._running) if future.done()]

    def report(self, state: dict[str, Any]) -> bool:
        """Publish the progress on the scheduler; return whether a terminal has cancelled the sweep."""
        if self._client.status != "running":
            return False
        with self._reaching():
            self._client.set_metadata([_PROGRESS, self._id], state)
            return bool(self._client.get_metadata([_CANCEL, self._id], False))

    def close(self) -> None:
        # If the scheduler is lost there is nothing to cancel, and a request would only wait.
        with self._quiet, interrupts.deferred(), contextlib.suppress(OSError, CancelledError, TimeoutError):
            if self._client.status == "running":
                self._client.cancel(list(self._running), force=True)
            self._running.clear()
            self._client.close(timeout=5)
            gc.collect()  # futures that were never awaited are logged when they are collected

    def _take(self, future: Any) -> tuple[Batch, Result]:
        from distributed import KilledWorker

        batch = self._running.pop(future)
        self._places.pop(future, None)
        try:
            return batch, future.result()
        except KilledWorker as error:
            count = error.allowed_failures + 1
            return batch, WorkerDied(f"{count} worker{'s' * (count != 1)} of the cluster died")
        except CancelledError as error:
            raise self._lost(error) from error
        except Exception as error:
            return batch, error

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise
        except (OSError, CancelledError) as error:
            raise self._lost(error) from error

    def _lost(self, error: BaseException) -> ClusterError:
        return ClusterError(
            f"lost the scheduler at {self._address} ({type(error).__name__}); all finished points are recorded, "
            "run the sweep again to continue"
        )

    def _require_firstlight(self) -> None:
        with self._reaching():
            answers: Any = self._client.run(_version, on_error="return")
        for worker, answer in answers.items():
            # A worker that died before its answer does not show whether firstlight is installed.
            if isinstance(answer, BaseException) and not isinstance(answer, OSError):
                raise ClusterError(
                    f"worker {worker} cannot import firstlight ({answer}); install firstlight "
                    f"{firstlight.__version__} on every machine of the cluster"
                )

    def _require_workers(self) -> None:
        if self.workers:
            self._alive = time.monotonic()
        elif time.monotonic() - self._alive > self._wait:
            raise ClusterError(
                f"the scheduler at {self._address} has had no worker for {self._wait:.0f} seconds; "
                f"start one with `dask worker {self._address}` and run the sweep again to continue, "
                "or wait longer with --wait-for-workers SECONDS"
            )
