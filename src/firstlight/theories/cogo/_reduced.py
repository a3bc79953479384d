"""Train without the loss term of R_⊛, as in the bottom row of CoGO's Figure 2."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from firstlight.flow import Loss, population_loss
from firstlight.groups import Group
from firstlight.models import TwoLayer

_LOSS = Loss(projection="outputs", reduction="mean")


def loss_without_convolution(W: Float[Array, "twod q"], V: Float[Array, "q d"], group: Group) -> Float[Array, ""]:
    """Compute eq. (3) without d Σ_{m≠0} Σ_p |Σ_k′ r_{pmk′k}|².

    The missing term is the part of the outputs that depends on a single factor.

    >>> import jax.numpy as jnp
    >>> from firstlight.groups import cyclic
    >>> round(float(loss_without_convolution(jnp.zeros((10, 2)), jnp.zeros((2, 5)), cyclic(5))), 6)
    0.8
    """
    d = group.order
    A, B = W[:d], W[d:]
    U = V - V.mean(1, keepdims=True)
    # E_h (a(g) + b(h))² = a(g)² + 2 a(g) b̄ + const, and the same with a and b exchanged.
    main = jnp.concatenate([A * (A + 2 * B.mean(0)), B * (B + 2 * A.mean(0))]).reshape(2, d, -1)
    main = (main - main.mean(1, keepdims=True)).reshape(2 * d, -1)
    return population_loss(W, V, group, loss=_LOSS) - jnp.sum((main @ U) ** 2) / d


def train_without_convolution(
    group: Group,
    width: int,
    *,
    steps: int,
    learning_rate: float,
    weight_decay: float,
    seeds: Sequence[int] = (0,),
) -> list[tuple[Float[np.ndarray, "twod q"], Float[np.ndarray, "q d"]]]:
    """Train with Adam and L2 decay on `loss_without_convolution`; return W and V of each seed."""
    d = group.order
    optimizer = optax.chain(optax.add_decayed_weights(weight_decay), optax.adam(learning_rate))
    gradient = jax.grad(lambda weights: loss_without_convolution(weights[0], weights[1], group))

    @jax.jit
    @jax.vmap
    def train(weights: tuple[Array, Array]) -> tuple[Array, Array]:
        def step(_: Array, carried: tuple) -> tuple:
            weights, state = carried
            updates, state = optimizer.update(gradient(weights), state, weights)
            return optax.apply_updates(weights, updates), state

        return jax.lax.fori_loop(0, steps, step, (weights, optimizer.init(weights)))[0]

    models = [TwoLayer.init(jax.random.key(seed), inputs=2 * d, width=width, outputs=d) for seed in seeds]
    start = jnp.stack([model.W for model in models]), jnp.stack([model.V for model in models])
    W, V = (np.asarray(part, float) for part in train(start))
    return list(zip(W, V, strict=True))
