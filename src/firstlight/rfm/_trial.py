"""One split of the rows in one view: its machines, learned from the training rows and judged by the held-out rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from firstlight.rfm._machine import Iterate, Ridge, Rule, Solver, fixed
from firstlight.rfm._selection import Grade, Judged, Lane, Step, race
from firstlight.rfm._solvers.exact import ExactSolver
from firstlight.rfm._solvers.held_out import HeldOut, best_held_out_ridge
from firstlight.rfm._solvers.kernels import Kernel
from firstlight.rfm._solvers.leave_one_out import best_ridge
from firstlight.rfm._solvers.pairs import values
from firstlight.rfm._solvers.solution import KernelSolution, NotPositiveDefinite
from firstlight.rfm._solvers.threads import threads
from firstlight.rfm._views import Name, View

Part = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rows in the coordinates of the view (n, r), their targets (n, c) and their weights (n,)."""


@dataclass(frozen=True)
class Trial:
    """Training rows and held-out rows (none for leave-one-out) in one view.

    **Arguments:**

    - `train`, `held`: rows, targets and weights.
    - `kernels`: the first one learns M; the last machine may take another.
    - `ridge`: the ridge, or None to choose it by the error of the held-out rows.
    - `grade`: turns predictions into a score and an error.
    - `columns`: name of the view.
    - `seen`: the view.
    - `known`: ridges by rule, iteration and place of the kernel, found in the first fold; empty there.
    """

    train: Part
    held: Part
    kernels: tuple[Kernel, ...]
    ridge: float | None
    grade: Grade
    columns: Name = "all"
    seen: View = field(default_factory=lambda: View(0))
    known: dict[tuple[Rule | None, int, int], float] = field(default_factory=dict)

    def race(
        self, rules: Sequence[Rule], iterations: int, *, tol: float, patience: int, finalists: int | None, n_jobs: Any
    ) -> list[list[Step]]:
        """Run the rules with the first kernel."""
        (n, d), c = self.train[0].shape, self.train[1].shape[1]
        runs = race(
            self._lane,
            rules,
            iterations,
            self.grade,
            agop=agop_is_cheap(n, d, c),
            tol=tol,
            patience=patience,
            finalists=finalists,
            n_jobs=n_jobs,
            trace=self.seen.trace,
        )
        return [[replace(step, columns=self.columns) for step in run] for run in runs]

    def refit(self, step: Step) -> list[Step]:
        """Return the step with each of the other kernels in place of the first, at the same M."""
        if len(self.kernels) == 1:
            return []
        lane, steps = None, []
        for choice, kernel in enumerate(self.kernels[1:], 1):
            lane = self._lane(lane, step.rule, step.ridge if type(kernel) is type(step.kernel) else None)
            lane.solver.kernel = kernel
            with threads(*lane.solver.X.shape):
                lane.solver.load(step.iterate.M)
                solution = lane.ridge.solve(lane.solver, step.iterate.iteration, True)
            machine = replace(step.iterate, solution=solution, matrices=None)
            judged = lane.judge(lane.solver, machine)
            steps.append(
                replace(
                    step,
                    iterate=machine,
                    quality=self.grade(*judged),
                    judged=judged,
                    kernel=kernel,
                    choice=choice,
                    ridge=solution.ridge,
                    peers=(),
                )
            )
        return steps

    def _lane(self, other: Lane | None, rule: Rule | None, start: float | None = None) -> Lane:
        """Return a lane for a rule; `start` is the ridge of a similar machine."""
        solver: Solver = ExactSolver(*self.train, self.kernels[0]) if other is None else other.solver
        if not len(self.held[0]):
            return Lane(solver, self._left_out_ridge(), _left_out)
        # Held-out predictions of the last solution: the choice of the ridge has computed them already.
        last: dict[str, Any] = {"ridge": start}

        def solve(solver: Any, iteration: int, final: bool) -> KernelSolution:
            rows = self.held[0].astype(solver.X.dtype, copy=False)
            held = HeldOut(values(solver.kernel, rows, solver.C, solver.M), *self.held[1:])
            place = rule if iteration else None, iteration, self.kernels.index(solver.kernel)
            ridge = self.known.get(place, self.ridge)
            if ridge is not None:
                solution = _solved(solver, ridge)
            else:
                solution = best_held_out_ridge(solver, held, last.get("ridge"))
            last.update(ridge=solution.ridge, predicted=held.predict(solution))
            return solution

        return Lane(solver, Ridge(solve), lambda solver, machine: (last["predicted"], *self.held[1:]))

    def _left_out_ridge(self) -> Ridge:
        if self.ridge is not None:
            return fixed(self.ridge, loo=True)
        before: dict[str, float] = {}

        def solve(solver: Any, iteration: int, last: bool) -> KernelSolution:
            solution = best_ridge(solver, before.get("ridge"))
            before["ridge"] = solution.ridge
            return solution

        return Ridge(solve)


def _solved(solver: ExactSolver, ridge: float) -> KernelSolution:
    """Solve at a ridge, or at the next larger power of ten that single precision resolves."""
    while True:
        try:
            return solver.solve(ridge, condition=False)
        except NotPositiveDefinite:
            if ridge >= 100 * solver.size:
                raise
            ridge = max(10 * ridge, 1e-6 * solver.size)


def _left_out(solver: Solver, machine: Iterate) -> Judged:
    if machine.solution.loo is None:
        raise ValueError("this machine has no leave-one-out predictions; solve it with loo=True")
    return machine.solution.loo, solver.Y, solver.weights


def agop_is_cheap(n: int, d: int, c: int) -> bool:
    """Return whether AGOP costs no more than the solve, so that it can be computed just for `alignment`."""
    return n <= 400 or 6 * c * d <= n
