"""Training with two learning rates; the isolated dynamics are its limit."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.typing import ArrayLike
from jaxtyping import Array, Float
from scipy.integrate import solve_ivp

from firstlight import flow
from firstlight._threads import one_blas_thread
from firstlight.theories.manifold._assumptions import require_decay
from firstlight.theories.manifold._isolated import Isolated, output_layer
from firstlight.theories.manifold._zero_loss import Times

Layers = dict[str, Any]
"""{"W": (d, K), "V": (K, M)} and, with an output bias, {"c": (M,)}."""


class _Training(eqx.Module):
    """𝓛_λ/2λ of both layers, whose gradient flow has the time unit of eq. 21."""

    problem: Isolated

    def __call__(self, layers: Layers) -> Float[Array, ""]:
        W, V = layers["W"], layers["V"]
        problem = self.problem
        residual = problem.activation(problem.inputs.project(W)) @ V - jnp.asarray(problem.Y, W.dtype)
        if problem.bias:
            residual = residual + layers["c"]
        total = jnp.sum(residual**2) + problem.lam * (jnp.sum(W**2) + jnp.sum(V**2))
        return total / (2 * problem.lam)


def best_layers(problem: Isolated, W: ArrayLike) -> Layers:
    """Return both layers with the second at its optimum φ(W), in float64: the start of two-rate training."""
    with jax.enable_x64(True):
        V, c = eqx.filter_jit(output_layer)(problem, jnp.asarray(np.asarray(W, np.float64)))
        layers = {"W": np.asarray(W, np.float64), "V": np.asarray(V)}
        return {**layers, "c": np.asarray(c)} if problem.bias else layers


def two_rate_flow(
    problem: Isolated,
    layers: Layers,
    ratio: float,
    times: Times,
    *,
    solver: str = "radau",
    rtol: float = 1e-8,
    atol: float = 1e-10,
) -> flow.Flow:
    r"""Train both layers, the second `ratio` times as fast as the first.

    $$\dot W = -\nabla_W\mathcal L_\lambda/2\lambda, \qquad \dot V = -\rho\,\nabla_V\mathcal L_\lambda/2\lambda$$

    As ρ → ∞ this becomes eq. 21; at ρ = 1 it is ordinary training, which eq. 21 is not. The time unit is that of
    `velocity`. Large ratios are stiff, so the default is Radau's implicit method with the exact Hessian, for up to a
    few hundred parameters and a list of times.

    **Arguments:**

    - `problem`: inputs, targets and λ > 0.
    - `layers`: the start, {"W": (d, K), "V": (K, M)} and, with an output bias, {"c": (M,)}.
    - `ratio`: ρ > 0.
    - `times`: at which the flow is returned.
    - `solver`: "radau", or a solver of `flow.gradient_flow`.
    - `rtol`, `atol`: as in `flow.gradient_flow`.

    >>> from firstlight import tasks
    >>> from firstlight.theories.manifold._isolated import isolate
    >>> problem = isolate(tasks.group_task("Z3", encoding="summed").split(fraction=0.9), "tanh", lam=0.1)
    >>> start = best_layers(problem, np.random.default_rng(0).standard_normal((3, 4)))
    >>> two_rate_flow(problem, start, 10.0, [0.0, 0.1]).status
    'finished'
    """
    require_decay(problem.lam)
    if not ratio > 0:
        raise ValueError(f"ratio must be positive, got {ratio}; it is the rate of V over that of W")
    rates = {"W": 1.0, "V": float(ratio), **({"c": float(ratio)} if problem.bias else {})}
    if solver == "radau":
        return _radau(_Training(problem), layers, rates, np.asarray(times, np.float64), rtol, atol)
    return flow.gradient_flow(_Training(problem), layers, times, rates=rates, solver=solver, rtol=rtol, atol=atol)


def _radau(
    loss: _Training, layers: Layers, rates: dict[str, float], times: Float[np.ndarray, "*n"], rtol: float, atol: float
) -> flow.Flow:
    if times.ndim != 1 or times.size < 2:
        raise ValueError(f"solver 'radau' needs a list of at least two times, got {times}; use another solver")
    # The threads of LAPACK and XLA wait for each other on matrices this small.
    with one_blas_thread(), jax.enable_x64(True):
        layers = {name: np.asarray(layers[name], np.float64) for name in rates}
        start, tree = ravel_pytree(layers)
        speed = np.concatenate([np.full(layers[name].size, rates[name]) for name in sorted(rates)])
        value = jax.jit(lambda flat: loss(tree(flat)))
        slope, hessian = jax.jit(jax.grad(value)), jax.jit(jax.hessian(value))
        solution = solve_ivp(
            lambda _, flat: -speed * np.asarray(slope(flat)),
            (times[0], times[-1]),
            np.asarray(start),
            method="Radau",
            t_eval=times,
            jac=lambda _, flat: -speed[:, None] * np.asarray(hessian(flat)),
            rtol=rtol,
            atol=atol,
        )
        params = jax.tree.map(np.asarray, jax.vmap(tree)(jnp.asarray(solution.y.T)))
        losses = np.array([float(value(flat)) for flat in solution.y.T])
    status = "finished" if solution.status == 0 else "diverged"
    return flow.Flow(solution.t, params, losses, status, None, int(solution.njev), dict.fromkeys(params))
