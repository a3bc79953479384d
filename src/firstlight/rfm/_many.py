r"""Machines for more rows than an exact solver takes.

M comes from a sample of the rows. One machine on `n_centers` centres with this M is fitted to all rows, and exact
machines on the leaves of a tree correct what the centres miss. Every stage leaves a machine that can predict.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from firstlight._threads import one_blas_thread
from firstlight.rfm._machine import Iterate
from firstlight.rfm._progress import Progress, Verbose
from firstlight.rfm._solvers import memory
from firstlight.rfm._solvers.exact import predict
from firstlight.rfm._solvers.kernels import Kernel
from firstlight.rfm._solvers.leaves import Leaves, correct
from firstlight.rfm._solvers.normal import NormalEquations
from firstlight.rfm._solvers.solution import (
    InterruptedFitWarning,
    KernelSolution,
    NotPositiveDefinite,
    mean_squares,
)
from firstlight.rfm._solvers.threads import cores

LEARN_ROWS = 5000
"""Number of rows that learn M."""

VALID_ROWS = 5000
"""Largest number of rows that choose the ridge of the machine on centres."""

LEAF_ROWS = 2000
"""Largest number of rows of a leaf."""

TRIED_LEAVES = 8
"""Leaves that are tried before all others; if none of them helps, there are no leaves."""

RATIOS = tuple(10.0**k for k in range(-4, 3))
"""Ridges to try, relative to the ridge of the sample."""


@dataclass(frozen=True)
class Many:
    """A machine on centres with its corrections.

    **Arguments:**

    - `machine`: metric and coefficients.
    - `centres`: (m, d) centres.
    - `leaves`: the corrections, or None.
    - `kernel`: the kernel.
    """

    machine: Iterate
    centres: Float[np.ndarray, "m d"]
    leaves: Leaves | None
    kernel: Kernel


def cost(rows: int, columns: int, outputs: int, centres: int, itemsize: int) -> tuple[float, int]:
    """Return the expected seconds and bytes of a fit, by the measured speed of one small product.

    >>> seconds, room = cost(10**6, 20, 1, 3000, 4)
    >>> seconds > 1, 10**8 < room < 10**10
    (True, True)
    """
    A = np.ones((400, 400), np.float32 if itemsize == 4 else np.float64)
    times = []
    with one_blas_thread():
        for _ in range(5):
            start = time.perf_counter()
            np.matmul(A, A)
            times.append(time.perf_counter() - start)
    rate = 2 * len(A) ** 3 / min(times)
    work = 2.0 * rows * centres**2 + 3.0 * rows * LEAF_ROWS**2 + 40.0 * rows * centres * columns
    held = itemsize * (rows * (3 * columns + 4 * outputs) + cores() * (centres**2 + (1 << 22)))
    return work / (rate * cores()), int(held + 4 * 8 * centres**2 + 8 * rows * (columns + outputs))


def fit_many(
    Z: Float[np.ndarray, "n d"],
    Y: Float[np.ndarray, "n c"],
    weights: Float[np.ndarray, " n"],
    learned: Callable[[np.ndarray], Many],
    *,
    n_centers: int,
    ridge: float | None,
    seed: int,
    verbose: Verbose,
) -> Many:
    """Fit in stages; Ctrl-C after the first stage returns the best machine so far, with a warning.

    **Arguments:**

    - `Z`, `Y`, `weights`: scaled rows, targets, weights.
    - `learned`: fits an exact machine to some rows, which brings M, the kernel and a ridge.
    - `n_centers`: number of centres.
    - `ridge`: the ridge, or None to choose it by held-out rows.
    - `seed`: seed of the draws of rows.
    - `verbose`: whether to show progress.
    """
    rng, n = np.random.default_rng(seed), len(Z)
    m = min(n_centers, n)
    seconds, room = cost(n, Z.shape[1], Y.shape[1], m, Z.dtype.itemsize)
    if room > memory.available():
        raise ValueError(
            f"{n:,} rows and {m} centres need about {room / 2**30:.1f} GB, but {memory.available() / 2**30:.1f} GB are "
            "available; give a smaller n_centers, or fewer rows"
        )
    order = rng.permutation(n)
    best = learned(np.sort(order[: min(LEARN_ROWS, n)]))
    with Progress(verbose, "fitting all rows", 2 * n) as progress:
        progress.announce(
            f"{n:,} rows, {m} centres: about {_duration(seconds)} and {room / 2**30:.1f} GB; "
            "Ctrl-C returns the best machine so far"
        )
        try:
            best = _on_centres(best, Z, Y, weights, order, m, ridge, progress)
            best = _with_leaves(best, Z, Y, weights, progress)
        except _Interrupted as stop:
            best = stop.best
            _warn(progress)
        except KeyboardInterrupt:
            _warn(progress)
    return best


class _Interrupted(Exception):
    """Ctrl-C inside a stage that has a better machine than the stage before."""

    def __init__(self, best: Many) -> None:
        self.best = best


def _on_centres(best: Many, Z, Y, weights, order, m: int, ridge: float | None, progress: Progress) -> Many:
    """Return the machine on centres drawn from the rows, fitted to all rows."""
    centres = np.sort(order[-m:])
    valid = np.sort(order[: min(VALID_ROWS, len(Z) // 10)]) if ridge is None else order[:0]
    rest = np.ones(len(Z), bool)
    rest[valid] = False
    M = best.machine.M
    system = NormalEquations(np.ascontiguousarray(Z[centres]), best.kernel, M, Y.shape[1])
    system.add(Z[rest], Y[rest], weights[rest], progress.add)
    if ridge is None:
        ridge = choose_ridge(system, best.machine.solution.ridge, Z[valid], Y[valid], weights[valid])
        system.add(Z[valid], Y[valid], weights[valid], progress.add)
    beta = system.solve(ridge)
    solution = KernelSolution(beta, beta, ridge, None, system.condition(ridge), system.captured)
    return replace(best, machine=replace(best.machine, solution=solution), centres=system.C)


def choose_ridge(system: NormalEquations, start: float, Z, Y, weights) -> float:
    """Return the ridge of least error on held-out rows, within some powers of ten of `start`."""
    errors: dict[float, float] = {}
    for ratio in RATIOS:
        ridge = max(start, 1e-6 * system.size) * ratio
        try:
            beta = system.solve(ridge)
        except NotPositiveDefinite:
            continue
        predicted = predict(system.kernel, Z.astype(system.C.dtype, copy=False), system.C, system.M, beta)
        errors[ridge] = mean_squares(predicted, Y, weights)
    if not errors:
        raise NotPositiveDefinite("no ridge makes the system of the centres positive definite; give a larger ridge")
    return min(errors, key=lambda ridge: errors[ridge])


def _with_leaves(best: Many, Z, Y, weights, progress: Progress) -> Many:
    """Return the machine with corrections on leaves, if they help; radial kernels only."""
    if not best.kernel.radial or len(Z) < 2 * LEAF_ROWS:
        return best
    metric = best.machine.M.astype(Z.dtype)
    residuals = Y - predict(best.kernel, Z, best.centres, metric, best.machine.solution.beta)
    collected = None
    try:
        for latest in correct(Z, residuals, weights, best.machine.M, LEAF_ROWS, TRIED_LEAVES, progress.add):
            collected = latest
    except KeyboardInterrupt:
        raise _Interrupted(best if collected is None else replace(best, leaves=collected())) from None
    return best if collected is None else replace(best, leaves=collected())


def _warn(progress: Progress) -> None:
    warnings.warn(
        f"the fit was interrupted at {progress.done / progress.total:.0%}; the estimator holds the best machine so far",
        InterruptedFitWarning,
        stacklevel=11,
    )


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
