"""The code that runs inside a worker process."""

from collections.abc import Callable, Sequence
from typing import Any

from firstlight.records import RunSpec

Worker = Callable[[Sequence[RunSpec]], Any]
"""Runs a batch of points and returns a `RunOutcome` for each, in order."""


def environment(threads: int) -> dict[str, str]:
    """Return the environment variables of a worker: its share of the cores, no preallocated accelerator memory.

    XLA sizes its thread pool by `NPROC`. With two workers on two cores and hidden width 1024, one thread each
    takes 8 % less processor time than two.
    """
    names = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {**dict.fromkeys(names, str(threads)), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def run_points(
    specs: Sequence[RunSpec], data: str | None = None, keep_weights: bool = False, allow_large: bool = False
) -> list[Any]:
    """Train a batch of points, without progress output and without a store."""
    from firstlight import runs

    return runs.compute(specs, data=data, progress="off", keep_weights=keep_weights, allow_large=allow_large)
