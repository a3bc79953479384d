"""Workers of a Dask cluster, which may join, leave or be killed while a sweep runs.

Batches go through `Client.submit`, because joblib's Dask backend waits forever for a task that kills its workers.
"""

import contextlib
import gc
import logging
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import firstlight
from firstlight import _interrupts as interrupts
from firstlight.sweeps._batches import Batch
from firstlight.sweeps._pool import Pool, Result, WorkerDied
from firstlight.sweeps._worker import Worker

CONNECT_SECONDS = 10.0
"""Seconds to wait for the answer of a scheduler."""

WAIT_FOR_WORKERS = 60.0
"""Seconds without any worker after which a sweep gives up."""


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


class ClusterPool(Pool):
    """The workers of the scheduler at an address."""

    patience = 1  # the scheduler has already tried several workers before it reports a batch as failed

    def __init__(self, address: str, worker: Worker) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise ClusterError(
                "a cluster needs the package distributed; install it with `pip install 'firstlight[cluster]'`"
            ) from None
        _require_certificates(address)
        self._address, self._worker = address, worker
        self._running: dict[Any, Batch] = {}
        self._quiet = contextlib.ExitStack()
        self._quiet.enter_context(_quiet())
        try:
            self._client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            self._quiet.close()
            raise ClusterError(
                f"no Dask scheduler answers at {address} ({error}); start one with `dask scheduler` and "
                "workers with `dask worker ADDRESS`"
            ) from None
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
            return sum(threads.values())

    @property
    def room(self) -> int:
        # No more than one batch per thread: a batch that waits on a dying worker would be blamed too.
        return max(self.workers - len(self._running), 0)

    @property
    def busy(self) -> int:
        return len(self._running)

    def start(self, batch: Batch) -> None:
        key = f"firstlight-{uuid.uuid4()}"
        with self._reaching():
            self._running[self._client.submit(self._worker, batch.specs, key=key, pure=False)] = batch

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
        elif time.monotonic() - self._alive > WAIT_FOR_WORKERS:
            raise ClusterError(
                f"the scheduler at {self._address} has had no worker for {WAIT_FOR_WORKERS:.0f} seconds; "
                f"start one with `dask worker {self._address}` and run the sweep again to continue"
            )
