r"""Algorithm 1: fit a kernel machine, let the metric M follow from it, and fit again."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from firstlight import _interrupts as interrupts
from firstlight.rfm._solvers.centres import CentreSolver
from firstlight.rfm._solvers.exact import ExactSolver
from firstlight.rfm._solvers.kernels import Kernel
from firstlight.rfm._solvers.matrices import FeatureMatrices
from firstlight.rfm._solvers.solution import Solution
from firstlight.rfm._solvers.threads import threads
from firstlight.rfm._updates import Normalize, Update, normalized, updated

Metric = Float[np.ndarray, "d d"]


Solver = ExactSolver | CentreSolver
"""What the iteration runs on."""


@dataclass(frozen=True)
class Rule:
    """How M is updated: by which matrix, to which power, scaled how; `centred` takes mean gradients off AGOP."""

    update: Update
    normalize: Normalize | None = "trace"
    power: float = 0.5
    centred: bool = False

    def next(self, M: Metric, found: FeatureMatrices) -> Metric | None:
        """The next metric, or None where there is none: the machine is constant, or the numbers left the range."""
        if not (np.isfinite(found.fact).all() and (found.agop is None or np.isfinite(found.agop).all())):
            return None
        metric = normalized(updated(self.update, M, found, self.power), self.normalize)
        return metric if np.isfinite(metric).all() and np.trace(metric) > 0 else None


@dataclass(frozen=True)
class Iterate:
    """One machine of Algorithm 1: its metric, its solution, and the matrices the next metric is made of.

    `change` is the norm of the difference to the metric before, as a share of M's norm.
    """

    iteration: int
    M: Metric
    solution: Solution
    found: FeatureMatrices | None = field(default=None, repr=False)
    change: float = float("nan")


@dataclass(frozen=True)
class Ridge:
    """Solves at the ridge that is right for the metric loaded last.

    **Arguments:**

    - `solve`: is given the solver, the iteration, and whether it is the last.
    - `once`: whether it solves each metric one time, so that K need not be kept.
    """

    solve: Callable[[Solver, int, bool], Solution]
    once: bool = False


def fixed(ridge: float | Sequence[float], *, loo: bool = False) -> Ridge:
    """The same ridge at all iterations, or one for each."""
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
) -> Iterator[Iterate]:
    r"""The machines of iterations 0 … T; iteration 0 has M = I and is plain kernel ridge regression.

    Each is handed out with the matrices computed from it, while the solver holds its metric, so that it can
    still predict; the last has none, and the sequence ends early where no next metric exists.

    **Arguments:**

    - `solver`: exact, or on centres.
    - `iterations`: T, the number of updates of M.
    - `ridge`: `fixed(…)`, or one that chooses.
    - `start`: an iterate with matrices to go on from, instead of M = I.
    - `agop`: whether AGOP is computed even where the update does not need it.
    - `tol`: the machine whose M differs from the one before by less than this share of its norm is the last.
    """
    wanted, iteration, change = agop or rule.update == "nfa", 0, float("nan")
    M = np.eye(solver.X.shape[1])
    if start is not None and start.found is not None:
        following = rule.next(start.M, start.found)
        if following is None:
            return
        M, iteration, change = following, start.iteration + 1, _change(following, start.M)
    while iteration <= iterations:
        interrupts.check()
        last = iteration == iterations or change < tol
        with threads(*solver.X.shape):
            solver.load(M, once=ridge.once and not last)
            solution = ridge.solve(solver, iteration, last)
        if last:
            yield Iterate(iteration, M, solution, change=change)
            return
        # A metric whose scale runs away overflows here; that ends the sequence, and is no reason for a warning.
        with threads(*solver.X.shape), np.errstate(over="ignore", invalid="ignore"):
            found = solver.matrices(solution, agop=wanted, centred=rule.centred)
            following = rule.next(M, found)
        yield Iterate(iteration, M, solution, found, change)
        if following is None:
            return
        M, iteration, change = following, iteration + 1, _change(following, M)


def _change(M: Metric, before: Metric) -> float:
    # Squares leave the range of numbers long before a metric whose scale runs away does.
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
    r"""Algorithm 1 as the paper has it: every iterate, with f as a function of rows, good until the next is asked for.

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
