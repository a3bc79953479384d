"""What the FACT lens measures during training: how each layer's features align with FACT, AGOP and eNFA."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from firstlight import features, flow
from firstlight.models import Model, named_parameters
from firstlight.theories.fact._networks import output_cotangents, weight_matrices
from firstlight.theories.fact._thin import Thin

LARGEST = 512
"""Matrix roots are computed for layers whose smaller side is at most this, because a root costs its cube."""


def observe_alignments(ctx: flow.Context) -> dict[str, Array]:
    """Measure how each matrix correlates with WWᵀ in every layer, and ⟨λ·FACT, WWᵀ⟩/‖WWᵀ‖².

    The columns are `fact.<layer>.<measure>`. Correlations are Pearson's; they do not depend on λ, which an observable
    does not know. AGOP uses a random ±1 projection of the outputs per sample, which is unbiased.
    """
    gradients = named_parameters(ctx.gradients)
    if not ctx.model.has_layers:
        return _of_matrices(ctx.model, gradients)
    outputs, pull = output_cotangents(ctx.model, ctx.train_inputs)
    (deltas,) = pull(jax.grad(lambda o: flow.objective(o, ctx.train_targets, ctx.loss))(outputs))
    signs = jax.random.rademacher(jax.random.fold_in(jax.random.key(0), ctx.step), outputs.shape, outputs.dtype)
    (slopes,) = pull(signs)
    values: dict[str, Array] = {}
    for (name, W), delta, slope in zip(weight_matrices(ctx.model).items(), deltas, slopes, strict=True):
        for key, value in aligned(W, gradients[name], delta, slope).items():
            values[f"fact.{name}.{key}"] = value
    return values


def _of_matrices(model: Model, gradients: Mapping[str, Array]) -> dict[str, Array]:
    """Measure FACT alone, which needs no more than the gradient of a matrix.

    AGOP and eNFA are defined by a single output of the layer for each sample. Keys, values and embeddings act at
    several positions.
    """
    values: dict[str, Array] = {}
    for name, W in weight_matrices(model).items():
        for key, value in aligned(W, gradients[name], None, None).items():
            values[f"fact.{name}.{key}"] = value
    return values


def aligned(
    W: Float[Array, "d K"],
    G: Float[Array, "d K"],
    delta: Float[Array, "n K"] | None,
    slope: Float[Array, "n K"] | None,
) -> dict[str, Array]:
    """Compute the measures of one layer in the coordinates of its smaller side.

    All matrices of a layer live in the span of W's columns. With W = QT they are QAQᵀ, or QB if they are not symmetric.

    **Arguments:**

    - `W`: the layer's weights (d, K).
    - `G`: ∂L/∂W (d, K).
    - `delta`: ∂L/∂(outputs of the layer) of each sample (n, K), or None.
    - `slope`: the derivative of the projected network output at the same place (n, K), or None.
    """
    Q, T = jnp.linalg.qr(W) if W.shape[0] > W.shape[1] else (None, W)
    nfm = Thin(features.nfm(T), Q)
    unit = Thin(-T @ G.T, Q, one_sided=True)  # FACT with λ = 1
    values = {"fact": unit.pearson(nfm), "size": unit.inner(nfm) / nfm.inner(nfm)}
    if len(T) <= LARGEST:
        values["symmetrised"] = Thin(features.symmetrised(unit.matrix), Q).pearson(nfm)
    if len(T) <= LARGEST and delta is not None and slope is not None:
        values["agop"] = Thin(_root(slope @ T.T), Q).pearson(nfm)
        # Gradients of fitted samples are tiny; alignment does not depend on their scale, so it is divided out.
        scaled = delta / jnp.maximum(jnp.max(jnp.abs(delta)), jnp.finfo(delta.dtype).tiny)
        values["enfa"] = Thin(_root(scaled @ T.T), Q).pearson(nfm)
    return values


def _root(rows: Float[Array, "n r"]) -> Float[Array, "r r"]:
    return features.matrix_power(features.average_outer_product(rows), 0.5)
