"""Algorithm 1: alternate utility and cost phases, and record when the loss drops and to which level."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Float

from firstlight._threads import one_blas_thread
from firstlight.theories.agf._active import descend
from firstlight.theories.agf._dormant import Climb, climb, growth_and_turn
from firstlight.theories.agf._growth import norm_at, threshold
from firstlight.theories.agf._problem import Problem
from firstlight.theories.agf._staircase import Event, Staircase, StaircaseStatus

_PATIENCE = 3.0
"""A cost phase lasts at most this multiple of the time before it; AGF assumes that it is short."""

_SETTLE = 3.0
"""A cost phase lasts at least this multiple of the time in which the new neuron grows e-fold at norm one."""

Labels = Callable[[Float[np.ndarray, "K P"]], Any]


def predict(
    problem: Problem,
    theta: Float[np.ndarray, "K P"],
    *,
    eta: float | str = 1.0,
    groups: Labels | None = None,
    tie: float = 0.0,
    adaptive: bool = False,
    dormancy: float = 1e-3,
    constraint: Callable[[Any, Any], Any] | None = None,
    max_time: float = np.inf,
    max_jumps: int | None = None,
    learned: float = 1e-6,
    stall: float = 1e-6,
    tolerance: float = 1e-9,
    progress: float = 1e-6,
) -> Staircase:
    r"""Predict the staircase of the loss from an initialisation (AGF, Algorithm 1).

    Dormant neurons follow eq. 2 until the first has accumulated S_i = c_i/η (eq. 3); the active neurons then minimise
    the loss. The utility phase is solved adaptively and stops exactly at the jump; the cost phase runs to a gradient
    tolerance.

    **Arguments:**

    - `problem`: from `network`, `neurons`, `closed_form` or one of the solved cases.
    - `theta`: (K, P) initial neurons, such as `problem.initial(...)`; norms below 1 and above 0.
    - `eta`: the clock. With 1, time is that of gradient flow θ′ = −∇L. "accelerated" is the mean of the c_i, so that
      jumps stay of order one as α → 0. `Staircase.flow_times` has the times of the flow.
    - `groups`: labels of the directions (K, P) → (K,); all dormant neurons with the label of the first wake together.
    - `tie`: neurons whose S is within this share of its threshold wake together with the first.
    - `adaptive`: whether each neuron has its own rate η_i = ‖θ_i‖^{2−κ}η (eq. 23).
    - `dormancy`: an active neuron becomes dormant again, with S = c/η, if its norm falls below this value or below
      twice its initial norm.
    - `constraint`: (θ, active) ↦ θ applied after each cost phase, for signs or orthogonality.
    - `max_time`, `max_jumps`: limits of the prediction.
    - `learned`: stop when the loss is below this share of the first loss.
    - `stall`: growth and turning below this share of the first gradient count as zero.
    - `tolerance`: a cost phase ends at this share of its largest gradient.
    - `progress`: a cost phase ends once an e-fold of time gains less than this share of the first loss.

    >>> from firstlight.theories import agf
    >>> problem = agf.network(np.diag([2.0, 1.0]), np.diag([2.0, 1.0]), "linear")
    >>> steps = predict(problem, problem.initial(width=2, alpha=1e-6))
    >>> steps.levels.round(6)
    array([1.25, 0.25, 0.  ])
    """
    theta = _checked(problem, theta)
    _check_clock(eta)
    # Trial steps of the solvers may overflow and are then rejected; small products are faster on one thread.
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        jumps = 20 * len(theta) if max_jumps is None else max_jumps
        until = (float(max_time), jumps, learned, stall)
        options = _Options(groups, tie, dormancy, constraint, *until, tolerance, progress)
        return _alternate(problem, _State(problem, theta, eta, adaptive), options)


class _Options(NamedTuple):
    groups: Labels | None
    tie: float
    dormancy: float
    constraint: Callable[[Any, Any], Any] | None
    max_time: float
    max_jumps: int
    learned: float
    stall: float
    tolerance: float
    progress: float


def _alternate(problem: Problem, state: "_State", options: _Options) -> Staircase:
    level = float(problem.cost(state.theta)[0])
    events: list[Event] = []
    history = [state.theta.copy()]
    levels, time, slowest = [level], 0.0, None
    status: StaircaseStatus = "all active"
    while not state.active.all():
        if len(events) >= options.max_jumps:
            status = "max_jumps"
            break
        if level <= options.learned * levels[0]:
            status = "converged"
            break
        residual = problem.residual(state.theta)
        slowest = options.stall * state.steepest(residual) if slowest is None else slowest
        up = state.climb(residual, slowest, options.max_time - time)
        time += up.time
        if up.neuron is None:
            status = cast(StaircaseStatus, up.status)  # without a neuron the phase did not end by a jump
            break
        woken = state.wake(up.neuron, options.groups, options.tie)
        small = state.origin(options.dormancy)
        down = descend(
            problem,
            state.theta,
            state.active,
            tolerance=options.tolerance,
            progress=options.progress,
            dormancy=small,
            between=(_SETTLE * state.pace(up.neuron, residual), _PATIENCE * state.eta * time),
        )
        state.theta = down.theta if options.constraint is None else options.constraint(down.theta, state.active.copy())
        fallen = state.sleep(small)
        level = float(problem.cost(state.theta)[0])
        if up.time == 0.0 and level >= levels[-1] and set(woken) <= set(fallen):
            status = "cycling"
            break
        events.append(Event(time, woken, levels[-1], level, state.woken_directions, fallen))
        levels.append(level)
        history.append(state.theta.copy())
    return Staircase(tuple(events), np.array(levels), state.eta, problem.kappa, status, np.stack(history), problem.name)


class _State:
    """Directions, accumulated utilities and thresholds of all neurons, and which neurons are active."""

    def __init__(self, problem: Problem, theta: Float[np.ndarray, "K P"], eta: float | str, adaptive: bool) -> None:
        self.problem, self.adaptive = problem, adaptive
        self.kappa = 2.0 if adaptive else problem.kappa
        self.norm = np.linalg.norm(theta, axis=1)
        self.theta_bar = theta / self.norm[:, None]
        self.c = np.asarray(threshold(self.norm, self.kappa))
        self.eta = float(self.c.mean()) if isinstance(eta, str) else float(eta)
        self.S = np.zeros(len(theta))
        self.active = np.zeros(len(theta), bool)
        self.theta = np.zeros_like(theta)
        self.woken_directions = theta[:0]

    def steepest(self, residual: Any) -> float:
        """Return the largest gradient of the utility."""
        growth, turn = growth_and_turn(self.problem, self.theta_bar, self.norm, residual)
        return float(np.sqrt(growth**2 + (turn**2).sum(1)).max())

    def pace(self, neuron: int, residual: Any) -> float:
        """Return the time in which a neuron of norm one grows e-fold."""
        growth, _ = growth_and_turn(self.problem, self.theta_bar, np.ones(len(self.norm)), residual)
        return 1 / max(float(growth[neuron]), np.finfo(float).tiny) if growth[neuron] > 0 else 0.0

    def climb(self, residual: Any, slowest: float, max_time: float) -> Climb:
        """Run the utility phase, and store the directions and accumulated utilities at its end."""
        up = climb(
            self.problem,
            self.theta_bar,
            self.S,
            self.norm,
            self.c,
            ~self.active,
            residual,
            eta=self.eta,
            slowest=slowest,
            max_time=max_time,
            adaptive=self.adaptive,
        )
        self.theta_bar, self.S = up.theta_bar, up.S
        return up

    def wake(self, first: int, groups: Labels | None, tie: float) -> tuple[int, ...]:
        """Activate the first neuron and those that wake with it, at their present norms."""
        going = (np.arange(len(self.S)) == first) | (self.eta * self.S >= (1 - tie) * self.c)
        if groups is not None:
            labels = np.asarray(groups(self.theta_bar))
            if labels.shape != self.S.shape:
                raise ValueError(f"groups must give one label per neuron, {self.S.shape}, got shape {labels.shape}")
            going |= labels == labels[first]
        woken = np.flatnonzero(going & ~self.active)
        norms = np.minimum(norm_at(self.S[woken], self.norm[woken], self.kappa, self.eta), 1.0)
        self.active[woken] = True
        self.theta[woken] = np.reshape(norms, (-1, 1)) * self.theta_bar[woken]
        self.woken_directions = self.theta_bar[woken].copy()
        return tuple(woken.tolist())

    def origin(self, dormancy: float) -> Float[np.ndarray, " K"]:
        """Return the norm below which each neuron counts as back at the origin; flows conserve about its first norm."""
        return np.maximum(dormancy, np.minimum(2 * self.norm, 0.1))

    def sleep(self, dormancy: Float[np.ndarray, " K"]) -> tuple[int, ...]:
        """Make active neurons that returned to the origin dormant, with S = c/η and their last direction."""
        length = np.linalg.norm(self.theta, axis=1)
        fallen = self.active & (length < dormancy)
        staying = self.active & ~fallen
        self.theta_bar[staying] = self.theta[staying] / length[staying, None]
        self.S[fallen] = self.c[fallen] / self.eta * (1 - 1e-12)
        self.theta[fallen] = 0.0
        self.active &= ~fallen
        return tuple(np.flatnonzero(fallen).tolist())


def _check_clock(eta: float | str) -> None:
    if eta != "accelerated" and (isinstance(eta, str) or not (np.isfinite(eta) and eta > 0)):
        raise ValueError(
            f"eta, the clock, must be a finite number > 0 or 'accelerated', got {eta!r}; use 1 for the time of "
            "gradient flow"
        )


def _checked(problem: Problem, theta: Float[np.ndarray, "K P"]) -> Float[np.ndarray, "K P"]:
    theta = np.array(theta, float)
    P, K = problem.parameters, problem.width
    if theta.ndim != 2 or theta.shape[1] != P or len(theta) == 0 or (K is not None and len(theta) != K):
        raise ValueError(f"theta must have shape ({K or 'K'}, {P}), one row per neuron, got {theta.shape}")
    norm = np.linalg.norm(theta, axis=1)
    if not (np.isfinite(norm).all() and norm.min() > 0):
        raise ValueError(
            "every neuron must start at a finite norm > 0, got a norm of "
            f"{norm[~(np.isfinite(norm) & (norm > 0))][0]}; at the origin nothing grows, use alpha > 0"
        )
    if norm.max() >= 1:
        raise ValueError(
            f"every neuron must start with a norm below 1, so that it is dormant, got {norm.max():.3g}; AGF describes "
            "small initialisations, use a smaller alpha"
        )
    return theta
