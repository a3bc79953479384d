"""Gradient flow θ′ = −r ∘ ∇ℓ(θ), solved adaptively in float64."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, get_args

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pandas as pd
from jax.typing import ArrayLike
from jaxtyping import Array, Float

FlowStatus = Literal["finished", "event", "max_steps", "diverged"]
FlowSolver = Literal["dopri8", "tsit5", "kvaerno5"]

_SOLVERS = {"dopri8": diffrax.Dopri8, "tsit5": diffrax.Tsit5, "kvaerno5": diffrax.Kvaerno5}


@dataclass(frozen=True)
class Flow:
    """A solved gradient flow; arrays are NumPy float64, whatever the session's precision.

    **Attributes:**

    - `times`: (n,) the requested times that were reached, then the time of the stop if it came earlier.
    - `params`: the parameters, each leaf stacked over times along a new first axis.
    - `loss`: (n,) the loss at each time.
    - `status`: "finished", "event" (the event happened), "max_steps", or "diverged" (no finite step exists).
    - `event_time`: when the event happened, else None.
    - `steps`: accepted steps of the solver.
    - `static`: the leaves of the parameters that are not floating-point arrays.
    """

    times: Float[np.ndarray, " n"]
    params: Any
    loss: Float[np.ndarray, " n"]
    status: FlowStatus
    event_time: float | None
    steps: int
    static: Any = None

    def at(self, index: int) -> Any:
        """Return the parameters at the saved time `index`, in the structure of the start."""
        return eqx.combine(jax.tree.map(lambda leaf: leaf[index], self.params), self.static)

    @property
    def final(self) -> Any:
        """The parameters at the last time."""
        return self.at(-1)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per time: the loss, each scalar parameter, and the norm of each array."""
        columns = {"time": self.times, "loss": self.loss}
        for path, leaf in jax.tree_util.tree_leaves_with_path(self.params):
            name = jax.tree_util.keystr(path, simple=True, separator=".") or "params"
            if leaf.ndim == 1:
                columns[name] = leaf
            else:
                columns[f"{name}_norm"] = np.linalg.norm(leaf.reshape(len(leaf), -1), axis=1)
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        return (
            f"Flow({self.status} at t = {self.times[-1]:.6g}, loss {self.loss[0]:.4g} → {self.loss[-1]:.4g}, "
            f"{self.steps} steps)"
        )

    def _repr_html_(self) -> str:
        rows = self.frame.iloc[np.unique(np.linspace(0, len(self.times) - 1, 8).astype(int))]
        return f"<p><b>{html.escape(repr(self))}</b></p>{rows.to_html(index=False, float_format='{:.4g}'.format)}"


class FlowOptions(TypedDict, total=False):
    """The keywords of `gradient_flow` that its callers pass on; the defaults are those of `gradient_flow`."""

    event: Callable[[Any, Array], Array] | None
    loss_below: float | None
    solver: FlowSolver | str
    rtol: float
    atol: float
    max_steps: int


