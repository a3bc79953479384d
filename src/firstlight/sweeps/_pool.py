"""The interface between a sweep and its workers, and the error for a worker that died."""

import abc
from collections import deque
from collections.abc import Sequence

from firstlight.runs import RunOutcome
from firstlight.sweeps._batches import Batch

Result = Sequence[RunOutcome] | BaseException


class WorkerDied(RuntimeError):
    """Raised if the process that ran a batch was killed for its memory, crashed or was switched off."""


class Pool(abc.ABC):
    """Workers, each of which runs one batch at a time."""

    patience: int
    """Number of workers that a point, running alone, may kill before the point counts as failed."""

    @property
    @abc.abstractmethod
    def workers(self) -> int:
        """Number of batches that can run at the same time."""

    @property
    @abc.abstractmethod
    def room(self) -> int:
        """Number of further batches that can start now."""

    @property
    @abc.abstractmethod
    def busy(self) -> int:
        """Number of batches that are running."""

    def choose(self, waiting: deque[Batch]) -> Batch | None:
        """Remove the batch that should start next from `waiting`; return None if it is better to wait."""
        return waiting.popleft()

    @abc.abstractmethod
    def start(self, batch: Batch) -> None:
        """Give a batch to a worker."""

    @abc.abstractmethod
    def ended(self, seconds: float) -> list[tuple[Batch, Result]]:
        """Return the batches that ended, after waiting at most `seconds` for the first."""

    @abc.abstractmethod
    def close(self) -> None:
        """Stop all workers that this pool started, even if they are busy."""
