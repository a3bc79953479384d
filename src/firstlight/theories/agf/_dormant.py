"""Utility phase: dormant neurons turn and grow independently until the first reaches norm one."""

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
"""The smallest norm at which utilities are evaluated; a smooth utility equals its leading order there to ten digits."""

_LARGEST = 2.0
"""The largest norm in trial steps of the solver: beyond norm one a neuron of degree above 2 diverges."""

_FAINT = 1e-15
"""Absolute tolerance of directions: for κ = 2 the next feature grows from its tiny component after a jump."""

ClimbStatus = Literal["jump", "stalled", "max_time", "max_steps"]


@dataclass(frozen=True)
class Climb:
    """The end of a utility phase.

    **Attributes:**

    - `status`: why the phase ended.
    - `time`: its duration.
    - `theta_bar`: directions θ̄ (K, P).
    - `S`: accumulated utilities (K,).
    - `neuron`: the neuron that jumped, or None.
    - `steps`: steps of the solver.
    """

    status: ClimbStatus
    time: float
    theta_bar: Float[np.ndarray, "K P"]
    S: Float[np.ndarray, " K"]
    neuron: int | None
    steps: int


def growth_and_turn(
    problem: Problem, theta_bar: Float[np.ndarray, "K P"], norm: Float[np.ndarray, " K"], residual: Any
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, "K P"]]:
    r"""Return the growth θ̄·∇U(θ)/‖θ‖^{κ−1} (K,) and the part of the gradient across θ̄ (K, P).

    For a homogeneous U the growth is κU(θ̄).
    """
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
    r"""Return the right side of the equations for (θ̄, S), flattened; the norm follows from S.

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
    """Follow the dormant neurons until the first of them has S_i = c_i/η.

    **Arguments:**

    - `problem`: gives the utility.
    - `theta_bar`: directions θ̄ (K, P).
    - `S`: accumulated utilities (K,).
    - `norm`: norms at S = 0 (K,).
    - `c`: thresholds (K,).
    - `dormant`: which neurons move (K,).
    - `residual`: the residual that the active neurons leave.
    - `eta`: the clock.
    - `slowest`: a gradient below this size counts as zero.
    - `max_time`, `max_steps`: limits of the phase.
    - `adaptive`: whether each neuron has its own rate (eq. 23).
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
    """Return the time and the state, within the last step, at which the gap closed."""
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
    """Check whether no dormant neuron grows or turns."""
    K = len(norm)
    speed = 1.0 if adaptive else np.minimum(norm_at(y[-K:], norm, kappa, eta), _LARGEST) ** (kappa - 2)
    turn = np.linalg.norm(f[:-K].reshape(K, -1), axis=1) / (eta * np.maximum(speed, np.finfo(float).tiny))
    # Two cases move although they look still: a direction near a saddle of the utility leaves it slowly, and a neuron
    # that has returned from norm one must first shrink.
    shrinking = (f[-K:] < -slowest) & (y[-K:] > 0)
    return bool(((turn <= 1e-6 * slowest) & (f[-K:] <= slowest) & ~shrinking)[dormant].all())
