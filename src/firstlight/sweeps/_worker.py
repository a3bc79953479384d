"""What happens inside a worker process."""

from collections.abc import Callable, Sequence
from typing import Any

from firstlight.records import RunSpec

Worker = Callable[[Sequence[RunSpec]], Any]
"""Runs a batch of points and returns an `RunOutcome` for each, in order."""


def environment(threads: int) -> dict[str, str]:
    """What is set before a worker starts: its share of the cores, and not all of an accelerator's memory.

    XLA sizes its pool of threads by `NPROC`; with two workers on two cores, one thread each takes 8 % less
    processor time than two, for a hidden width of 1024.
    """
    names = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {**dict.fromkeys(names, str(threads)), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def run_points(
    specs: Sequence[RunSpec], data: str | None = None, keep_weights: bool = False, allow_large: bool = False
) -> list[Any]:
    """Train a batch without telling anyone but the caller."""
    from firstlight import runs

    return runs.compute(specs, data=data, progress="off", keep_weights=keep_weights, allow_large=allow_large)
