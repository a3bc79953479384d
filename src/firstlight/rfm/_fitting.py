"""From a scaled table to a fitted machine: choose update, iterations and ridge, then fit all rows."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from firstlight.rfm._machine import Iterate, Ridge, Rule, iterate
from firstlight.rfm._many import LEARN_ROWS, Many, fit_many
from firstlight.rfm._selection import (
    FINALISTS,
    Judged,
    Plan,
    Quality,
    Step,
    alignment,
    best_of,
    best_runs,
    choose,
    history,
    pooled,
    together,
    unique_steps,
)
from firstlight.rfm._solvers import memory
from firstlight.rfm._solvers.exact import ExactSolver
from firstlight.rfm._solvers.kernels import Kernel, in_range, median_bandwidth
from firstlight.rfm._solvers.leaves import Leaves
from firstlight.rfm._solvers.solution import InterruptedFitWarning, KernelSolution, NotPositiveDefinite
from firstlight.rfm._solvers.threads import threads
from firstlight.rfm._trial import Trial, agop_is_cheap
from firstlight.rfm._views import Name, View, view, views

SELECTION_ROWS = 1400
"""Number of rows that choose update, kernel, ridge and iteration in larger tables; the final fit uses all rows."""

HELD_ROWS = 2000
"""Largest number of held-out rows of a fold; more rows resolve no smaller differences between machines."""

SINGLE_ROWS = 750
"""Rows from which precision "auto" is single, which halves time and memory, if it resolves the problem."""

PATIENCE = 2
"""Stop a rule after this many iterations without improvement."""

FOLDS = 4
ENOUGH_ROWS = 500
"""Held-out rows that suffice to compare machines; large tables need fewer than `FOLDS` folds for this."""

LONG_ROWS = 5000
"""From this number of rows on, Ctrl-C during the last fit returns the machine of the selection instead."""

HOPELESS = 0.8
"""Other kernels are tried without updates only if the best update has at least this share of the plain error."""


@dataclass(frozen=True)
class Settings:
    """What to choose and how.

    `ridge` None means the ridge of least error. `kernels` replace the first kernel in the last machine if they have a
    smaller error. `follows` tells whether the bandwidths are multiples of the median distance between rows, so that
    they change with the columns used. `splits` are pairs of training and held-out rows that replace the folds of
    `early_stopping="folds"`.
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
    kernels: tuple[Kernel, ...] = ()
    follows: bool = False
    verbose: bool | Literal["auto"] = False
    splits: tuple[tuple[np.ndarray, np.ndarray], ...] | None = None

    @property
    def decided(self) -> bool:
        """Whether nothing is left to choose."""
        return (
            self.early_stopping is None and self.ridge is not None and len(self.rules) <= 1 and len(self.kernels) <= 1
        )


@dataclass(frozen=True)
class Fitted:
    """A machine f(x) = K_M(x, C)β with the history of its selection."""

    machine: Iterate
    centres: Float[np.ndarray, "m d"]
    rows: int
    history: list[dict[str, Any]]
    judged: Judged | None
    kernel: Kernel
    leaves: Leaves | None = None

    @property
    def dtype(self) -> np.dtype:
        """Precision of the fit."""
        return self.centres.dtype

    @property
    def resolution(self) -> float:
        """The condition number up to which the fit has correct digits; systems of centres are double in any case."""
        exact = len(self.centres) == self.rows
        return float(1 / np.finfo(self.dtype if exact else np.float64).eps)


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
    single = settings.precision == "single" or (settings.precision == "auto" and len(Z) >= SINGLE_ROWS and not outside)
    if not single:
        return _fit(Z, Y, weights, kernel, settings, quality)
    try:
        return _fit(Z.astype(np.float32), Y, weights, kernel, settings, quality, Z)
    except NotPositiveDefinite:
        if settings.precision == "single":
            raise
        return _fit(Z, Y, weights, kernel, settings, quality)


def _fit(Z, Y, weights, kernel: Kernel, settings: Settings, quality, double=None) -> Fitted:
    """Choose and fit in the precision of Z; `double` holds the same rows in double precision, to fall back on."""
    rng = np.random.default_rng(settings.seed)
    if settings.precision == "single":
        double = None
    if settings.decided:
        rule = settings.rules[0] if settings.rules else None
        plan = Plan(rule, (float(settings.ridge or 0.0),) * (1 + settings.iterations * bool(rule)))
        return _followed(plan, Z, double, Y, weights, kernel, settings, quality)
    table = Z, Y, weights
    splits = _splits(Z, Y, settings, rng)
    plan, best, steps, sample = _selected(table, splits, kernel, settings, quality)
    if double is not None and best.iterate.solution.condition == np.inf:
        return _fit(double, Y, weights, kernel, settings, quality)
    rows = history(steps, best)
    if len(splits[0][0]) == len(Z) <= settings.exact_rows and (double is None or _resolves(best.iterate, Z)):
        machine = _embedded(best.iterate, view(plan.columns, *table))
        return Fitted(machine, Z, len(Z), rows, best.judged, best.kernel or kernel)
    del steps
    try:
        final = _followed(plan, Z, double, Y, weights, kernel, settings)
    except KeyboardInterrupt:
        # A loop over short fits should stop instead.
        if len(Z) < LONG_ROWS:
            raise
        warnings.warn(
            "the fit was interrupted; the estimator holds the best machine so far, fitted to the "
            f"{len(splits[0][0]):,} of {len(Z):,} rows that chose it",
            InterruptedFitWarning,
            stacklevel=6,
        )
        return replace(sample(), history=rows)
    return replace(final, history=rows, judged=best.judged)


