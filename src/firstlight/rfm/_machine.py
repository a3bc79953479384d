r"""Algorithm 1: fit a kernel machine, update the metric M from it, and fit again."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from firstlight import _interrupts as interrupts
from firstlight.rfm._solvers.centres import CentreSolver
from firstlight.rfm._solvers.exact import ExactSolver
from firstlight.rfm._solvers.kernels import Kernel
from firstlight.rfm._solvers.matrices import FeatureMatrices
from firstlight.rfm._solvers.solution import KernelSolution
from firstlight.rfm._solvers.threads import threads
from firstlight.rfm._updates import Normalize, Update, normalized, updated

Metric = Float[np.ndarray, "d d"]


Solver = ExactSolver | CentreSolver
"""The solvers that the iteration can use."""


@dataclass(frozen=True)
class Rule:
    """How M is updated: by which matrix, with which scaling and power; `centred` subtracts mean gradients from AGOP."""

    update: Update
    normalize: Normalize | None = "trace"
    power: float = 0.5
    centred: bool = False

    def next(self, M: Metric, matrices: FeatureMatrices, trace: float | None = None) -> Metric | None:
        """Return the next metric, or None if the machine is constant or numbers overflowed."""
        if not (np.isfinite(matrices.fact).all() and (matrices.agop is None or np.isfinite(matrices.agop).all())):
            return None
        metric = normalized(updated(self.update, M, matrices, self.power), self.normalize, trace)
        return metric if np.isfinite(metric).all() and np.trace(metric) > 0 else None


@dataclass(frozen=True)
class Iterate:
    """A machine of Algorithm 1.

    **Attributes:**

    - `iteration`: number of updates of M before this machine.
    - `M`: (d, d) metric.
    - `solution`: coefficients for this metric.
    - `matrices`: FACT and AGOP of this machine, from which the next metric is computed; None in the last machine.
    - `change`: norm of the difference to the previous metric, as a fraction of M's norm.
    """

    iteration: int
    M: Metric
    solution: KernelSolution
    matrices: FeatureMatrices | None = field(default=None, repr=False)
    change: float = float("nan")


@dataclass(frozen=True)
class Ridge:
    """Chooses the ridge for the metric loaded last, and solves with it.

    **Arguments:**

    - `solve`: takes the solver, the iteration, and whether it is the last; returns the solution.
    - `once`: whether each metric is solved only once, so that the solver may overwrite K.
    """

    solve: Callable[[Solver, int, bool], KernelSolution]
    once: bool = False


def fixed(ridge: float | Sequence[float], *, loo: bool = False) -> Ridge:
    """Return a `Ridge` with a fixed value for all iterations, or one value for each."""
    ridges = (ridge,) if isinstance(ridge, float | int) else ridge
    return Ridge(lambda solver, i, last: solver.solve(ridges[min(i, len(ridges) - 1)], loo=loo), once=True)


def iterate(
    solver: Solver,
    rule: Rule,
    iterations: int,
    ridge: Ridge,
    *,
    start: Iterate | None = None,
    agop: bool = True,
    tol: float = 0.0,
    final: Kernel | None = None,
    trace: float | None = None,
) -> Iterator[Iterate]:
    r"""Yield the machines of iterations 0 … T; iteration 0 has M = I and is plain kernel ridge regression.

    Each machine comes with its feature matrices, except the last. While it is current, the solver holds its metric and
    can predict. The sequence ends early if no next metric exists.

    **Arguments:**

    - `solver`: exact solver, or solver on centres.
    - `rule`: how M is updated.
    - `iterations`: T, the number of updates of M.
    - `ridge`: `fixed(…)`, or a `Ridge` that chooses.
    - `start`: an iterate with matrices from which to continue, instead of M = I.
    - `agop`: whether to compute AGOP even if the update does not need it.
    - `tol`: stop at a machine whose M differs from the previous metric by less than this fraction of its norm.
    - `final`: kernel of the last machine, if it is not the kernel that learns M.
    - `trace`: trace to which M is scaled by `normalize="trace"`; by default the number of columns.
    """
    wanted, iteration, change = agop or rule.update == "nfa", 0, float("nan")
    M = np.eye(solver.X.shape[1])
    if start is not None and start.matrices is not None:
        following = rule.next(start.M, start.matrices, trace)
        if following is None:
            return
        M, iteration, change = following, start.iteration + 1, _change(following, start.M)
    while iteration <= iterations:
        interrupts.check()
        last = iteration == iterations or change < tol
        if last and final is not None:
            solver.kernel = final
        with threads(*solver.X.shape):
            solver.load(M, once=ridge.once and not last)
            solution = ridge.solve(solver, iteration, last)
        if last:
            yield Iterate(iteration, M, solution, change=change)
            return
        # A metric that grows without bound overflows here. This ends the sequence and needs no warning.
        with threads(*solver.X.shape), np.errstate(over="ignore", invalid="ignore"):
            matrices = solver.matrices(solution, agop=wanted, centred=rule.centred)
            following = rule.next(M, matrices, trace)
        yield Iterate(iteration, M, solution, matrices, change)
        if following is None:
            return
        M, iteration, change = following, iteration + 1, _change(following, M)


def _change(M: Metric, before: Metric) -> float:
    # Scale first: squares of a metric that grows without bound overflow long before the metric does.
    size = np.abs(M).max()
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.linalg.norm((M - before) / size) / np.linalg.norm(M / size))


def recursive_feature_machine(
    X: Float[np.ndarray, "n d"],
    Y: Float[np.ndarray, "n c"],
    kernel: Kernel,
    rule: Rule,
    *,
    iterations: int,
    ridge: float,
    weights: Float[np.ndarray, " n"] | None = None,
    agop: bool = False,
) -> Iterator[tuple[Iterate, Callable[[np.ndarray], np.ndarray]]]:
    r"""Run Algorithm 1 of the paper: yield every iterate and its f, a function of rows.

    f is valid until the next iterate is requested.

    >>> from firstlight.rfm import Gaussian, Rule
    >>> X = np.random.default_rng(0).choice([-1.0, 1.0], (60, 6)) / 6**0.5
    >>> Y = (X[:, :1] * X[:, 1:2] > 0).astype(float)
    >>> run = recursive_feature_machine(X, Y, Gaussian(1.0), Rule("fact"), iterations=3, ridge=1e-3)
    >>> metrics = [iterate.M for iterate, f in run]
    >>> sorted(np.argsort(metrics[-1].diagonal())[-2:].tolist())
    [0, 1]
    """
    weights = np.ones(len(X), X.dtype) if weights is None else weights
    shift = X.mean(axis=0) if kernel.radial else np.zeros(X.shape[1], X.dtype)
    solver = ExactSolver(X - shift, Y, weights, kernel)
    for machine in iterate(solver, rule, iterations, fixed(ridge), agop=agop):
        solution = machine.solution
        yield machine, lambda Z, solution=solution: solver.predict(solution, Z - shift)
