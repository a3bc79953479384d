"""Choice of the update, the number of iterations, the kernel and the ridge by held-out rows or leave-one-out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from firstlight import _canonical as canonical
from firstlight.features import cosine
from firstlight.rfm._machine import Iterate, Ridge, Rule, Solver, iterate
from firstlight.rfm._solvers.kernels import Kernel
from firstlight.rfm._views import Name

Quality = tuple[float, float]
"""The score shown to the user (higher is better), and the squared error, which decides because it is finer."""

Judged = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Predictions for held-out rows (n, c), their targets (n, c) and their weights (n,)."""

Judge = Callable[[Solver, Iterate], Judged]
Grade = Callable[[np.ndarray, np.ndarray, np.ndarray], Quality]

TRIAL_ROUNDS = 2
"""Iterations that every rule may run before the worse rules are dropped."""

FINALISTS = 2
"""Number of rules that run on after the trial rounds, and in the other folds."""


@dataclass(frozen=True)
class Step:
    """A machine that was tried; `rule` is None for plain kernel ridge regression, iteration 0.

    `choice` is the place of its kernel among the candidates. `ridge` and `judged` are those of all folds; `peers` are
    the same machine in each fold.
    """

    rule: Rule | None
    iterate: Iterate
    quality: Quality
    alignment: float
    judged: Judged | None = None
    kernel: Kernel | None = None
    choice: int = 0
    columns: Name = "all"
    ridge: float = float("nan")
    peers: tuple["Step", ...] = ()

    def row(self, chosen: bool) -> dict[str, Any]:
        """Return the step as a row of `history_`."""
        return {
            "update": self.rule.update if self.rule else None,
            "normalize": self.rule.normalize if self.rule else None,
            "kernel": type(self.kernel).__name__.lower(),
            "bandwidth": float(self.kernel.bandwidth) if self.kernel else float("nan"),
            "columns": self.columns,
            "iteration": self.iterate.iteration,
            "score": self.quality[0],
            "error": self.quality[1],
            "judged": 0 if self.judged is None else len(self.judged[0]),
            "ridge": self.ridge,
            "alignment": self.alignment,
            "change": self.iterate.change,
            "condition": self.iterate.solution.condition,
            "chosen": chosen,
        }


@dataclass(frozen=True)
class Plan:
    """The decision: the rule, a ridge for each iteration 0 … T, the place of the last kernel, and the columns."""

    rule: Rule | None
    ridges: tuple[float, ...]
    choice: int = 0
    columns: Name = "all"

    @property
    def iterations(self) -> int:
        """T, the number of updates of M."""
        return len(self.ridges) - 1


@dataclass(frozen=True)
class Lane:
    """What one rule needs to run: a solver, a choice of the ridge, and a judge."""

    solver: Solver
    ridge: Ridge
    judge: Judge


def alignment(iterate: Iterate) -> float:
    """Return the cosine of √(FACT·FACTᵀ) and √AGOP, the two candidate metrics; NaN if one is unknown or zero."""
    matrices = iterate.matrices
    agop = None if matrices is None else matrices.agop
    if matrices is None or agop is None or not np.isfinite(agop).all() or not agop.any():
        return float("nan")
    return float(cosine(matrices.fact_root, matrices.agop_root))


def race(
    lane: Callable[[Lane | None, Rule | None, float | None], Lane],
    rules: Sequence[Rule],
    iterations: int,
    grade: Grade,
    *,
    agop: bool = True,
    tol: float = 0.0,
    patience: int,
    finalists: int | None = FINALISTS,
    n_jobs: int | None = None,
    trace: float | None = None,
) -> list[list[Step]]:
    """Run every rule, drop the worse rules early, and return the steps; all begin with the same plain machine.

    **Arguments:**

    - `lane`: returns a lane for a rule; it may share the solver of another and begin at a ridge.
    - `rules`: the updates to try.
    - `iterations`: maximal number of updates of M.
    - `grade`: turns predictions for held-out rows into a score and an error.
    - `agop`: whether to compute AGOP even if no update needs it.
    - `tol`: stop when M changes by less than this fraction.
    - `patience`: stop a rule after this many iterations without improvement.
    - `finalists`: number of rules that run on after `TRIAL_ROUNDS` iterations; None for all.
    - `n_jobs`: number of rules that run in parallel.
    - `trace`: see `iterate`.
    """
    own = lane(None, None, None)
    shared = agop or any(rule.update == "nfa" for rule in rules)
    plain = Rule("nfa", centred=any(rule.centred for rule in rules))
    zeroth = next(iterate(own.solver, plain, 1 if rules and iterations else 0, own.ridge, agop=shared))
    first = _step(None, zeroth, own, grade)
    if not rules or not iterations:
        return [[first]]
    parallel = len(rules) > 1 and n_jobs not in (None, 1)
    lanes = [lane(None if parallel else own, rule, first.ridge) for rule in rules]
    runners = [
        _Runner(rule, first, own_lane, iterations, grade, patience, agop, tol, trace)
        for rule, own_lane in zip(rules, lanes, strict=True)
    ]
    live = runners
    for iteration in range(1, iterations + 1):
        if parallel:
            from joblib import Parallel, delayed

            Parallel(n_jobs=n_jobs, prefer="threads")(delayed(runner.advance)() for runner in live)
        else:
            for runner in live:
                runner.advance()
        live = [runner for runner in live if not runner.finished]
        if iteration >= TRIAL_ROUNDS and finalists is not None:
            live = [live[place] for place in sorted(_best_first([runner.best for runner in live])[:finalists])]
    return [runner.steps for runner in runners]


