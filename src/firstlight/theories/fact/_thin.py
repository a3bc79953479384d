"""Large matrices of low rank, aligned without being written out."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float


@dataclass(frozen=True, eq=False)
class Thin:
    """QAQᵀ (d, d) for Q (d, r) with orthonormal columns, or QA for A (r, d) if `one_sided`; A itself without a Q.

    >>> import jax.numpy as jnp
    >>> Q = jnp.array([[0.6], [0.8]])
    >>> one, two = Thin(jnp.array([[2.0]]), Q), Thin(jnp.array([[3.0, 4.0]]), Q, one_sided=True)
    >>> round(float(one.inner(two)), 5), round(float(one.pearson(one)), 5)
    (10.0, 1.0)
    """

    matrix: Float[Array, "r s"]
    basis: Float[Array, "d r"] | None = None
    one_sided: bool = False

    def inner(self, other: "Thin") -> Float[Array, ""]:
        """⟨A, B⟩ over the d×d entries of two matrices with the same Q."""
        A, B = self.matrix, other.matrix
        if self.basis is not None and self.one_sided != other.one_sided:
            A, B = (A @ self.basis, B) if self.one_sided else (A, B @ self.basis)
        return jnp.sum(A * B)

    def mean(self) -> Float[Array, ""]:
        """Of the d×d entries."""
        if self.basis is None:
            return jnp.mean(self.matrix)
        d, ones = self.basis.shape[0], jnp.sum(self.basis, axis=0)
        return ones @ (jnp.sum(self.matrix, axis=1) if self.one_sided else self.matrix @ ones) / d**2

    def pearson(self, other: "Thin") -> Float[Array, ""]:
        """Pearson's correlation of the d×d entries: `features.pearson` of the matrices written out."""
        one, two = self._scaled(), other._scaled()
        d = (one.matrix if one.basis is None else one.basis).shape[0]
        a, b = one.mean(), two.mean()
        size = jnp.sqrt((one.inner(one) - (d * a) ** 2) * (two.inner(two) - (d * b) ** 2))
        return (one.inner(two) - d**2 * a * b) / jnp.where(size > 0, size, jnp.nan)

    def _scaled(self) -> "Thin":
        """Squares of small gradients would underflow in single precision."""
        size = jnp.max(jnp.abs(self.matrix))
        return Thin(self.matrix / jnp.where(size > 0, size, 1), self.basis, self.one_sided)
