"""Cost minimisation: the active neurons descend the loss together, and some may fall back to the origin."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.integrate import RK45
from scipy.optimize import minimize

from firstlight.theories.agf.problem import Problem

_HANDOVER = 0.03
"""The flow is followed until the gradient has fallen to this share of its largest value, then L-BFGS takes over."""


@dataclass(frozen=True)
class Descent:
    """Where a cost phase ended: θ (K, P), the loss there, and the largest entry of its gradient."""

    theta: Float[np.ndarray, "K P"]
    level: float | int
    gradient: float | int


def descend(
    problem: Problem,
    theta: Float[np.ndarray, "K P"],
    active: Bool[np.ndarray, " K"],
    *,
    tolerance: float | int = 1e-9,
    progress: float | int = 1e-7,
    max_steps: int = 100,
) -> Descent:
    """Minimise the loss over the active rows of θ from where they are; the others count as zero.

    Gradient flow decides which minimum is reached; L-BFGS finishes it, to a gradient of `tolerance` times the
    largest one met.
    """
    chosen = np.flatnonzero(active)
    whole = np.zeros_like(theta)

    def cost(flat: np.ndarray) -> tuple[float, np.ndarray]:
        whole[chosen] = flat.reshape(len(chosen), -1)
        value, slope = problem.cost(whole)
        return float(value), np.asarray(slope)[chosen].ravel()

    flat, largest = _follow(cost, theta[chosen].ravel(), max_steps)
    options = {"maxiter": 1000, "maxcor": 30, "gtol": tolerance * largest, "ftol": progress}
    best = minimize(cost, flat, jac=True, method="L-BFGS-B", options=options)
    end = np.zeros_like(theta)
    end[chosen] = best.x.reshape(len(chosen), -1)
    return Descent(end, float(best.fun), float(np.abs(best.jac).max(initial=0.0)))


def _follow(cost, flat: np.ndarray, max_steps: int) -> tuple[np.ndarray, float]:
    """The flow of `cost` until its gradient is small, and the largest gradient on the way."""
    solver = RK45(lambda t, y: -cost(y)[1], 0.0, flat, np.inf, rtol=1e-3, atol=1e-6)
    largest = float(np.abs(solver.f).max(initial=0.0))
    for _ in range(max_steps):
        solver.step()
        now = float(np.abs(solver.f).max(initial=0.0))
        largest = max(largest, now)
        if now <= _HANDOVER * largest or solver.status != "running":
            break
    return solver.y, max(largest, np.finfo(float).tiny)