def _followed(plan: Plan, Z, double, Y, weights, kernel: Kernel, settings: Settings, quality=None) -> Fitted:
    """Run a plan on all rows, again in double precision if single precision does not resolve the last machine."""
    try:
        fitted = _follow(plan, Z, Y, weights, kernel, settings, quality)
        if double is None or fitted.machine.solution.condition <= fitted.resolution:
            return fitted
    except NotPositiveDefinite:
        if double is None:
            raise
    return _follow(plan, double, Y, weights, kernel, settings, quality)


def _resolves(machine: Iterate, Z: np.ndarray) -> bool:
    return bool(machine.solution.condition <= 1 / np.finfo(Z.dtype).eps)


def _selected(
    table, splits, kernel: Kernel, settings: Settings, quality
) -> tuple[Plan, Step, list[Step], Callable[[], Fitted]]:
    """Return the plan, its step, all steps, and a function that returns the chosen machine of the first fold.

    There is a race in the first fold; the finalists run in all folds, and then other kernels are tried.
    """
    last = settings.early_stopping is None
    patience = settings.iterations if last else PATIENCE
    options: dict[str, Any] = {"tol": settings.tol, "patience": patience, "n_jobs": settings.n_jobs}
    first = _trials(table, splits[0], kernel, settings, quality)
    raced = {
        name: trial.race(settings.rules, settings.iterations, finalists=None if last else FINALISTS, **options)
        for name, trial in first.items()
    }
    columns = best_of([choose(runs, last=last)[1] for runs in raced.values()]).columns
    trials, runs = [first[columns]], raced[columns]
    steps = [step for name, others in raced.items() if name != columns for step in unique_steps(others)]
    if len(splits) > 1:
        final = best_runs(runs)
        steps += [step for place, run in enumerate(runs) if place not in final for step in run[1:]]
        rules = [rule for place, rule in enumerate(settings.rules) if place in final]
        known = {(step.rule, step.iterate.iteration, 0): step.ridge for run in runs for step in run}
        others = [_trial(table, split, columns, kernel, settings, quality) for split in splits[1:]]
        trials += [replace(trial, known=known) for trial in others]
        others = [trial.race(rules, settings.iterations, finalists=None, **options) for trial in trials[1:]]
        runs = pooled([[runs[place] for place in final], *others], quality)
    plan, best = choose(runs, last=last)
    again = [best] if best.rule is None or best.quality[1] < HOPELESS * runs[0][0].quality[1] else [runs[0][0], best]
    refits = [step for machine in again for step in _refits(machine, trials, quality)]
    steps = [*unique_steps(runs), *steps, *refits]
    final = best_of([best, *refits])
    if final is not best:
        ridges = plan.ridges[:-1] if final.rule is not None else ()
        plan = Plan(final.rule, (*ridges, final.ridge), final.choice, columns)
    seen = trials[0].seen

    def sample() -> Fitted:
        machine = _embedded((final.peers or (final,))[0].iterate, seen)
        return Fitted(machine, table[0][splits[0][0]], len(table[0]), [], final.judged, final.kernel or kernel)

    return plan, final, steps, sample


def _refits(step: Step, trials: Sequence[Trial], quality) -> list[Step]:
    """Return the step with the other kernels, judged by all folds."""
    peers = step.peers or (step,)
    folds = [trials[0].refit(peers[0])]
    known = {(other.rule, other.iterate.iteration, other.choice): other.ridge for other in folds[0]}
    folds += [replace(trial, known=known).refit(peer) for trial, peer in zip(trials[1:], peers[1:], strict=True)]
    return [together(same, quality) for same in zip(*folds, strict=True)]


def _trials(table, split, kernel: Kernel, settings: Settings, quality) -> dict[Name, Trial]:
    names = views(*(part[split[0]] for part in table)) if settings.rules else ("all",)
    return {name: _trial(table, split, name, kernel, settings, quality) for name in names}


