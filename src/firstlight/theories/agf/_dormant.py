"""Utility maximisation: dormant neurons turn and grow, each on its own, until the first reaches norm one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float
from scipy.integrate import DOP853, RK45
from scipy.optimize import root_scalar

from firstlight import _canonical as canonical
from firstlight.theories.agf._growth import norm_at
from firstlight.theories.agf._problem import Problem

_SMALLEST = 1e-5
"""Utilities are evaluated at no smaller norm: there a smooth one is its leading order to ten digits."""

_LARGEST = 2.0
"""Trial steps of the solver may overshoot norm one, where a neuron of degree above 2 runs away."""

_FAINT = 1e-15
"""How little of a direction is kept: for κ = 2 the next feature grows from what is left of it after a jump."""

ClimbStatus = Literal["jump", "stalled", "max_time", "max_steps"]


@dataclass(frozen=True)
class Climb:
    """How a utility phase ended: after `time`, with directions θ̄, accumulated S and, for a jump, the neuron."""

    status: ClimbStatus
    time: float
    theta_bar: Float[np.ndarray, "K P"]
    S: Float[np.ndarray, " K"]
    neuron: int | None
    steps: int


def growth_and_turn(
    problem: Problem, theta_bar: Float[np.ndarray, "K P"], norm: Float[np.ndarray, " K"], residual: Any
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, "K P"]]:
    r"""θ̄·∇U(θ)/‖θ‖^{κ−1} (K,), which is κU(θ̄) for a homogeneous U, and the part of the gradient across θ̄ (K, P)."""
    scale = np.clip(norm, _SMALLEST, _LARGEST)[:, None]
    slope = np.asarray(problem.utility(scale * theta_bar, residual)[1]) / scale ** (problem.kappa - 1)
    growth = np.einsum("kp,kp->k", theta_bar, slope)
    return growth, slope - growth[:, None] * theta_bar


def dynamics(
    problem: Problem,
    residual: Any,
    norm: Float[np.ndarray, " K"],
    dormant: Bool[np.ndarray, " K"],
    eta: float,
    adaptive: bool = False,
) -> Callable[[float, np.ndarray], np.ndarray]:
    r"""The right side of (θ̄, S)′, flattened, with the norm following from S.

    $$\dot{\bar\theta} = \eta\lVert\theta\rVert^{\kappa-2} P^\perp\nabla U(\bar\theta), \qquad
      \dot S = \kappa U(\bar\theta)$$

    (AGF, eq. 2.) With `adaptive`, η_i = ‖θ_i‖^{2−κ}η (eq. 23), and S stands for log ‖θ‖/η.
    """
    K, kappa = len(norm), problem.kappa
    moving = dormant[:, None]

    def right(t: float, y: np.ndarray) -> np.ndarray:
        theta_bar, S = y[:-K].reshape(K, -1), y[-K:]
        length = np.linalg.norm(theta_bar, axis=1, keepdims=True)
        theta_bar = theta_bar / length
        now = np.minimum(norm_at(S, norm, 2 if adaptive else kappa, eta), _LARGEST)
        growth, turn = growth_and_turn(problem, theta_bar, now, residual)
        speed = 1.0 if adaptive else now[:, None] ** (kappa - 2)
        return np.concatenate([np.where(moving, eta * speed * turn, 0.0).ravel(), np.where(dormant, growth, 0.0)])

    return right


def climb(
    problem: Problem,
    theta_bar: Float[np.ndarray, "K P"],
    S: Float[np.ndarray, " K"],
    norm: Float[np.ndarray, " K"],
    c: Float[np.ndarray, " K"],
    dormant: Bool[np.ndarray, " K"],
    residual: Any,
    *,
    eta: float,
    slowest: float,
    max_time: float = np.inf,
    max_steps: int = 20_000,
    adaptive: bool = False,
) -> Climb:
    """Follow the dormant neurons until S_i = c_i/η for the first of them.

    **Arguments:** θ̄ (K, P), S (K,), the norms (K,) at S = 0 and thresholds c (K,), which neurons are `dormant` (K,),
    the `residual` of the others; `slowest`, the size of gradient below which a neuron counts as standing still.
    """
    K = len(S)
    right = dynamics(problem, residual, norm, dormant, eta, adaptive)
    y = np.concatenate([theta_bar.ravel(), S])
    if problem.smooth:
        solver = DOP853(right, 0.0, y, max_time, rtol=1e-8, atol=_FAINT)
    else:
        # Directions slide along kinks, where the error of a step is its length times the jump of the gradient.
        solver = RK45(right, 0.0, y, max_time, rtol=1e-4, atol=1e-4)

    def ahead(S: np.ndarray) -> np.ndarray:
        return np.where(dormant, eta * S - c, -np.inf)

    status: ClimbStatus = "max_steps"
    neuron, steps = None, 0
    while steps < max_steps:
        if _stands_still(solver.f, solver.y, norm, dormant, problem.kappa, eta, slowest, adaptive):
            status = "stalled"
            break
        solver.step()
        steps += 1
        if (ahead(solver.y[-K:]) >= 0).any():
            status, neuron = "jump", 0
            break
        if solver.status != "running":
            status = "max_time"
            break
    time, y = solver.t, solver.y
    if neuron is not None:
        time, y = _landing(solver, lambda y: float(ahead(y[-K:]).max()))
        gaps = ahead(y[-K:])
        neuron = canonical.argmin(-gaps, size=float(c[gaps.argmax()]))
    directions = y[:-K].reshape(K, -1)
    directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return Climb(status, float(time), directions, y[-K:].copy(), neuron, steps)


def _landing(solver: Any, gap: Callable[[np.ndarray], float]) -> tuple[float, np.ndarray]:
    """When and where, within the last step, the gap closed."""
    between = solver.dense_output()
    start = solver.t_old if solver.t_old is not None else 0.0
    # A neuron that re-enters on the threshold has no earlier sign to bracket the root with.
    if gap(between(start)) >= 0:
        return start, between(start)
    time = root_scalar(lambda t: gap(between(t)), bracket=(start, solver.t), method="brentq").root
    return time, between(time)


def _stands_still(
    f: np.ndarray,
    y: np.ndarray,
    norm: np.ndarray,
    dormant: np.ndarray,
    kappa: float,
    eta: float,
    slowest: float,
    adaptive: bool,
) -> bool:
    """Whether no dormant neuron grows or turns."""
    K = len(norm)
    speed = 1.0 if adaptive else np.minimum(norm_at(y[-K:], norm, kappa, eta), _LARGEST) ** (kappa - 2)
    turn = np.linalg.norm(f[:-K].reshape(K, -1), axis=1) / (eta * np.maximum(speed, np.finfo(float).tiny))
    # A direction leaves a saddle of the utility from however little, and a neuron that has come back from norm one must
    # first shrink, so that neither is standing still.
    shrinking = (f[-K:] < -slowest) & (y[-K:] > 0)
    return bool(((turn <= 1e-6 * slowest) & (f[-K:] <= slowest) & ~shrinking)[dormant].all())
