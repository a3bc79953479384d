"""Feature matrices of the package's own networks, layer by layer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from firstlight import features, flow
from firstlight.models import Model, named_parameters


def weight_matrices(model: Model) -> dict[str, Array]:
    """Return the weights W (in, out) of each layer by name, first to last.

    >>> import jax
    >>> from firstlight.models import TwoLayer
    >>> list(weight_matrices(TwoLayer.init(jax.random.key(0), inputs=4, width=5, outputs=3)))
    ['W', 'V']
    """
    return {name: array for name, array in named_parameters(model).items() if array.ndim == 2}


def output_cotangents(model: Model, inputs: Any) -> tuple[Array, Any]:
    """Return the outputs (n, M), and the map from their cotangents to δ (n, K) at the outputs of every layer.

    Every sample gets its own biases; the derivative in a bias is the gradient at the layer's output.
    """
    n = len(inputs)
    widths = [W.shape[1] for W in weight_matrices(model).values()]
    zeros = [jnp.zeros((n, width), model_dtype(model)) for width in widths]

    def shifted(shifts: list[Array]) -> Array:
        return model.shifted(shifts).apply(inputs.project)

    return jax.vjp(shifted, zeros)


def model_dtype(model: Model) -> Any:
    """Return the dtype of the model's weights."""
    return next(iter(weight_matrices(model).values())).dtype


@dataclass(frozen=True, eq=False)
class LayerFeatures:
    """The weights, gradient and feature matrices of one layer.

    **Attributes:**

    - `W`: weights (d, K).
    - `gradient`: ∂L/∂W (d, K).
    - `nfm`, `fact`, `agop`, `enfa`: matrices at the layer's inputs (d, d).
    """

    W: Float[np.ndarray, "d K"]
    gradient: Float[np.ndarray, "d K"]
    nfm: Float[np.ndarray, "d d"]
    fact: Float[np.ndarray, "d d"]
    agop: Float[np.ndarray, "d d"]
    enfa: Float[np.ndarray, "d d"]


def layer_features(
    model: Model, inputs: Any, targets: Any, weight_decay: float, loss: flow.Loss | None = None
) -> Mapping[str, LayerFeatures]:
    """Compute NFM, FACT, AGOP and eNFA of every layer of a network on given data, in double precision.

    **Arguments:**

    - `model`: a `TwoLayer` or `Deep`.
    - `inputs`, `targets`: rows of a task's split.
    - `weight_decay`: λ of L + (λ/2)‖θ‖², the `weight_decay` of SGD and Adam.
    - `loss`: the conventions of L.

    >>> import jax
    >>> from firstlight import models, tasks
    >>> split = tasks.group_task("Z3").split(fraction=0.8)
    >>> model = models.TwoLayer.init(jax.random.key(0), inputs=6, width=5, outputs=3)
    >>> layers = layer_features(model, split.train_inputs, split.train_targets, weight_decay=0.1)
    >>> layers["W"].fact.shape, layers["V"].agop.shape
    ((6, 6), (5, 5))
    """
    if not model.has_layers:
        raise ValueError(
            f"AGOP and eNFA need one output of each matrix for each sample, which {type(model).__name__} "
            "does not have; the lens fact measures FACT of every matrix during a run"
        )
    loss = loss or flow.Loss()
    with jax.enable_x64(True):
        model = jax.tree.map(lambda x: jnp.asarray(x, jnp.float64) if eqx.is_inexact_array(x) else x, model)
        outputs, pull = output_cotangents(model, inputs)
        slopes = jax.grad(lambda o: flow.objective(o, targets, loss))(outputs)
        (deltas,) = pull(slopes)
        units = jnp.eye(outputs.shape[1], dtype=outputs.dtype)
        (jacobian,) = jax.vmap(lambda unit: pull(jnp.broadcast_to(unit, outputs.shape)))(units)
        whole = eqx.filter_grad(lambda m: flow.objective(m.apply(inputs.project), targets, loss))(model)
        gradients = named_parameters(whole)
        own = outputs.shape[0] if loss.reduction == "mean" else 1
        layers = {}
        for (name, W), delta, J in zip(weight_matrices(model).items(), deltas, jacobian, strict=True):
            W, G = np.asarray(W), np.asarray(gradients[name])
            layers[name] = LayerFeatures(
                W,
                G,
                features.nfm(W),
                features.fact(W, G, weight_decay),
                features.agop(W, np.asarray(J).swapaxes(0, 1)),
                features.enfa(W, own * np.asarray(delta)),
            )
    return layers
