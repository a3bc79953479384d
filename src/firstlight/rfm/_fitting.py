"""From a scaled table to a fitted machine: choose update, iterations and ridge, then fit all rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from firstlight.rfm._machine import Iterate, Ridge, Rule, Solver, fixed, iterate
from firstlight.rfm._selection import Judged, Plan, Quality, Step, alignment, choose, explore, history, pooled
from firstlight.rfm._solvers import memory
from firstlight.rfm._solvers.centres import CentreSolver
from firstlight.rfm._solvers.exact import ExactSolver
from firstlight.rfm._solvers.kernels import Kernel, in_range
from firstlight.rfm._solvers.leave_one_out import best_ridge
from firstlight.rfm._solvers.solution import KernelSolution, NotPositiveDefinite
from firstlight.rfm._solvers.threads import threads

SELECTION_ROWS = 5000
"""Number of rows that choose update, ridge and iteration in larger tables; the final fit uses all rows."""

SINGLE_ROWS = 2000
"""Rows from which precision "auto" is single, which halves time and memory, if it resolves the problem."""

PATIENCE = 2
"""Stop a rule after this many iterations without improvement."""

FOLDS = 4
ENOUGH_ROWS = 500
"""Held-out rows that suffice to compare machines; large tables need fewer than `FOLDS` folds for this."""


@dataclass(frozen=True)
class Settings:
    """What to choose and how.

    `ridge` None means the ridge of least leave-one-out error. `splits` are pairs of training and held-out rows that
    replace the folds of `early_stopping="folds"`.
    """

    rules: tuple[Rule, ...]
    iterations: int
    tol: float
    ridge: float | None
    early_stopping: Literal["folds", "loo"] | float | None
    precision: Literal["auto", "single", "double"]
    exact_rows: int
    n_centers: int
    n_jobs: int | None
    seed: int
    loo: bool
    splits: tuple[tuple[np.ndarray, np.ndarray], ...] | None = None

    @property
    def decided(self) -> bool:
        """Whether nothing is left to choose."""
        return self.early_stopping is None and self.ridge is not None and len(self.rules) <= 1


@dataclass(frozen=True)
class Fitted:
    """A machine f(x) = K_M(x, C)β with the history of its selection."""

    machine: Iterate
    centres: Float[np.ndarray, "m d"]
    rows: int
    history: list[dict[str, Any]]
    judged: Judged | None

    @property
    def dtype(self) -> np.dtype:
        """Precision of the fit."""
        return self.centres.dtype


def fit(
    Z: Float[np.ndarray, "n d"],
    Y: Float[np.ndarray, "n c"],
    weights: Float[np.ndarray, " n"],
    kernel: Kernel,
    settings: Settings,
    quality: Callable[[np.ndarray, np.ndarray, np.ndarray], Quality],
) -> Fitted:
    """Choose and fit; with precision "auto", in the lowest precision that resolves the problem."""
    with threads(*Z.shape):
        return _resolved(Z, Y, weights, kernel, settings, quality)


def _resolved(Z, Y, weights, kernel: Kernel, settings: Settings, quality) -> Fitted:
    sizes = float(np.abs(Z).max()) or 1.0, float(kernel.bandwidth)
    outside = [size for size in sizes if not in_range(size, np.dtype(np.float32))]
    if settings.precision == "single" and outside:
        raise ValueError(
            f"X or the bandwidth, of size {outside[0]:.1e}, is out of the range of single precision; "
            "scale the columns of X, or give precision='double'"
        )
    if settings.precision == "single" or (settings.precision == "auto" and len(Z) >= SINGLE_ROWS and not outside):
        try:
            fitted = _fit(Z.astype(np.float32), Y, weights, kernel, settings, quality)
            if settings.precision == "single" or fitted.machine.solution.condition <= 1 / np.finfo(np.float32).eps:
                return fitted
        except NotPositiveDefinite:
            if settings.precision == "single":
                raise
    return _fit(Z, Y, weights, kernel, settings, quality)


def _fit(Z, Y, weights, kernel: Kernel, settings: Settings, quality) -> Fitted:
    rng = np.random.default_rng(settings.seed)
    if settings.decided:
        rule = settings.rules[0] if settings.rules else None
        plan = Plan(rule, (float(settings.ridge or 0.0),) * (1 + settings.iterations * bool(rule)))
        return _follow(plan, Z, Y, weights, kernel, settings, rng, quality)
    splits = _splits(Z, Y, settings, rng)
    folds = [_tried(Z, Y, weights, kernel, settings, quality, *split) for split in splits]
    runs = folds[0] if len(folds) == 1 else pooled(folds, quality)
    plan, best = choose(runs, last=settings.early_stopping is None)
    rows = history(runs, best)
    if len(splits[0][0]) == len(Z) <= settings.exact_rows:
        return Fitted(best.iterate, Z, len(Z), rows, best.judged)
    del runs, folds
    final = _follow(plan, Z, Y, weights, kernel, settings, rng)
    return Fitted(final.machine, final.centres, len(Z), rows, best.judged)


def _tried(Z, Y, weights, kernel: Kernel, settings: Settings, quality, train, held) -> list[list[Step]]:
    """Fit all machines to the rows `train`; judge them by the rows `held`, or by leave-one-out if there are none."""
    part = Z[train], Y[train], weights[train]

    def judged(solver: Any, machine: Iterate) -> Judged:
        if len(held):
            return solver.predict(machine.solution, Z[held]), Y[held], weights[held]
        return _left_out(machine.solution), solver.Y, solver.weights

    return explore(
        lambda: ExactSolver(*part, kernel),
        settings.rules,
        settings.iterations,
        _ridge(settings, loo=not len(held)),
        judged,
        quality,
        agop=_agop_is_cheap(len(train), Z.shape[1], Y.shape[1]),
        tol=settings.tol,
        patience=settings.iterations if settings.early_stopping is None else PATIENCE,
        n_jobs=settings.n_jobs,
    )


def _follow(plan: Plan, Z, Y, weights, kernel: Kernel, settings: Settings, rng, quality=None) -> Fitted:
    """Run a plan on all rows; with a `quality`, judge the last machine by leave-one-out."""
    solver = _solver(Z, Y, weights, kernel, settings, rng)
    loo = quality is not None and settings.loo

    searched = settings.ridge is None and len(Z) <= SELECTION_ROWS

    def solve(solver: Solver, iteration: int, last: bool) -> KernelSolution:
        if searched and isinstance(solver, ExactSolver):
            return best_ridge(solver, plan.ridges[iteration])
        return solver.solve(plan.ridges[iteration], loo=loo and last)

    ridge = Ridge(solve, once=not searched)
    # A chosen plan runs to its end; without a choice, `tol` may stop it.
    tol = settings.tol if settings.decided else 0.0
    rule, rows, machine = plan.rule or Rule("nfa"), [], None
    wanted = quality is not None and _agop_is_cheap(len(Z), Z.shape[1], Y.shape[1])
    for machine in iterate(solver, rule, plan.iterations, ridge, agop=wanted, tol=tol):
        step = Step(plan.rule if machine.iteration else None, machine, (np.nan, np.nan), alignment(machine))
        rows.append(step.row(False))
    if machine is None:
        raise ValueError("Algorithm 1 made no machine; iterations must be at least 0")
    rows[-1]["chosen"] = True
    judged = None
    if quality is not None and machine.solution.loo is not None:
        judged = machine.solution.loo, solver.Y, solver.weights
        rows[-1]["score"], rows[-1]["error"] = quality(*judged)
    return Fitted(machine, solver.C, len(Z), rows, judged)


def _solver(Z, Y, weights, kernel: Kernel, settings: Settings, rng: np.random.Generator) -> Solver:
    if len(Z) <= settings.exact_rows and memory.fits(len(Z), Z.dtype):
        return ExactSolver(Z, Y, weights, kernel)
    count = min(settings.n_centers, len(Z))
    return CentreSolver(Z, Y, weights, kernel, np.sort(rng.choice(len(Z), count, replace=False)))


def _splits(Z, Y, settings: Settings, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return pairs of training rows and held-out rows for the selection (none held out for leave-one-out)."""
    rows = len(Z)
    train, held = np.arange(rows), np.arange(0)
    if isinstance(settings.early_stopping, float) and rows > 1:
        order = rng.permutation(rows)
        count = min(max(1, round(settings.early_stopping * rows)), rows - 1)
        held, train = np.sort(order[:count]), np.sort(order[count:])
    # Without an update no metric has seen the held-out rows, so leave-one-out is unbiased and folds are not needed.
    if settings.early_stopping == "folds" and settings.splits:
        return [(_thinned(train, rng), held) for train, held in settings.splits]
    if settings.early_stopping == "folds" and settings.rules and settings.iterations and rows >= 2 * FOLDS:
        fold = systematic_folds(Z, Y, FOLDS)
        needed = min(FOLDS, -(-ENOUGH_ROWS * FOLDS // rows))
        return [(_thinned(np.flatnonzero(fold != k), rng), np.flatnonzero(fold == k)) for k in range(needed)]
    return [(_thinned(train, rng), held)]


def _thinned(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= SELECTION_ROWS else np.sort(rng.choice(rows, SELECTION_ROWS, replace=False))


def systematic_folds(Z: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "n c"], folds: int) -> np.ndarray:
    """Return the fold of each row: rows sorted by target, then columns, go to the folds in turn.

    Every fold gets its share of each class. Nothing is drawn at random, and the order of the table does not matter.

    >>> systematic_folds(np.arange(4.0)[:, None], np.array([[1.0], [0.0], [0.0], [1.0]]), 2).tolist()
    [0, 0, 1, 1]
    """
    # Means of equal targets differ in their last digits, which must not change the order.
    order = np.lexsort([*Z.T[::-1], *np.round(Y, 6).T[::-1]])
    fold = np.empty(len(Z), int)
    fold[order] = np.arange(len(Z)) % folds
    return fold


def _ridge(settings: Settings, *, loo: bool) -> Ridge:
    if settings.ridge is not None:
        return fixed(settings.ridge, loo=loo)
    before: dict[str, float] = {}

    def chosen(solver: Any, iteration: int, last: bool) -> KernelSolution:
        solution = best_ridge(solver, before.get("ridge"))
        before["ridge"] = solution.ridge
        return solution

    return Ridge(chosen)


def _left_out(solution: KernelSolution) -> np.ndarray:
    if solution.loo is None:
        raise ValueError("this machine has no leave-one-out predictions; solve it with loo=True")
    return solution.loo


def _agop_is_cheap(n: int, d: int, c: int) -> bool:
    """Return whether AGOP costs no more than the solve, so that it can be computed just for `alignment`."""
    return n <= 1000 or 6 * c * d <= n
