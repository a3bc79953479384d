"""Choice of the update, the number of iterations and the ridge by held-out rows or leave-one-out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from firstlight.features import cosine
from firstlight.rfm._machine import Iterate, Ridge, Rule, Solver, iterate
from firstlight.rfm._solvers.exact import ExactSolver

Quality = tuple[float, float]
"""The score shown to the user (higher is better), and the squared error, which decides because it is finer."""

Judged = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Predictions for held-out rows (n, c), their targets (n, c) and their weights (n,)."""

Judge = Callable[[Solver, Iterate], Judged]
Grade = Callable[[np.ndarray, np.ndarray, np.ndarray], Quality]


@dataclass(frozen=True)
class Step:
    """A machine that was tried; `rule` is None for plain kernel ridge regression, iteration 0."""

    rule: Rule | None
    iterate: Iterate
    quality: Quality
    alignment: float
    judged: Judged | None = None

    def row(self, chosen: bool) -> dict[str, Any]:
        """Return the step as a row of `history_`."""
        solution = self.iterate.solution
        return {
            "update": self.rule.update if self.rule else None,
            "normalize": self.rule.normalize if self.rule else None,
            "iteration": self.iterate.iteration,
            "score": self.quality[0],
            "error": self.quality[1],
            "ridge": solution.ridge,
            "alignment": self.alignment,
            "change": self.iterate.change,
            "condition": solution.condition,
            "chosen": chosen,
        }


@dataclass(frozen=True)
class Plan:
    """The decision: the rule, and a ridge for each iteration 0 … T."""

    rule: Rule | None
    ridges: tuple[float, ...]

    @property
    def iterations(self) -> int:
        """T, the number of updates of M."""
        return len(self.ridges) - 1


def alignment(iterate: Iterate) -> float:
    """Return the cosine of √(FACT·FACTᵀ) and √AGOP, the two candidate metrics; NaN if one is unknown or zero."""
    matrices = iterate.matrices
    agop = None if matrices is None else matrices.agop
    if matrices is None or agop is None or not np.isfinite(agop).all() or not agop.any():
        return float("nan")
    return float(cosine(matrices.fact_root, matrices.agop_root))


def explore(
    make: Callable[[], ExactSolver],
    rules: Sequence[Rule],
    iterations: int,
    ridge: Ridge,
    judge: Judge,
    grade: Grade,
    *,
    agop: bool = True,
    tol: float = 0.0,
    patience: int,
    n_jobs: int | None = None,
) -> list[list[Step]]:
    """Run every rule and return its steps; all begin with the same plain machine.

    **Arguments:**

    - `make`: builds a solver; called once per rule if rules run in parallel.
    - `rules`: the updates to try.
    - `iterations`: maximal number of updates of M.
    - `ridge`: chooses the ridge of each machine.
    - `judge`: predicts held-out rows with a machine.
    - `grade`: turns these predictions into a score and an error.
    - `agop`: whether to compute AGOP even if no update needs it.
    - `tol`: stop when M changes by less than this fraction.
    - `patience`: stop a rule after this many iterations without improvement.
    - `n_jobs`: number of rules that run in parallel.
    """

    def pursue(solver: Solver, rule: Rule) -> Iterator[Step]:
        best, since = first.quality, 0
        for machine in iterate(solver, rule, iterations, ridge, start=first.iterate, agop=agop, tol=tol):
            step = _step(rule, machine, judge(solver, machine), grade)
            yield replace(step, iterate=replace(machine, matrices=None))
            since = 0 if _better(step.quality, best) else since + 1
            best = step.quality if since == 0 else best
            if since == patience:
                return

    solver = make()
    shared = agop or any(rule.update == "nfa" for rule in rules)
    plain = Rule("nfa", centred=any(rule.centred for rule in rules))
    zeroth = next(iterate(solver, plain, 1 if rules and iterations else 0, ridge, agop=shared))
    first = _step(None, zeroth, judge(solver, zeroth), grade)
    if not rules or not iterations:
        return [[first]]
    if len(rules) == 1 or n_jobs in (None, 1):
        return [[first, *pursue(solver, rule)] for rule in rules]
    from joblib import Parallel, delayed

    del solver
    runs = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(lambda rule: list(pursue(make(), rule)))(rule) for rule in rules
    )
    return [[first, *run] for run in runs]  # type: ignore[union-attr]


def _step(rule: Rule | None, machine: Iterate, judged: Judged, grade: Grade) -> Step:
    return Step(rule, machine, grade(*judged), alignment(machine), judged)


def pooled(folds: Sequence[Sequence[Sequence[Step]]], grade: Grade) -> list[list[Step]]:
    """Grade the runs of the first fold by the held-out rows of all folds, up to the shortest run."""
    runs = []
    for same_rule in zip(*folds, strict=True):
        steps = []
        for same in zip(*same_rule, strict=False):
            predicted, Y, weights = (
                np.concatenate(parts) for parts in zip(*(step.judged or () for step in same), strict=True)
            )
            judged = predicted, Y, weights
            steps.append(replace(same[0], quality=grade(*judged), judged=judged))
        runs.append(steps)
    return runs


def choose(runs: Sequence[Sequence[Step]], *, last: bool = False) -> tuple[Plan, Step]:
    """Return the best step, or with `last` the best among the last steps; the earlier step wins a tie."""
    candidates = [(run, len(run) - 1) for run in runs] if last else [(r, i) for r in runs for i in range(len(r))]
    run, place = candidates[0]
    for other, position in candidates[1:]:
        if _better(other[position].quality, run[place].quality):
            run, place = other, position
    ridges = tuple(step.iterate.solution.ridge for step in run[: place + 1])
    return Plan(run[place].rule, ridges), run[place]


def history(runs: Sequence[Sequence[Step]], chosen: Step) -> list[dict[str, Any]]:
    """Return all steps as rows; the shared first step appears once."""
    steps = [runs[0][0], *(step for run in runs for step in run[1:])]
    return [step.row(step is chosen) for step in steps]


def _better(candidate: Quality, best: Quality) -> bool:
    # Rounding must not decide: the same table in another row order has to give the same fit.
    return candidate[1] < best[1] * (1 - 1e-9)
