"""Measure a training run from the zero-loss set: distance to the set, and the share of each step along it.

If the last layer alone can fit the training rows (at least as many hidden units as rows), distance and tangent space
are those of its weights V, in closed form from one n×n factorisation. Otherwise they are those of all weights, by
conjugate gradients. Either costs as much as about ten training steps, so only a few recorded steps are measured; the
others hold NaN.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from firstlight import flow
from firstlight.models import Model
from firstlight.theories.manifold._balance import COLUMN

MEASURED_COLUMNS = ("manifold.distance", "manifold.tangential", "manifold.descent")
"""Columns that hold NaN at the steps that are not measured."""

JITTER = 1e-6
"""Added to the Gram matrix, in units of its mean diagonal: weaker directions count as free."""

ITERATIONS = 25
"""Number of conjugate-gradient steps if all weights are needed."""


def is_measured(step: Int[Array, ""] | int) -> Bool[Array, ""]:
    """Return whether a step is measured: 0, the numbers 1, 2 or 5 times a power of ten, and one in 32 of all.

    An observable does not know which steps are recorded. Most runs record round numbers; the evenly scattered rest
    makes sure that any other spacing meets some measured steps.

    >>> [s for s in range(0, 101, 10) if bool(is_measured(s))]
    [0, 10, 20, 50, 100]
    """
    step = jnp.asarray(step, jnp.int32)
    tens = 10 ** jnp.arange(9, dtype=jnp.int32)
    is_round = jnp.any(step == jnp.concatenate([tens, 2 * tens, 5 * tens[:-1]]))
    # Multiples of the golden ratio are evenly spread over the unit interval.
    scattered = (step.astype(jnp.uint32) * jnp.uint32(2654435769)) < jnp.uint32(2**27)
    return (step == 0) | is_round | scattered


def _from_products(distance_2: Array, step_2: Array, along_2: Array, both: Array, radius_2: Array) -> dict[str, Array]:
    """Return the three columns from squared lengths and the product of step and weights along the set."""
    tiny = jnp.finfo(distance_2.dtype).tiny
    return {
        "manifold.distance": jnp.sqrt(jnp.maximum(distance_2, 0.0)),
        "manifold.tangential": jnp.clip(along_2 / jnp.maximum(step_2, tiny), 0.0, 1.0),
        "manifold.descent": -both / jnp.sqrt(jnp.maximum(along_2 * radius_2, tiny)),
    }


def by_last_layer(
    H: Float[Array, "n K"],
    V: Float[Array, "K M"],
    before: Float[Array, "K M"],
    residual: Float[Array, "n M"],
    projection: str,
) -> dict[str, Array]:
    """Compute distance, tangential share and descent of V, in closed form.

    With G = HHᵀ the normal part of a change U of V is Hᵀ G⁻¹ HU. Every product is therefore one of the columns of
    L⁻¹[Y − HV, HΔ, HV] with G = LLᵀ.

    **Arguments:**

    - `H`: (n, K) features that the last layer sees.
    - `V`: (K, M) its weights.
    - `before`: (K, M) its weights one step earlier.
    - `residual`: (n, M) targets minus outputs, projected.
    - `projection`: of the loss, "samples", "outputs" or "none".
    """
    n = H.shape[0]
    if projection == "samples":
        H = H - H.mean(0)
    delta = V - before
    G = H @ H.T
    scale = jnp.trace(G) / n
    # If the loss projects the mean over samples out, that mean is no constraint; a constant keeps G invertible there.
    G = G + JITTER * scale * jnp.eye(n, dtype=H.dtype) + (scale / n if projection == "samples" else 0.0)
    columns = [residual, flow.projected(H @ delta, projection), flow.projected(H @ V, projection)]
    L = jax.lax.linalg.cholesky(G)
    solved = jax.lax.linalg.triangular_solve(L, jnp.concatenate(columns, axis=1), left_side=True, lower=True)
    r, d, v = jnp.split(solved, 3, axis=1)
    step_2 = jnp.sum(delta**2)
    along_2, radius_2 = step_2 - jnp.sum(d**2), jnp.sum(V**2) - jnp.sum(v**2)
    return _from_products(jnp.sum(r**2), step_2, along_2, jnp.sum(delta * V) - jnp.sum(d * v), radius_2)


def by_all_weights(model: Model, previous: Model, outputs: Callable[[Any], Array], residual: Array) -> dict[str, Array]:
    """Compute the same columns for all weights together, by conjugate gradients on JJᵀ.

    **Arguments:**

    - `model`: the network now.
    - `previous`: the network one step earlier.
    - `outputs`: maps a network to its projected outputs (n, M).
    - `residual`: (n, M) targets minus outputs, projected.
    """
    params, static = eqx.partition(model, eqx.is_inexact_array)
    theta, tree = ravel_pytree(params)
    before, _ = ravel_pytree(eqx.filter(previous, eqx.is_inexact_array))
    _, push = jax.linearize(lambda flat: outputs(eqx.combine(tree(flat), static)), theta)
    pull = jax.linear_transpose(push, theta)

    def normal(b: Array) -> Array:
        """J⁺b."""
        u, _ = jax.scipy.sparse.linalg.cg(lambda u: push(pull(u)[0]), b, maxiter=ITERATIONS, tol=1e-4)
        return pull(u)[0]

    delta = theta - before
    along, radius = delta - normal(push(delta)), theta - normal(push(theta))
    away = normal(residual)
    return _from_products(away @ away, delta @ delta, along @ along, along @ radius, radius @ radius)


def observe(ctx: flow.Context) -> dict[str, Array]:
    """Record ‖θ‖² at every recorded step; distance, tangential share and descent at the measured steps.

    Of two layers it also records the share of the first in ‖W‖² + ‖V‖².
    """
    H, V = ctx.model.features(ctx.train_inputs.project), ctx.model.last
    n, K = H.shape
    projection = ctx.loss.projection

    def outputs(model: Model) -> Array:
        return flow.projected(model.apply(ctx.train_inputs.project), projection)

    def measured() -> dict[str, Array]:
        Y = flow.target_matrix(ctx.train_targets, V.shape[1], V.dtype)
        residual = flow.projected(Y, projection) - outputs(ctx.model)
        if n <= K:
            return by_last_layer(H, V, ctx.previous.last, residual, projection)
        return by_all_weights(ctx.model, ctx.previous, outputs, residual)

    def not_measured() -> dict[str, Array]:
        return dict.fromkeys(MEASURED_COLUMNS, jnp.asarray(jnp.nan, V.dtype))

    squares = [jnp.sum(leaf**2) for leaf in jax.tree.leaves(eqx.filter(ctx.model, eqx.is_inexact_array))]
    values = jax.lax.cond(is_measured(ctx.step), measured, not_measured)
    if ctx.model.hidden_units is not None and ctx.model.has_layers:
        first, last = jnp.sum(ctx.model.first**2), jnp.sum(V**2)
        values[COLUMN] = first / jnp.maximum(first + last, jnp.finfo(V.dtype).tiny)
    return {"manifold.norm": jnp.sum(jnp.stack(squares)), "manifold.by_V": jnp.asarray(n <= K, V.dtype), **values}