def gradient_flow(
    loss: Callable[[Any], Array],
    params: Any,
    times: ArrayLike | Sequence[float],
    *,
    rates: Any = 1.0,
    gradient: Callable[[Any], Any] | None = None,
    event: Callable[[Any, Array], Array] | None = None,
    loss_below: float | None = None,
    solver: FlowSolver | str = "dopri8",
    rtol: float = 1e-9,
    atol: float = 1e-12,
    max_steps: int = 100_000,
) -> Flow:
    r"""Follow the gradient flow of a loss from given parameters.

    $$\dot\theta = -r \circ \nabla \ell(\theta), \qquad \theta(t_0) = \theta_0,$$

    with an adaptive Runge–Kutta method in float64. A failure of the solver is a `status` of the result, not an
    exception. A program is compiled per `loss` object, solver and shapes; pass the same function again to reuse it.

    **Arguments:**

    - `loss`: a scalar function of the parameters, written with `jax.numpy`; weight decay goes in here.
    - `params`: floating-point arrays or numbers in any PyTree, in any precision.
    - `times`: the last time (101 equal times from 0 are saved), or increasing times, the first of which is t₀.
    - `rates`: r, a number or a PyTree prefix of `params`: the learning rate of each parameter relative to time.
    - `gradient`: ∇ℓ as a function of the parameters, if it is faster than automatic differentiation.
    - `event`: a function g(params, t); the flow stops where it crosses zero.
    - `loss_below`: the flow stops where the loss falls to this level.
    - `solver`: "dopri8"; "tsit5" for loose tolerances; "kvaerno5" (implicit, dense Jacobian) for stiff small ones.
    - `rtol`: relative local error per step.
    - `atol`: absolute local error per step.
    - `max_steps`: limit on the steps of the solver, rejected steps included.

    >>> import jax.numpy as jnp
    >>> flow = gradient_flow(lambda x: jnp.sum(x**2) / 2, np.array([3.0, 4.0]), 1.0)
    >>> flow
    Flow(finished at t = 1, loss 12.5 → 1.692, ... steps)
    >>> (flow.final * np.exp(1)).round(9)
    array([3., 4.])
    """
    ts = _checked_times(times)
    if min(rtol, atol) <= 0 or max_steps < 1:
        raise ValueError(
            f"rtol, atol and max_steps must be positive, got rtol={rtol}, atol={atol}, max_steps={max_steps}"
        )
    if solver not in _SOLVERS:
        raise ValueError(f"unknown solver {solver!r}; use one of {', '.join(get_args(FlowSolver))}")
    if event is not None and loss_below is not None:
        raise ValueError("give either event or loss_below, not both; an event may compute the loss itself")
    with jax.enable_x64(True):
        y0, static = _float64(params)
        problem = _Problem(loss, gradient, event, static, solver, max_steps, loss_below is not None)
        numbers = jax.tree.map(jnp.float64, (_broadcast(rates, y0), loss_below or 0.0, rtol, atol))
        out = jax.device_get(_solve(problem, y0, jnp.asarray(ts), *numbers))
    return _flow(out, static)


class _Problem(eqx.Module):
    """Functions and choices that are compiled in; arrays inside them are traced."""

    loss: Callable[[Any], Array]
    gradient: Callable[[Any], Any] | None
    event: Callable[[Any, Array], Array] | None
    static: Any
    solver: str = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)
    watch_loss: bool = eqx.field(static=True)

    def value(self, y: Any) -> Float[Array, ""]:
        value = jnp.asarray(self.loss(eqx.combine(y, self.static)))
        if value.shape != ():
            raise ValueError(f"the loss must be a single number, got shape {value.shape}; sum or average it")
        return value.astype(jnp.float64)

    def slope(self, y: Any) -> Any:
        if self.gradient is None:
            return jax.grad(self.value)(y)
        return eqx.filter(self.gradient(eqx.combine(y, self.static)), eqx.is_inexact_array)

    def stop(self, level: Float[Array, ""]) -> diffrax.Event | None:
        if self.watch_loss:
            return _event(lambda t, y, args, **_: self.value(y) - level)
        if (g := self.event) is not None:
            return _event(lambda t, y, args, **_: jnp.float64(g(eqx.combine(y, self.static), t)))
        return None


def _event(condition: Callable[..., Array]) -> diffrax.Event:
    # Bisection stays inside the step in which the sign changed; Newton may leave it.
    return diffrax.Event(condition, optx.Bisection(rtol=1e-12, atol=1e-12))


def _controller(ts: Float[Array, " n"], rtol: Array, atol: Array) -> diffrax.AbstractStepSizeController:
    # Steps end at the saved times, since the interpolants are of lower order than the steps.
    smallest = 4 * jnp.finfo(jnp.float64).eps * (ts[-1] - ts[0])
    adaptive = diffrax.PIDController(rtol=rtol, atol=atol, dtmin=smallest, force_dtmin=False)
    return diffrax.ClipStepSizeController(adaptive, step_ts=ts)


