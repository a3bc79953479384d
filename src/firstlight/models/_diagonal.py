"""Diagonal linear networks (AGF, Section 3)."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from firstlight.models._projection import Matrix, Projection, project


class Diagonal(eqx.Module):
    """ŷ = X(u ∘ v): the simplest network with sparse limits.

    **Attributes:**

    - `u`: (d,) input weights.
    - `v`: (d,) output weights.

    >>> import jax.numpy as jnp
    >>> Diagonal(jnp.array([2.0, 1.0]), jnp.array([3.0, 0.0]))(jnp.eye(2)).ravel().tolist()
    [6.0, 0.0]
    """

    u: Float[Array, " d"] = eqx.field(converter=jnp.asarray)
    v: Float[Array, " d"] = eqx.field(converter=jnp.asarray)

    def __check_init__(self) -> None:
        if self.u.ndim != 1 or self.u.shape != self.v.shape:
            raise ValueError(f"u and v must both be (d,), got {self.u.shape} and {self.v.shape}")

    @classmethod
    def init(cls, inputs: int, alpha: float) -> "Diagonal":
        """u = √2·α, v = 0, as Pesme and Flammarion and AGF start.

        >>> Diagonal.init(2, 0.5).beta.tolist()
        [0.0, 0.0]
        """
        return cls(jnp.full(inputs, jnp.sqrt(2.0) * alpha), jnp.zeros(inputs))

    @property
    def beta(self) -> Float[Array, " d"]:
        """β = u ∘ v, the coefficients of the linear map."""
        return self.u * self.v

    def apply(self, project: Projection) -> Num[Array, "n 1"]:
        """Ŷ from the map W ↦ XW."""
        return project(self.beta[:, None])

    def __call__(self, X: Matrix) -> Num[Array, "n 1"]:
        """Ŷ = Xβ for X (n, d)."""
        return self.apply(lambda W: project(X, W))
