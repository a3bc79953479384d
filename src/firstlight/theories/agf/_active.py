"""Cost phase: the active neurons descend the loss together, and some may return to the origin."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.integrate import LSODA, RK45
from scipy.optimize import minimize

from firstlight.theories.agf._problem import Problem

_IMPLICIT = 1000
"""A smooth flow with at most this many parameters is solved implicitly, with Jacobians by differences."""

_STEPS = 5000
"""The most steps of an implicit flow; no cost phase has needed as many."""

_HANDOVER, _EXPLICIT_STEPS = 0.03, 100
"""An explicit flow hands over to L-BFGS at this share of its largest gradient, or after this many steps."""

_NEAR = 0.02
"""L-BFGS may move the end of the flow by this share of the parameters' norm; a minimum farther away is another one."""


@dataclass(frozen=True)
class Descent:
    """The end of a cost phase.

    **Attributes:**

    - `theta`: θ (K, P) at the end.
    - `level`: the loss there.
    - `gradient`: the largest entry of the gradient there.
    """

    theta: Float[np.ndarray, "K P"]
    level: float
    gradient: float


def descend(
    problem: Problem,
    theta: Float[np.ndarray, "K P"],
    active: Bool[np.ndarray, " K"],
    *,
    tolerance: float = 1e-9,
    progress: float = 1e-6,
    dormancy: Any = 0.0,
    between: tuple[float, float] = (0.0, 1e12),
) -> Descent:
    """Minimise the loss over the active rows of θ; the other rows count as zero.

    Gradient flow decides which minimum is reached: it passes saddles and keeps its conserved quantities. L-BFGS then
    refines that minimum. A flow along a valley without a minimum ends at its last point.

    **Arguments:**

    - `problem`: gives the loss and its gradient.
    - `theta`: (K, P), the start.
    - `active`: (K,), which rows move.
    - `tolerance`: L-BFGS stops at this share of the largest gradient that the flow met.
    - `progress`: the flow stops when another e-fold of time would gain less than this share of the loss at θ = 0.
    - `dormancy`: the norm, common or per neuron, below which a neuron stays at the origin.
    - `between`: the shortest and the longest time of the flow.
    """
    theta = np.where(active[:, None], theta, 0.0)
    small = np.broadcast_to(np.asarray(dormancy, float), len(theta))
    scale = progress * float(problem.cost(np.zeros_like(theta))[0])
    implicit = problem.smooth and int(active.sum()) * problem.parameters <= _IMPLICIT
    largest, time = np.finfo(float).tiny, 0.0
    for share in (1.0, 0.1):
        theta, time, met = _follow(problem, theta, time, share * scale, small, between, implicit)
        largest = max(largest, met)
        chosen = np.flatnonzero(np.abs(theta).max(1) > 0)
        cost, flat = _over(problem, theta, chosen), theta[chosen].ravel()
        level, slope = cost(flat)
        options = {"maxiter": 200, "maxcor": 30, "gtol": tolerance * largest, "ftol": 1e-13}
        best = minimize(cost, flat, jac=True, method="L-BFGS-B", options=options)
        # If much is left to gain, the flow has stopped at a saddle and must continue.
        if not implicit or time >= between[1] or level - best.fun <= 10 * scale:
            break
    if implicit and np.linalg.norm(best.x - flat) > _NEAR * np.linalg.norm(flat):
        return Descent(theta, level, float(np.abs(slope).max(initial=0.0)))
    end = np.zeros_like(theta)
    end[chosen] = best.x.reshape(len(chosen), -1)
    return Descent(end, float(best.fun), float(np.abs(best.jac).max(initial=0.0)))


def _over(problem: Problem, theta: np.ndarray, chosen: np.ndarray) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return the cost and its gradient as functions of the chosen rows, flattened."""
    whole = np.zeros_like(theta)

    def cost(flat: np.ndarray) -> tuple[float, np.ndarray]:
        whole[chosen] = flat.reshape(len(chosen), -1)
        value, slope = problem.cost(whole)
        return float(value), np.asarray(slope)[chosen].ravel()

    return cost


def _follow(
    problem: Problem,
    theta: np.ndarray,
    time: float,
    gain: float,
    small: np.ndarray,
    between: tuple[float, float],
    implicit: bool,
) -> tuple[np.ndarray, float, float]:
    """Follow gradient flow of the nonzero rows until |∇L|²·t ≤ gain; return θ, the time and the largest gradient."""
    largest = 0.0
    while True:
        chosen = np.flatnonzero(np.abs(theta).max(1) > 0)
        cost, shape = _over(problem, theta, chosen), (len(chosen), theta.shape[1])
        solver = _solver(problem, cost, theta[chosen], time, implicit)
        fallen = np.zeros(len(chosen), bool)
        for _ in range(_STEPS if implicit else _EXPLICIT_STEPS):
            solver.step()
            slope = cost(solver.y)[1] if implicit else solver.f
            now = float(np.abs(slope).max(initial=0.0))
            largest = max(largest, now)
            fallen = np.linalg.norm(solver.y.reshape(shape), axis=1) < small[chosen]
            if implicit:
                arrived = solver.t >= between[1] or (solver.t >= between[0] and float(slope @ slope) * solver.t <= gain)
            else:
                arrived = now <= _HANDOVER * largest
            if fallen.any() or arrived or solver.status != "running":
                break
        theta, time = np.zeros_like(theta), float(solver.t)
        theta[chosen[~fallen]] = solver.y.reshape(shape)[~fallen]
        if not fallen.any() or not theta.any():
            return theta, time, largest


def _solver(problem: Problem, cost: Callable[..., Any], start: np.ndarray, time: float, implicit: bool) -> Any:
    def right(t: float, y: np.ndarray) -> np.ndarray:
        return -cost(y)[1]

    if not implicit:
        return RK45(right, time, start.ravel(), np.inf, rtol=1e-3, atol=1e-6)
    hessian, n = problem.hessian, start.size
    jac = None if hessian is None else lambda t, y: -np.asarray(hessian(y.reshape(start.shape))).reshape(n, n)
    return LSODA(right, time, start.ravel(), 1e12, rtol=1e-3, atol=1e-5, jac=jac)