def _trial(table, split, name: Name, kernel: Kernel, settings: Settings, quality) -> Trial:
    train, held = (tuple(part[rows] for part in table) for rows in split)
    seen = view(name, *train)
    kernels = _seen_kernels(seen, (kernel, *settings.kernels[1:]), train, settings)
    inside: Any = (seen.apply(train[0]), *train[1:])
    outside: Any = (seen.apply(held[0]), *held[1:])
    return Trial(inside, outside, kernels, settings.ridge, quality, name, seen)


def _seen_kernels(seen: View, kernels: tuple[Kernel, ...], train, settings: Settings) -> tuple[Kernel, ...]:
    """Return the kernels with bandwidths for the distances in a view."""
    if seen.columns is None or not settings.follows:
        return kernels
    Z, _, weights = train
    radial = kernels[0].radial
    before, after = (median_bandwidth(rows, weights, radial) for rows in (Z, seen.apply(Z)))
    return tuple(replace(kernel, bandwidth=kernel.bandwidth * after / before) for kernel in kernels)


def _embedded(machine: Iterate, seen: View) -> Iterate:
    return replace(machine, M=seen.embed(machine.M, machine.iteration > 0))


def _follow(plan: Plan, Z, Y, weights, kernel: Kernel, settings: Settings, quality=None) -> Fitted:
    """Run a plan on all rows; with a `quality`, judge the last machine by leave-one-out."""
    if len(Z) > settings.exact_rows or not memory.fits(len(Z), Z.dtype):
        return _follow_many(plan, Z, Y, weights, kernel, settings, quality)
    seen = view(plan.columns, Z, Y, weights)
    kernels = _seen_kernels(seen, (kernel, *settings.kernels[1:]), (Z, Y, weights), settings)
    solver = ExactSolver(seen.apply(Z), Y, weights, kernels[0])
    loo = quality is not None and settings.loo

    def solve(solver: Any, iteration: int, last: bool) -> KernelSolution:
        # A condition number costs several solves, as much as the factor of 1000 rows.
        return solver.solve(plan.ridges[iteration], loo=loo and last, condition=last)

    # A chosen plan runs to its end; without a choice, `tol` may stop it.
    tol = settings.tol if settings.decided else 0.0
    rule, rows, machine = plan.rule or Rule("nfa"), [], None
    wanted = quality is not None and agop_is_cheap(len(Z), Z.shape[1], Y.shape[1])
    machines = iterate(
        solver,
        rule,
        plan.iterations,
        Ridge(solve, once=True),
        agop=wanted,
        tol=tol,
        final=kernels[plan.choice],
        trace=seen.trace,
    )
    for machine in machines:
        step = Step(plan.rule if machine.iteration else None, machine, (np.nan, np.nan), alignment(machine))
        rows.append(replace(step, kernel=solver.kernel, ridge=machine.solution.ridge).row(False))
    if machine is None:
        raise ValueError("Algorithm 1 made no machine; iterations must be at least 0")
    rows[-1]["chosen"] = True
    judged = None
    if quality is not None and machine.solution.loo is not None:
        judged = machine.solution.loo, solver.Y, solver.weights
        rows[-1]["score"], rows[-1]["error"] = quality(*judged)
    return Fitted(_embedded(machine, seen), Z, len(Z), rows, judged, solver.kernel)


def _follow_many(plan: Plan, Z, Y, weights, kernel: Kernel, settings: Settings, quality) -> Fitted:
    """Run a plan on a sample of the rows, and fit the last machine to all rows on centres and leaves."""
    small: list[Fitted] = []

    def learned(rows: np.ndarray) -> Many:
        within = replace(settings, exact_rows=len(rows))
        small.append(_follow(plan, Z[rows], Y[rows], weights[rows], kernel, within, quality))
        return Many(small[-1].machine, small[-1].centres, None, small[-1].kernel)

    most = min(LEARN_ROWS, settings.exact_rows)
    many = fit_many(
        Z,
        Y,
        weights,
        lambda rows: learned(rows[:: -(-len(rows) // most)]),
        n_centers=settings.n_centers,
        ridge=settings.ridge,
        seed=settings.seed,
        verbose=settings.verbose,
    )
    return replace(small[-1], machine=many.machine, centres=many.centres, rows=len(Z), leaves=many.leaves)


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
        return [(_thinned(train, rng), _thinned(held, rng, HELD_ROWS)) for train, held in settings.splits]
    if settings.early_stopping == "folds" and settings.rules and settings.iterations and rows >= 2 * FOLDS:
        fold = systematic_folds(Z, Y, FOLDS)
        needed = min(FOLDS, -(-ENOUGH_ROWS * FOLDS // rows))
        return [
            (_thinned(np.flatnonzero(fold != k), rng), _thinned(np.flatnonzero(fold == k), rng, HELD_ROWS))
            for k in range(needed)
        ]
    return [(_thinned(train, rng), held)]


def _thinned(rows: np.ndarray, rng: np.random.Generator, most: int | None = None) -> np.ndarray:
    most = most or SELECTION_ROWS
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


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
