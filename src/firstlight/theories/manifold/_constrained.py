"""Learning after memorisation: the norm falls along the zero-loss set (Section 4)."""

from typing import Any, Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from firstlight import flow
from firstlight.theories.manifold._assumptions import require_decay
from firstlight.theories.manifold._normal import Method, Tangent
from firstlight.theories.manifold._projection import project
from firstlight.theories.manifold._zero_loss import Equations, Times, ZeroLossSet

RETURN_RATE = 50.0
"""Rate, per unit of τ, at which the constrained flow corrects the distance to 𝒵 that rounding adds."""


class Penalised(eqx.Module):
    """The sum of squares with weight decay, 𝓛_λ(θ) = ‖𝓕(θ) − y‖² + λ‖θ‖² (eq. 2); λ is traced."""

    equations: Equations
    lam: Float[np.ndarray | Array, ""]

    def __call__(self, theta: Float[Array, " P"]) -> Float[Array, ""]:
        return jnp.sum(self.equations(theta) ** 2) + self.lam * jnp.sum(theta**2)


class _Norm(eqx.Module):
    """‖θ‖² and its gradient along 𝒵, with a correction back to 𝒵."""

    equations: Equations

    def __call__(self, theta: Float[Array, " P"]) -> Float[Array, ""]:
        return jnp.sum(theta**2)

    def tangential_gradient(self, theta: Float[Array, " P"]) -> Float[Array, " P"]:
        c, pull = jax.vjp(self.equations, theta)
        J = jax.vmap(lambda u: pull(u)[0])(jnp.eye(len(c), dtype=c.dtype))
        across = jnp.linalg.solve(J @ J.T, jnp.stack([2 * J @ theta, RETURN_RATE * c], axis=1))
        return 2 * theta - J.T @ across[:, 0] + J.T @ across[:, 1]


def decay_flow(
    zero_set: ZeroLossSet, params: Any, lam: float, times: Times, **options: Unpack[flow.FlowOptions]
) -> flow.Flow:
    r"""Train with weight decay as a gradient flow, $\dot\theta = -\nabla\mathcal L_\lambda(\theta)$ (eq. 4).

    The `params` of the result are flat, (times, P).

    **Arguments:**

    - `zero_set`: the equations 𝓕(θ) = y.
    - `params`: θ(0), a PyTree or flat.
    - `lam`: λ > 0.
    - `times`, `options`: as in `flow.gradient_flow`.

    >>> import jax.numpy as jnp
    >>> line = ZeroLossSet(lambda w: jnp.sum(w) - 2.0, np.zeros(2))
    >>> decay_flow(line, np.array([-1.0, 1.0]), 0.1, 40.0).final.round(3)
    array([0.952, 0.953])
    """
    require_decay(lam)
    return flow.gradient_flow(
        Penalised(zero_set.equations, np.asarray(lam, np.float64)), zero_set.vector(params), times, **options
    )


def constrained_flow(
    zero_set: ZeroLossSet, params: Any, times: Times, **options: Unpack[flow.FlowOptions]
) -> flow.Flow:
    r"""Follow the norm-minimising flow on the zero-loss set, the limit of training as λ → 0.

    $$\frac{d\theta}{d\tau} = -2\,(I - J^+J)\,\theta, \qquad \tau = \lambda t$$

    The `loss` of the result is ‖θ‖². J is formed at every step, which limits this to a few thousand constraints.

    **Arguments:**

    - `zero_set`: the equations 𝓕(θ) = y.
    - `params`: the start; a point off 𝒵 is projected first.
    - `times`: in units of τ.
    - `options`: as in `flow.gradient_flow`.

    >>> import jax.numpy as jnp
    >>> line = ZeroLossSet(lambda w: jnp.sum(w) - 2.0, np.zeros(2))
    >>> constrained_flow(line, np.array([0.0, 2.0]), [0.0, 1.0]).final.round(6)
    array([0.864665, 1.135335])
    """
    start = project(zero_set, params)
    Tangent(zero_set, start.theta).require_regular()
    norm = _Norm(zero_set.equations)
    return flow.gradient_flow(norm, start.theta, times, gradient=norm.tangential_gradient, **options)


def predicted_distance(zero_set: ZeroLossSet, params: Any, lam: float, *, method: Method = "auto") -> float:
    """Predict the distance of a trajectory from the zero-loss set: λ‖(JᵀJ)⁺θ‖, to first order in λ.

    Across 𝒵 the gradient 2JᵀJ(θ − φ) of the loss balances the decay 2λθ after a fast transient. This sharpens
    Theorem 4.9, which states that the distance tends to zero with λ, to O(λ).

    >>> import jax.numpy as jnp
    >>> line = ZeroLossSet(lambda w: jnp.sum(w) - 2.0, np.zeros(2))
    >>> round(predicted_distance(line, np.array([1.0, 1.0]), 1e-3), 6)
    0.000707
    """
    require_decay(lam)
    theta = zero_set.vector(params)
    tangent = Tangent(zero_set, theta, method)
    return lam * float(np.linalg.norm(tangent.hessian_inverse(theta)))


def gradient_angle(zero_set: ZeroLossSet, params: Any, *, method: Method = "auto") -> tuple[float, float]:
    r"""Return the cosine between the gradient of the loss and 𝒵, and the distance to 𝒵.

    $$\max_{v \in \mathcal T_\varphi} \left|\frac{v^\top g}{\|v\|\,\|g\|}\right| = \frac{\|(I - J^+J)\,g\|}{\|g\|},
      \qquad g = \nabla\mathcal L(\theta), \quad \varphi = \mathrm{proj}_{\mathcal Z}(\theta)$$

    (Theorem 4.13), with J at φ. The ratio of the two results stays bounded as the distance tends to zero.

    >>> import jax.numpy as jnp
    >>> hyperbola = ZeroLossSet(lambda w: w[0] * w[1] - 1.0, np.zeros(2))
    >>> cosine, distance = gradient_angle(hyperbola, np.array([2.0, 0.51]))
    >>> cosine < 0.01, round(distance, 4)
    (True, 0.0097)
    """
    theta = zero_set.vector(params)
    nearest = project(zero_set, theta, method=method)
    gradient = zero_set.gradient(theta)
    size = float(np.linalg.norm(gradient))
    if size == 0:
        raise ValueError("the gradient has no direction on the zero-loss set itself; give a point near it")
    along = Tangent(zero_set, nearest.theta, method).tangential(gradient)
    return float(np.linalg.norm(along)) / size, nearest.distance


def tangential_fraction(zero_set: ZeroLossSet, params: Any, step: Any, *, method: Method = "auto") -> float:
    """Return the share ‖(I − J⁺J)Δ‖²/‖Δ‖² of a step Δ along the zero-loss set; 1 in the limit of the paper.

    >>> import jax.numpy as jnp
    >>> line = ZeroLossSet(lambda w: jnp.sum(w) - 2.0, np.zeros(2))
    >>> round(tangential_fraction(line, np.array([0.0, 2.0]), np.array([1.0, 0.0])), 12)
    0.5
    """
    delta = zero_set.vector(step)
    along = Tangent(zero_set, zero_set.vector(params), method).tangential(delta)
    size = float(delta @ delta)
    return float(along @ along) / size if size else float("nan")
