"""The interface between a sweep and its workers, and the error for a worker that died."""

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from firstlight.runs import RunOutcome
from firstlight.sweeps._batches import Batch, Waiting


@dataclass(frozen=True)
class Delivery:
    """The points of a batch, whose records are in bundles.

    **Attributes:**

    - `ids`: the runs.
    - `paths`: their bundles, relative to the folder of the bundles.
    """

    ids: tuple[str, ...]
    paths: tuple[str, ...]


Result = Sequence[RunOutcome | Delivery] | BaseException


class WorkerDied(RuntimeError):
    """Raised if the process that ran a batch was killed for its memory, crashed or was switched off."""


class Pool(abc.ABC):
    """Workers, each of which runs one batch at a time."""

    patience: int
    """Number of workers that a point, running alone, may kill before the point counts as failed."""

    @property
    def suspects(self) -> int:
        """Number of suspect batches that may run together: more than one only if a death blames a single batch."""
        return 1

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

    def choose(self, waiting: Waiting) -> Batch | None:
        """Remove the batch that should start next from `waiting`; return None if it is better to wait."""
        return waiting.take()

    def report(self, state: dict[str, Any]) -> bool:
        """Publish the progress of the sweep, if others can see it; return whether one of them cancelled the sweep."""
        return False

    @abc.abstractmethod
    def start(self, batch: Batch) -> None:
        """Give a batch to a worker."""

    @abc.abstractmethod
    def ended(self, seconds: float) -> list[tuple[Batch, Result]]:
        """Return the batches that ended, after waiting at most `seconds` for the first."""

    @abc.abstractmethod
    def close(self) -> None:
        """Stop all workers that this pool started, even if they are busy."""