@eqx.filter_jit
def _solve(
    problem: _Problem,
    y0: Any,
    ts: Float[Array, " n"],
    rates: Any,
    level: Float[Array, ""],
    rtol: Float[Array, ""],
    atol: Float[Array, ""],
) -> dict[str, Any]:
    first = problem.value(y0)
    below = problem.watch_loss & (first <= level)
    # A span of length zero if the start is not finite or the event has already happened.
    t1 = jnp.where(jnp.isfinite(first) & ~below, ts[-1], ts[0])
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: jax.tree.map(lambda r, g: -r * g, rates, problem.slope(y))),
        _SOLVERS[problem.solver](),
        t0=ts[0],
        t1=t1,
        dt0=None,
        y0=y0,
        saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(ts=jnp.minimum(ts, t1)), diffrax.SubSaveAt(t1=True)]),
        stepsize_controller=_controller(ts, rtol, atol),
        event=problem.stop(level),
        adjoint=diffrax.ForwardMode(),
        max_steps=problem.max_steps,
        throw=False,
    )
    saved: Any = ((solution.ts[0], solution.ys[0]), (solution.ts[1], solution.ys[1]))  # type: ignore[index]
    times, params = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), *saved)
    return {
        "first": first,
        "times": times,
        "params": params,
        "loss": jax.lax.map(problem.value, params),
        "successful": solution.result == diffrax.RESULTS.successful,
        "event": below | (solution.result == diffrax.RESULTS.event_occurred),
        "max_steps": solution.result == diffrax.RESULTS.max_steps_reached,
        "steps": solution.stats["num_accepted_steps"],
    }


def _flow(out: dict[str, Any], static: Any) -> Flow:
    """Return the rows that were reached, each time once, with the status."""
    if not np.isfinite(out["first"]):
        raise ValueError(f"the flow must start at a finite loss, got {out['first']} at the initial parameters")
    finite = np.isfinite(out["times"]) & np.isfinite(out["loss"])
    rows = np.flatnonzero(finite)
    rows = rows[np.unique(out["times"][rows], return_index=True)[1]]
    status: FlowStatus = "diverged"
    if out["event"]:
        status = "event"
    elif out["max_steps"]:
        status = "max_steps"
    elif out["successful"] and np.isfinite(out["loss"][-1]):
        status = "finished"
    times = out["times"][rows]
    return Flow(
        times=times,
        params=jax.tree.map(lambda leaf: leaf[rows], out["params"]),
        loss=out["loss"][rows],
        status=status,
        event_time=float(times[-1]) if status == "event" else None,
        steps=int(out["steps"]),
        static=static,
    )


def _checked_times(times: ArrayLike | Sequence[float]) -> Float[np.ndarray, " n"]:
    ts = np.asarray(times, np.float64)
    if ts.ndim == 0:
        ts = np.linspace(0.0, float(ts), 101)
    if ts.ndim != 1 or len(ts) < 2 or not np.isfinite(ts).all() or (np.diff(ts) <= 0).any():
        raise ValueError(f"times must be a positive number or at least two increasing finite times, got {times!r}")
    return ts


def _float64(params: Any) -> tuple[Any, Any]:
    """Return the floating-point leaves in float64, and all other leaves."""
    arrays, static = eqx.partition(params, eqx.is_inexact_array_like)
    leaves = jax.tree.leaves(arrays)
    if not leaves:
        raise ValueError(f"params must hold at least one floating-point array, got {params!r}")
    if any(np.iscomplexobj(leaf) for leaf in leaves):
        raise ValueError("params must be real, got complex arrays; give real and imaginary parts as two arrays")
    return jax.tree.map(lambda a: jnp.asarray(np.asarray(a, np.float64)), arrays), static


def _broadcast(rates: Any, params: Any) -> Any:
    try:
        return jax.tree.broadcast(rates, params)
    except ValueError as error:
        raise ValueError(
            f"rates must be a number or a prefix of the tree {jax.tree.structure(params)}, got {rates!r}"
        ) from error
