"""Attention-only linear transformer for in-context regression (AGF, Section 4)."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from firstlight.models._parameters import named_parameters


class LinearAttention(eqx.Module):
    """ŷ = Σ_h V_h Σ_n y_n x_nᵀ K_h Q_hᵀ x_query, with rank-one heads and no softmax.

    Its inputs are contexts (x, y, query), not rows of a `firstlight.tasks.Task`. It therefore has the properties of
    a `Model` but no `for_task`, and `flow.train` does not train it.

    **Attributes:**

    - `V`: (H,) values.
    - `K`: (H, d) keys.
    - `Q`: (H, d) queries.

    >>> import jax.numpy as jnp
    >>> model = LinearAttention(jnp.ones(1), jnp.ones((1, 2)), jnp.ones((1, 2)))
    >>> x, y, query = jnp.ones((7, 3, 2)), jnp.ones((7, 3)), jnp.ones((7, 2))
    >>> model(x, y, query).shape, float(model(x, y, query)[0])  # 3 examples · 2 · 2
    ((7,), 12.0)
    """

    V: Float[Array, " H"] = eqx.field(converter=jnp.asarray)
    K: Float[Array, "H d"] = eqx.field(converter=jnp.asarray)
    Q: Float[Array, "H d"] = eqx.field(converter=jnp.asarray)

    def __check_init__(self) -> None:
        if self.V.ndim != 1 or self.K.shape != self.Q.shape or self.K.shape[0] != len(self.V):
            raise ValueError(
                f"V must be (H,), K and Q (H, d), one row per head, got {self.V.shape}, {self.K.shape}, {self.Q.shape}"
            )

    @property
    def matrix(self) -> Float[Array, "d d"]:
        """W = Σ_h V_h K_h Q_hᵀ; the outputs depend on the weights through W alone."""
        return jnp.einsum("h,hi,hj->ij", self.V, self.K, self.Q)

    @property
    def first(self) -> Float[Array, "two_d H"]:
        """Keys above queries, (2d, H): the weights that see Σ_n y_n x_n and x_query."""
        return jnp.concatenate([self.K, self.Q], axis=1).T

    @property
    def last(self) -> Float[Array, "H 1"]:
        """Values as a column (H, 1)."""
        return self.V[:, None]

    def features(self, inputs: tuple[Num[Any, "*b N d"], Num[Any, "*b N"], Num[Any, "*b d"]]) -> Num[Array, "*b H"]:
        """Return (Σ_n y_n x_nᵀK_h)(Q_hᵀx_query) for each head h, from the three arguments of a call."""
        x, y, query = (jnp.asarray(array) for array in inputs)
        return jnp.einsum("...n,...ni,hi->...h", y, x, self.K) * (query @ self.Q.T)

    def named_parameters(self) -> dict[str, Array]:
        """Return V, K and Q by name."""
        return named_parameters(self)

    def __call__(self, x: Num[Any, "*b N d"], y: Num[Any, "*b N"], query: Num[Any, "*b d"]) -> Num[Array, "*b"]:
        """Return ŷ for a batch of contexts.

        **Arguments:**

        - `x`: (..., N, d) the examples' inputs.
        - `y`: (..., N) the examples' targets.
        - `query`: (..., d) the inputs to predict for.
        """
        return jnp.einsum("...n,...ni,ij,...j->...", jnp.asarray(y), jnp.asarray(x), self.matrix, jnp.asarray(query))
