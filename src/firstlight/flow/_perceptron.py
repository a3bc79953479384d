"""Minibatch SGD of a ReLU perceptron on dense rows: an epoch is one compiled program.

A step of a batch of 64 is bound by the passes over the weights beside the matrix products: here the step has no
dispatch, and weights and momenta are updated in place.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


class Layer(NamedTuple):
    """A linear layer in PyTorch's layout: z = x Wᵀ + b."""

    W: Float[Array | np.ndarray, "k d"]
    b: Float[Array | np.ndarray, " k"]


class Sgd(NamedTuple):
    """Steps of SGD: v ← μv + ∇L + wd·θ and θ ← θ − lr·v, with L the squared error of a batch.

    **Attributes:**

    - `momentum`: μ.
    - `weight_decay`: wd, for weights and biases.
    - `batch`: rows of a step; the last batch of an epoch may have fewer.
    - `reduction`: the squared error of a sample is the `"mean"` or the `"sum"` over its outputs.
    """

    momentum: float
    weight_decay: float
    batch: int
    reduction: str = "mean"


Network = tuple[Layer, ...]


def placed(arrays: Any) -> Any:
    """Return a copy of NumPy arrays, or of a tuple of them, that compiled programs read in place and may overwrite."""
    return jax.tree.map(jnp.array, arrays)


def outputs(network: Sequence[Layer], X: Float[Array, "n d"]) -> Float[Array, "n c"]:
    """Return the outputs of a perceptron with ReLU between its layers.

    >>> eye = jnp.eye(2)
    >>> outputs([Layer(-eye, jnp.ones(2)), Layer(eye, jnp.zeros(2))], eye).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    *hidden, last = network
    for layer in hidden:
        X = jax.nn.relu(X @ layer.W.T + layer.b)
    return X @ last.W.T + last.b


def train_epoch(
    sgd: Sgd,
    network: Sequence[Layer],
    momenta: Sequence[Layer],
    X: Float[Array, "n d"],
    Y: Float[Array, "n c"],
    order: Int[np.ndarray, " n"],
    rates: Float[np.ndarray, " steps"],
) -> tuple[Network, Network]:
    """Return network and momenta after an epoch; the ones that are passed in are overwritten.

    **Arguments:**

    - `sgd`: the optimizer.
    - `network`, `momenta`: the layers, and v for each of their parameters.
    - `X`, `Y`: all rows.
    - `order`: the rows in the order of the epoch; each `sgd.batch` of them are a step.
    - `rates`: learning rate of each step.
    """
    return jax.block_until_ready(_compiled(sgd)(tuple(network), tuple(momenta), X, Y, order, rates))


@functools.lru_cache(maxsize=16)
def _compiled(sgd: Sgd) -> Callable[..., tuple[Network, Network]]:
    def loss(network: Network, x: Array, y: Array) -> Array:
        error = jnp.square(outputs(network, x) - y)
        return error.mean() if sgd.reduction == "mean" else error.sum(axis=1).mean()

    def epoch(
        network: Network, momenta: Network, X: Array, Y: Array, order: Array, rates: Array
    ) -> tuple[Network, Network]:
        def step(state: tuple[Network, Network], now: tuple[Array, Array]) -> tuple[tuple[Network, Network], None]:
            (network, momenta), (rows, rate) = state, now
            gradient = jax.grad(loss)(network, X[rows], Y[rows])
            v = jax.tree.map(
                lambda v, g, theta: sgd.momentum * v + (g + sgd.weight_decay * theta), momenta, gradient, network
            )
            return (jax.tree.map(lambda theta, v: theta - rate * v, network, v), v), None

        full = len(order) // sgd.batch
        batches = order[: full * sgd.batch].reshape(full, sgd.batch)
        state, _ = jax.lax.scan(step, (network, momenta), (batches, rates[:full]))
        if rest := len(order) - full * sgd.batch:
            state, _ = step(state, (order[-rest:], rates[full]))
        return state

    return jax.jit(epoch, donate_argnums=(0, 1))
