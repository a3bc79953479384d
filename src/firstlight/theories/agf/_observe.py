"""What the AGF lens measures during training: active hidden units, dormant norms, and the wait for the next one."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from firstlight.flow import Context

AWAKE = 1.0
"""The norm from which a hidden unit counts as active, as in Algorithm 1."""


def observe_units(ctx: Context) -> dict[str, Array]:
    """Measure the hidden units of a two-layer network by their norms ‖(w, v)‖.

    | column | meaning |
    |---|---|
    | `agf.active` | number of hidden units with norm at least 1 |
    | `agf.largest_dormant` | largest norm below 1 |
    | `agf.wait` | time of gradient flow until the next hidden unit reaches norm 1 |

    The wait is NaN if the lowest power of the activation at 0 is not known.
    """
    W, V = ctx.model.first, ctx.model.last
    norm2 = jnp.sum(W**2, axis=0) + jnp.sum(V**2, axis=1)
    tiny = jnp.finfo(norm2.dtype).tiny
    norm2 = jnp.maximum(norm2, tiny)
    slope = jnp.sum(W * ctx.gradients.first, axis=0) + jnp.sum(V * ctx.gradients.last, axis=1)
    norm = jnp.sqrt(norm2)
    dormant = norm < AWAKE
    q = ctx.model.activation.homogeneity_at_zero
    wait = jnp.full((), jnp.nan, norm.dtype) if q is None else jnp.min(waits(norm, -slope / norm2, 1.0 + q))
    return {
        "agf.active": jnp.sum(~dormant).astype(norm.dtype),
        "agf.largest_dormant": jnp.max(jnp.where(dormant, norm, 0.0)),
        "agf.wait": wait,
    }


def waits(norm: Float[Array, " K"], rate: Float[Array, " K"], kappa: float) -> Float[Array, " K"]:
    r"""Return the time that each dormant hidden unit needs to reach norm one at its present utility.

    $$-\log\lVert\theta\rVert / \dot\rho \;(\kappa = 2), \qquad
      (1 - \lVert\theta\rVert^{\kappa-2}) / ((\kappa-2)\,\dot\rho) \;(\kappa > 2), \qquad
      \dot\rho = d\log\lVert\theta\rVert/dt$$

    (AGF, eq. 3, with the utility held constant.) The time is infinite for active units and for units that do not grow.

    **Arguments:**

    - `norm`: ‖θ‖ of each hidden unit (K,).
    - `rate`: growth rate d log ‖θ‖/dt of each hidden unit (K,).
    - `kappa`: κ, the degree of the utility.
    """
    left = -jnp.log(norm) if kappa == 2 else (1 - norm ** (kappa - 2)) / (kappa - 2)
    return jnp.where((norm < AWAKE) & (rate > 0), left / jnp.maximum(rate, jnp.finfo(rate.dtype).tiny), jnp.inf)
