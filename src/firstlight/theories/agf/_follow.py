"""Gradient flow in coordinates that stay accurate for arbitrarily small initialisations."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy.integrate import DOP853, LSODA, RK45

from firstlight._threads import one_blas_thread
from firstlight.flow import Flow
from firstlight.theories.agf._problem import Problem, check_times
from firstlight.theories.agf._stepping import Watch, step_through

_SOLVERS: dict[str, Any] = {"dop853": DOP853, "rk45": RK45, "lsoda": LSODA}


def follow(
    problem: Problem,
    theta: Float[np.ndarray, "K P"],
    times: Any,
    *,
    eta: float = 1.0,
    solver: Literal["dop853", "rk45", "lsoda"] | None = None,
    rtol: float | None = None,
    max_steps: int = 500_000,
    loss_below: float | None = None,
    watch: Watch | None = None,
) -> Flow:
    r"""Solve θ′ = −η∇L with each neuron as direction and log-norm, accurate at scales of 10⁻¹⁰⁰ too.

    $$\dot{\bar\theta}_i = -\eta\, P^\perp \nabla_i L / \lVert\theta_i\rVert, \qquad
      \frac{d}{dt}\log\lVert\theta_i\rVert = -\eta\, \bar\theta_i\cdot\nabla_i L / \lVert\theta_i\rVert$$

    **Arguments:**

    - `problem`: gives the loss and its gradient.
    - `theta`: (K, P), the start, without zero rows.
    - `times`: the last time (401 times are saved), or increasing times from 0.
    - `eta`: the clock, as in `predict`.
    - `solver`: "lsoda" for long stiff flows; by default it depends, like `rtol`, on whether the problem is smooth.
    - `rtol`: relative tolerance of the solver.
    - `max_steps`: the most steps of the solver.
    - `loss_below`: a loss at which to stop.
    - `watch`: called with each saved time and its loss while the flow is solved.

    >>> from firstlight.theories import agf
    >>> problem = agf.network(np.diag([2.0, 1.0]), np.diag([2.0, 1.0]), "linear")
    >>> run = follow(problem, problem.initial(width=2, alpha=1e-30), 200.0)
    >>> run.status, bool(run.loss.min() < 1e-9)
    ('finished', True)
    """
    theta = np.asarray(theta, float)
    norm = np.linalg.norm(theta, axis=-1)
    if theta.ndim != 2 or theta.shape[1] != problem.parameters or not (norm > 0).all() or theta.size == 0:
        raise ValueError(
            f"theta must be (K, {problem.parameters}) with no row zero, got shape {theta.shape}; use alpha > 0"
        )
    ts = check_times(times)
    solver = solver or ("dop853" if problem.smooth else "rk45")
    if solver not in _SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(_SOLVERS)}, got {solver!r}")
    rtol = rtol or (1e-7 if problem.smooth else 1e-4)
    right, unpack = _polar(problem, theta.shape, float(eta))
    start = np.concatenate([(theta / norm[:, None]).ravel(), np.log(norm)])
    done = None if loss_below is None and watch is None else _level(problem, unpack, loss_below, watch)
    options: dict[str, Any] = {"rtol": rtol, "atol": rtol * _absolute(problem)}
    if solver == "lsoda" and problem.hessian is not None:
        jacobian = _jacobian(problem, theta.shape, float(eta))
        # SciPy before 1.17 counts the arguments of the callable, which a decorated function hides.
        options["jac"] = lambda t, y: jacobian(t, y)
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        states, status, steps = step_through(
            _SOLVERS[solver](right, ts[0], start, ts[-1], **options), ts, max_steps=max_steps, done=done
        )
    params = np.stack([unpack(state) for state in states])
    loss = np.array([float(problem.cost(p)[0]) for p in params])
    return Flow(ts[: len(states)], params, loss, status, None, steps)


def _absolute(problem: Problem) -> float:
    """Return the absolute tolerance as a share of the relative tolerance."""
    if not problem.smooth:
        # Along kinks the error of a step is its length times the jump of the gradient, in every small component. With a
        # tolerance five times larger the loss of ten neurons on images sometimes rises, which a flow never does.
        return 0.02
    # For κ = 2 the next feature grows from its component in the directions, which may be tiny.
    return 1e-8 if problem.kappa == 2 else 1e-3


def _polar(problem: Problem, shape: tuple[int, ...], eta: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    K = shape[0]

    def unpack(y: np.ndarray) -> np.ndarray:
        theta_bar = y[:-K].reshape(shape)
        return np.exp(y[-K:])[:, None] * theta_bar / np.linalg.norm(theta_bar, axis=1, keepdims=True)

    def right(t: float, y: np.ndarray) -> np.ndarray:
        theta_bar = y[:-K].reshape(shape)
        theta_bar = theta_bar / np.linalg.norm(theta_bar, axis=1, keepdims=True)
        norm = np.exp(y[-K:])[:, None]
        down = -eta * np.asarray(problem.cost(norm * theta_bar)[1]) / norm
        radial = np.einsum("kp,kp->k", theta_bar, down)
        return np.concatenate([(down - radial[:, None] * theta_bar).ravel(), radial])

    return right, unpack


def _jacobian(problem: Problem, shape: tuple[int, ...], eta: float) -> Callable[..., Any]:
    """Return the Jacobian of the polar flow from ∇²L, at directions of length one."""
    K, P = shape
    hessian: Any = problem.hessian

    def jacobian(t: float, y: np.ndarray) -> np.ndarray:
        q = y[:-K].reshape(shape)
        q, norm = q / np.linalg.norm(q, axis=1, keepdims=True), np.exp(y[-K:])[:, None]
        across = np.eye(P) - q[:, :, None] * q[:, None, :]
        down = -eta * np.asarray(problem.cost(norm * q)[1]) / norm
        radial = np.einsum("kp,kp->k", q, down)
        H = -eta * np.asarray(hessian(norm * q)) / norm[:, :, None, None]
        # d(down), from dθ = ‖θ‖(P⊥dq + q dρ) and from the 1/‖θ‖ in front.
        by_q = np.einsum("ipjs,jst->ipjt", H * norm[None, None], across, optimize=True)
        by_rho = np.einsum("ipjs,js->ipj", H * norm[None, None], q)
        i = np.arange(K)
        by_rho[i, :, i] -= down
        turn_q = np.einsum("ips,isjt->ipjt", across, by_q, optimize=True)
        turn_rho = np.einsum("ips,isj->ipj", across, by_rho)
        bent = np.einsum("kpt,kp->kt", across, down)
        turn_q[i, :, i] -= q[:, :, None] * bent[:, None, :] + radial[:, None, None] * across
        grow_q, grow_rho = np.einsum("ip,ipjt->ijt", q, by_q), np.einsum("ip,ipj->ij", q, by_rho)
        grow_q[i, i] += bent
        return np.block([[turn_q.reshape(K * P, K * P), turn_rho.reshape(K * P, K)], [grow_q.reshape(K, -1), grow_rho]])

    return jacobian


def _level(
    problem: Problem, unpack: Callable[..., Any], below: float | None, watch: Watch | None
) -> Callable[[float, np.ndarray], bool]:
    """Return a function that reports the loss of a state, and whether it is below the level."""

    def done(t: float, y: np.ndarray) -> bool:
        loss = float(problem.cost(unpack(y))[0])
        if watch is not None:
            watch(t, loss)
        return below is not None and t > 0 and loss <= below

    return done
