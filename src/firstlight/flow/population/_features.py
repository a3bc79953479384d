"""Second moments of the features over the full table, for ridge solutions and energies."""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from firstlight.flow.population._anova import anova
from firstlight.flow.population._convolution import convolve
from firstlight.groups import Group


@partial(jax.jit, static_argnames=("centred",))
def feature_gram(
    W: Float[Array, "twoM K"], polynomial: Sequence[ArrayLike] = (0.0, 0.0, 1.0), *, centred: bool = True
) -> Float[Array, "K K"]:
    r"""Return FᵀF over all M² pairs, or F̃ᵀF̃ with the mean over samples removed (Li₂, Lemma 1).

    $$\tilde F^\top \tilde F = M(\alpha^\top\alpha + \beta^\top\beta) + 4c_2^2\, G_a \circ G_b,
      \qquad F^\top F = \tilde F^\top \tilde F + M^2 m m^\top .$$

    Here a, b are the centred embeddings with Gram matrices G_a, G_b; α, β the main effects, m the mean features.

    **Arguments:**

    - `W`: (2M, K), the two embedding tables stacked.
    - `polynomial`: (c₀, c₁, c₂).
    - `centred`: whether the mean over samples is removed.

    >>> import jax.numpy as jnp
    >>> feature_gram(jnp.array([[1.0], [3.0], [0.0], [2.0]])).item()  # features 1, 9, 9, 25: Σ(F − 11)²
    304.0
    """
    with jax.default_matmul_precision("highest"):
        parts = anova(W, polynomial)
        a, b = parts.x
        M, K = a.shape
        main = parts.main.reshape(2 * M, K)
        gram = M * (main.T @ main) + 4 * parts.c2**2 * (a.T @ a) * (b.T @ b)
        return gram if centred else gram + M**2 * jnp.outer(parts.mean, parts.mean)


@partial(jax.jit, static_argnames=("group", "centred"))
def feature_target(
    W: Float[Array, "twoM K"],
    group: Group,
    polynomial: Sequence[ArrayLike] = (0.0, 0.0, 1.0),
    *,
    centred: bool = True,
) -> Float[Array, "K M"]:
    r"""Return FᵀY over all M² pairs with one-hot targets Y, or F̃ᵀỸ with the means over samples removed.

    $$\tilde F^\top \tilde Y = 2c_2 (a * b)^\top, \qquad F^\top Y = \tilde F^\top \tilde Y + M m 1^\top .$$

    **Arguments:**

    - `W`: (2M, K), the two embedding tables stacked.
    - `group`: of order M.
    - `polynomial`: (c₀, c₁, c₂).
    - `centred`: whether the means over samples are removed.

    >>> import jax.numpy as jnp
    >>> from firstlight.groups import cyclic
    >>> W = jnp.array([[1.0], [3.0], [0.0], [2.0]])
    >>> feature_target(W, cyclic(2), centred=False).tolist()  # product 0 has features 1 and 25
    [[26.0, 18.0]]
    """
    with jax.default_matmul_precision("highest"):
        parts = anova(W, polynomial)
        a, b = parts.x
        target = 2 * parts.c2 * convolve(group, a, b).T
        return target if centred else target + len(a) * parts.mean[:, None]
