"""The features of a quadratic unit over a table of pairs, split into orthogonal parts."""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float


class Anova(NamedTuple):
    """F(g₁, g₂) = mean + main[0, g₁] + main[1, g₂] + 2c₂ x[0, g₁] x[1, g₂], per hidden unit.

    The four parts are orthogonal over the table, because `x` and `main` sum to zero over g.
    """

    mean: Float[Array, " K"]
    main: Float[Array, "2 M K"]
    x: Float[Array, "2 M K"]
    slope: Float[Array, " K"]
    c2: Float[Array, ""]


def anova(W: Float[Array, "twoM K"], polynomial: Sequence[ArrayLike]) -> Anova:
    r"""Split the features σ(A[g₁] + B[g₂]) into mean, main effects and interaction.

    With $z = \bar a + \bar b$ and centred embeddings $x_a, x_b$, the Taylor expansion of σ at z is exact:

    $$F = \sigma(z) + c_2(\langle x_a^2\rangle + \langle x_b^2\rangle)
        + \sum_{p} \big[\sigma'(z) x_p + c_2 (x_p^2 - \langle x_p^2\rangle)\big] + 2 c_2 x_a x_b.$$

    **Arguments:**

    - `W`: embedding tables A and B stacked, (2M, K).
    - `polynomial`: coefficients (c₀, c₁, c₂), fewer if the degree is lower.

    >>> import jax.numpy as jnp
    >>> parts = anova(jnp.array([[1.0], [3.0], [0.0], [2.0]]), (0, 0, 1))
    >>> parts.mean.tolist(), parts.x[0].ravel().tolist(), parts.slope.tolist()
    ([11.0], [-1.0, 1.0], [6.0])
    """
    if not 1 <= len(polynomial) <= 3:
        raise ValueError(
            f"the Gram form needs an activation of degree at most 2, (c0, c1, c2), got {len(polynomial)} "
            "coefficients; use the dense loss"
        )
    c0, c1, c2 = (jnp.asarray(c, W.dtype) for c in (*polynomial, 0.0, 0.0)[:3])
    X = W.reshape(2, -1, W.shape[1])
    center = X.mean(1, keepdims=True)
    x = X - center
    z = center.sum((0, 1))
    slope = c1 + 2 * c2 * z
    squares = x**2
    variance = squares.mean(1, keepdims=True)
    main = slope * x + c2 * (squares - variance)
    return Anova(c0 + c1 * z + c2 * (z**2 + variance.sum((0, 1))), main, x, slope, c2)