class _Runner:
    """One rule on its way; `best` is its least error so far."""

    def __init__(self, rule, first: Step, lane: Lane, iterations, grade, patience, agop, tol, trace) -> None:
        self.rule, self.lane, self.grade, self.patience = rule, lane, grade, patience
        self.steps, self.best, self._since, self.finished = [first], first.quality[1], 0, False
        self._machines: Iterator[Iterate] = iterate(
            lane.solver, rule, iterations, lane.ridge, start=first.iterate, agop=agop, tol=tol, trace=trace
        )

    def advance(self) -> None:
        machine = next(self._machines, None)
        if machine is None:
            self.finished = True
            return
        step = _step(self.rule, machine, self.lane, self.grade)
        self.steps.append(replace(step, iterate=replace(machine, matrices=None)))
        improved = _better(step.quality[1], self.best)
        self._since = 0 if improved else self._since + 1
        self.best = step.quality[1] if improved else self.best
        self.finished = self._since == self.patience


def _step(rule: Rule | None, machine: Iterate, lane: Lane, grade: Grade) -> Step:
    judged = lane.judge(lane.solver, machine)
    ridge = machine.solution.ridge
    return Step(rule, machine, grade(*judged), alignment(machine), judged, lane.solver.kernel, ridge=ridge)


def best_runs(runs: Sequence[Sequence[Step]], count: int = FINALISTS) -> list[int]:
    """Return the places of the runs with the least errors, in their order."""
    return sorted(_best_first([min(step.quality[1] for step in run) for run in runs])[:count])


def pooled(folds: Sequence[Sequence[Sequence[Step]]], grade: Grade) -> list[list[Step]]:
    """Grade the runs of the first fold by the held-out rows of all folds, up to the shortest run."""
    return [[together(same, grade) for same in zip(*same_rule, strict=False)] for same_rule in zip(*folds, strict=True)]


def together(same: Sequence[Step], grade: Grade) -> Step:
    """Return the same machine of several folds as one step; its ridge is their geometric mean."""
    predicted, Y, weights = (np.concatenate(parts) for parts in zip(*(step.judged or () for step in same), strict=True))
    ridge = float(np.exp(np.mean([np.log(max(step.ridge, 1e-300)) for step in same]))) if same[0].ridge else 0.0
    judged = predicted, Y, weights
    return replace(same[0], quality=grade(*judged), judged=judged, ridge=ridge, peers=tuple(same))


def choose(runs: Sequence[Sequence[Step]], *, last: bool = False) -> tuple[Plan, Step]:
    """Return the best step, or with `last` the best among the last steps; the earlier step wins a tie."""
    candidates = [(run, len(run) - 1) for run in runs] if last else [(r, i) for r in runs for i in range(len(r))]
    run, place = candidates[0]
    for other, position in candidates[1:]:
        if _better(other[position].quality[1], run[place].quality[1]):
            run, place = other, position
    step = run[place]
    return Plan(step.rule, tuple(step.ridge for step in run[: place + 1]), step.choice, step.columns), step


def best_of(steps: Sequence[Step]) -> Step:
    """Return the step of least error; the earlier step wins a tie."""
    best = steps[0]
    for step in steps[1:]:
        best = step if _better(step.quality[1], best.quality[1]) else best
    return best


def history(steps: Sequence[Step], chosen: Step) -> list[dict[str, Any]]:
    """Return the steps as rows."""
    return [step.row(step is chosen) for step in steps]


def unique_steps(runs: Sequence[Sequence[Step]]) -> list[Step]:
    """Return all steps; the first step that runs share appears once."""
    return [runs[0][0], *(step for run in runs for step in run[1:])]


def _best_first(errors: Sequence[float]) -> list[int]:
    return canonical.descending(-np.nan_to_num(np.array(errors, float), nan=np.inf, posinf=1e300)).tolist()


def _better(candidate: float, best: float) -> bool:
    # Rounding must not decide: the same table in another row order has to give the same fit.
    return candidate < best * (1 - 1e-9)
