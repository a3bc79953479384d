"""The isolated dynamics of any part of any model: θ = [θ₁, θ₂], θ₂ at its optimum (Section 5)."""

from collections.abc import Callable
from typing import Any, Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from firstlight import flow
from firstlight.features import ridge
from firstlight.models import Deep
from firstlight.tasks import Inputs
from firstlight.theories.manifold._assumptions import require_decay
from firstlight.theories.manifold._zero_loss import Times

Loss = Callable[[Any, Any], Array]
"""𝓛_λ(θ₁, θ₂), weight decay included."""

Inner = Callable[[Any], Any]
"""φ(θ₁) = argmin over θ₂ of 𝓛_λ(θ₁, θ₂)."""


def isolated_value_and_grad(loss: Loss, inner: Inner, theta_1: Any) -> tuple[Array, Any]:
    r"""Compute 𝓡(θ₁) = min_{θ₂} 𝓛_λ(θ₁, θ₂) and its gradient, by the envelope theorem.

    $$\nabla\mathcal R(\theta_1) = \nabla_{\theta_1}\mathcal L_\lambda(\theta_1, \varphi(\theta_1))$$

    (Theorem 5.1): φ itself is never differentiated. If `inner` finds only a stationary point, 𝓡 is the loss there.

    >>> loss = lambda a, b: (a * b - 1.0) ** 2 + 0.1 * (a**2 + b**2)
    >>> value, slope = isolated_value_and_grad(loss, lambda a: a / (a**2 + 0.1), jnp.float32(1.0))
    >>> round(float(value), 4), round(float(slope), 4)
    (0.1909, 0.0347)
    """
    theta_2 = jax.lax.stop_gradient(inner(theta_1))
    return jax.value_and_grad(lambda part: loss(part, theta_2))(theta_1)


def isolated_flow(
    loss: Loss, inner: Inner, theta_1: Any, times: Times, **options: Unpack[flow.FlowOptions]
) -> flow.Flow:
    """Follow the gradient flow of 𝓡 from θ₁ (eq. 12), in float64; `loss` of the result is 𝓡."""
    cost = _Envelope(loss, inner)
    return flow.gradient_flow(cost, theta_1, times, gradient=cost.gradient, **options)


class _Envelope(eqx.Module):
    loss: Loss
    inner: Inner

    def __call__(self, theta_1: Any) -> Array:
        return isolated_value_and_grad(self.loss, self.inner, theta_1)[0]

    def gradient(self, theta_1: Any) -> Any:
        return isolated_value_and_grad(self.loss, self.inner, theta_1)[1]


def ridge_inner(features: Callable[[Any], Float[Array, "n K"]], Y: ArrayLike, lam: float) -> Inner:
    """Return the inner solver of a linear last layer: V = Hᵀ(HHᵀ + λI)⁻¹Y (eq. 16) with H = features(θ₁).

    >>> inner = ridge_inner(lambda w: w, np.eye(2), lam=1.0)
    >>> inner(jnp.eye(2)).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    require_decay(lam)

    def inner(theta_1: Any) -> Float[Array, "K M"]:
        H = features(theta_1)
        return ridge(H, jnp.asarray(Y, H.dtype), lam, centre=False)

    return inner


def descent_inner(loss: Loss, start: Any, *, tolerance: float = 1e-9, max_steps: int = 2000) -> Inner:
    """Return an inner solver for any smooth loss: BFGS from `start`, which finds a local minimum.

    >>> loss = lambda a, b: (a * b - 1.0) ** 2 + 0.1 * (a**2 + b**2)
    >>> inner = descent_inner(loss, jnp.float32(0.5), tolerance=1e-5)
    >>> round(float(inner(jnp.float32(1.0))), 3)
    0.909
    """
    solver = optx.BFGS(rtol=tolerance, atol=tolerance)

    def inner(theta_1: Any) -> Any:
        like = jax.tree.leaves(theta_1)[0].dtype
        y0 = jax.tree.map(lambda leaf: jnp.asarray(leaf, like), start)
        return optx.minimise(lambda y, _: loss(theta_1, y), solver, y0, max_steps=max_steps, throw=False).value

    return inner


def deep_features(model: Deep, inputs: Inputs) -> tuple[Any, Callable[[Any], Float[Array, "n K"]]]:
    """Return θ₁, every weight below the last layer of a deep network, and the function H(θ₁) of its features.

    >>> from firstlight import tasks
    >>> model = Deep.init(jax.random.key(0), inputs=6, widths=(8, 8), outputs=3)
    >>> theta_1, features = deep_features(model, tasks.group_task("Z3").inputs)
    >>> features(theta_1).shape
    (9, 8)
    """
    below = (model.weights[:-1], None if model.biases is None else model.biases[:-1])

    def features(theta_1: Any) -> Float[Array, "n K"]:
        weights, biases = theta_1
        last = model.weights[-1].astype(weights[0].dtype)
        full = None if biases is None else (*biases, jnp.zeros(last.shape[1], last.dtype))
        whole = Deep((*weights, last), full, model.activation, model.residual)
        return whole.features(inputs.project)

    return jax.tree.map(np.asarray, below), features
