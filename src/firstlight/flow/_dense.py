"""Loss and gradient on a set of samples, near the rate of the three matrix products they contain.

A two-layer network is evaluated in blocks of hidden units, and again in blocks on the way back, so that the features
σ(XW_b) of a block stay in cache. One-hot inputs are gathered, never multiplied. Recomputing the features instead of
storing them raises the step from a third of the GEMM rate to nearly all of it.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from firstlight.flow._objective import objective
from firstlight.models import HiddenUnits, Model
from firstlight.records import Loss
from firstlight.tasks import DenseInputs, IndexInputs

Inputs = IndexInputs | DenseInputs

_BLOCK_UNITS = 128  # 64 units underuse the matrix kernels, 512 no longer fit in cache
_FEW_SAMPLES = 512  # with at most 512 samples, blocks of twice as many units are faster


def block_width(samples: int, width: int) -> int:
    """Return the number of hidden units per block, a multiple of 16 if there are several blocks.

    The matrix kernels work on 16 units at a time.

    >>> block_width(100, 256), block_width(2016, 2048), block_width(2016, 300)
    (256, 128, 112)
    """
    blocks = -(-width // (_BLOCK_UNITS * (1 + (samples <= _FEW_SAMPLES))))
    return width if blocks == 1 else 16 * -(-width // (16 * blocks))


def _blocks(units: HiddenUnits, samples: int) -> tuple[Array, Array, Array | None]:
    """Return W, V and b in blocks of hidden units along a new leading axis, padded with units of zero output."""
    d, K = units.W.shape
    width = block_width(samples, K)
    count = -(-K // width)
    pad = count * width - K
    W = jnp.pad(units.W, ((0, 0), (0, pad))).reshape(d, count, width).transpose(1, 0, 2)
    V = jnp.pad(units.V, ((0, pad), (0, 0))).reshape(count, width, -1)
    b = None if units.b is None else jnp.pad(units.b, (0, pad)).reshape(count, width)
    return W, V, b


def _unblock(blocks: Array, width: int) -> Array:
    """Return W (d, K) from its blocks (count, d, w)."""
    count, d, w = blocks.shape
    return blocks.transpose(1, 0, 2).reshape(d, count * w)[:, :width]


def _features(units: HiddenUnits, inputs: Inputs) -> Callable[[Array, Array | None], Array]:
    def features(W: Array, b: Array | None) -> Array:
        H = inputs.project(W)
        return units.activation(H if b is None else H + b)

    return features


def outputs(model: Model, inputs: Inputs) -> Float[Array, "n m"]:
    """Return the network's outputs on every row of `inputs`, computed block by block.

    >>> import jax
    >>> from firstlight import models, tasks
    >>> task = tasks.group_task("Z5")
    >>> net = models.TwoLayer.for_task(task, jax.random.key(0), width=8)
    >>> outputs(net, task.inputs).shape
    (25, 5)
    """
    model = jax.tree.map(jnp.asarray, model)  # a trajectory's models hold NumPy arrays
    if (tokens := _tokens(model, inputs)) is not None:
        return model.apply_tokens(tokens)
    units = model.hidden_units
    if units is None:
        return model.apply(inputs.project)
    features = _features(units, inputs)

    def add(o: Array, block: tuple[Array, Array, Array | None]) -> tuple[Array, None]:
        W, V, b = block
        return o + features(W, b) @ V, None

    start = jnp.zeros((len(inputs), units.V.shape[1]), units.V.dtype)
    blocks = _blocks(units, len(inputs))
    if blocks[0].shape[0] == 1:
        o = features(units.W, units.b) @ units.V
    else:
        o, _ = jax.lax.scan(add, start, blocks)
    return o if units.c is None else o + units.c


def _tokens(model: Model, inputs: Inputs) -> Array | None:
    """Return the elements (n, k) of each row if the network reads them and the inputs are one-hot, else None."""
    if not model.reads_tokens or not isinstance(inputs, IndexInputs) or inputs.table is not None:
        return None
    rows = jnp.asarray(inputs.rows)
    factors = rows.shape[1]
    return rows - inputs.size // factors * jnp.arange(factors, dtype=rows.dtype)


def value_and_grad(model: Model, inputs: Inputs, targets: Array | np.ndarray, loss: Loss) -> tuple[Array, Model]:
    """Return the loss and its gradient; the gradient has the structure of the model.

    **Arguments:**

    - `model`: the network.
    - `inputs`: n rows of inputs.
    - `targets`: classes (n,) or values (n, m).
    - `loss`: kind, factor, projection and reduction, see `objective`.
    """
    model = jax.tree.map(jnp.asarray, model)

    def on_outputs(o: Array) -> Array:
        return objective(o, targets, loss)

    units = model.hidden_units
    if units is None:
        params, static = eqx.partition(model, eqx.is_inexact_array)
        return jax.value_and_grad(lambda p: on_outputs(outputs(eqx.combine(p, static), inputs)))(params)
    value, G = jax.value_and_grad(on_outputs)(outputs(model, inputs))
    features = _features(units, inputs)

    def backward(W: Array, V: Array, b: Array | None) -> tuple[Array, Array, Array | None]:
        F, pull = jax.vjp(features, W, b)
        dW, db = pull(G @ V.T)
        # GᵀF is written without a transpose and is up to twice as fast as FᵀG.
        return dW, jnp.tensordot(G, F, (0, 0)), db

    K = units.W.shape[1]
    blocks = _blocks(units, len(inputs))
    if blocks[0].shape[0] == 1:
        dW, dV, db = backward(units.W, units.V, units.b)
        dV = dV.T
    else:
        _, (dW, dV, db) = jax.lax.scan(lambda _, block: (None, backward(*block)), None, blocks)
        dW, dV = _unblock(dW, K), dV.transpose(0, 2, 1).reshape(-1, dV.shape[1])[:K]
        db = None if db is None else db.reshape(-1)[:K]
    dc = None if units.c is None else G.sum(0)
    return value, pull_units(model, (dW, dV, db, dc))


def pull_units(model: Model, gradients: tuple[Array, Array, Array | None, Array | None]) -> Model:
    """Return the gradient of the parameters from that of W, V, b and c of the hidden units."""
    params, static = eqx.partition(model, eqx.is_inexact_array)
    units = lambda p: eqx.combine(p, static).hidden_units[:4]  # noqa: E731
    return jax.vjp(units, params)[1](gradients)[0]
