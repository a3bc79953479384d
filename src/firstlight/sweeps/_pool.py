"""What the driver of a sweep asks of its workers, and what it is told when one dies."""

import abc
from collections import deque
from collections.abc import Sequence

from firstlight.runs import RunOutcome
from firstlight.sweeps._batches import Batch

Result = Sequence[RunOutcome] | BaseException


class WorkerDied(RuntimeError):
    """The process that ran a batch is gone: killed for its memory, crashed, or switched off."""


class Pool(abc.ABC):
    """Workers that take one batch at a time each."""

    patience: int
    """How many deaths of its worker a point may cause, running by itself, before it counts as failed."""

    @property
    @abc.abstractmethod
    def workers(self) -> int:
        """How many batches can run at a time."""

    @property
    @abc.abstractmethod
    def room(self) -> int:
        """How many more batches can start now."""

    @property
    @abc.abstractmethod
    def busy(self) -> int:
        """How many batches are running."""

    def choose(self, waiting: deque[Batch]) -> Batch | None:
        """Take the batch that should start next out of those waiting; None when it is better to wait."""
        return waiting.popleft()

    @abc.abstractmethod
    def start(self, batch: Batch) -> None:
        """Give a batch to a worker."""

    @abc.abstractmethod
    def ended(self, seconds: float) -> list[tuple[Batch, Result]]:
        """The batches that ended, waiting for the first of them at most so long."""

    @abc.abstractmethod
    def close(self) -> None:
        """Stop all workers that this pool started, whatever they are doing."""
