"""Large matrices of low rank, correlated in factored form."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float


@dataclass(frozen=True, eq=False)
class Thin:
    """The matrix QAQᵀ (d, d), or QA for A (r, d) if `one_sided`, where Q (d, r) has orthonormal columns.

    Without a Q the matrix is A itself.

    >>> import jax.numpy as jnp
    >>> Q = jnp.array([[0.6], [0.8]])
    >>> first, second = Thin(jnp.array([[2.0]]), Q), Thin(jnp.array([[3.0, 4.0]]), Q, one_sided=True)
    >>> round(float(first.inner(second)), 5), round(float(first.pearson(first)), 5)
    (10.0, 1.0)
    """

    matrix: Float[Array, "r s"]
    basis: Float[Array, "d r"] | None = None
    one_sided: bool = False

    def inner(self, other: "Thin") -> Float[Array, ""]:
        """Return ⟨A, B⟩ over the d×d entries of two matrices with the same Q."""
        A, B = self.matrix, other.matrix
        if self.basis is not None and self.one_sided != other.one_sided:
            A, B = (A @ self.basis, B) if self.one_sided else (A, B @ self.basis)
        return jnp.sum(A * B)

    def mean(self) -> Float[Array, ""]:
        """Return the mean of the d×d entries."""
        if self.basis is None:
            return jnp.mean(self.matrix)
        d, ones = self.basis.shape[0], jnp.sum(self.basis, axis=0)
        return ones @ (jnp.sum(self.matrix, axis=1) if self.one_sided else self.matrix @ ones) / d**2

    def pearson(self, other: "Thin") -> Float[Array, ""]:
        """Return Pearson's correlation of the d×d entries, as `features.pearson` of the full matrices."""
        A, B = self._scaled(), other._scaled()
        d = (A.matrix if A.basis is None else A.basis).shape[0]
        a, b = A.mean(), B.mean()
        size = jnp.sqrt((A.inner(A) - (d * a) ** 2) * (B.inner(B) - (d * b) ** 2))
        return (A.inner(B) - d**2 * a * b) / jnp.where(size > 0, size, jnp.nan)

    def _scaled(self) -> "Thin":
        """Divide by the largest entry, because squares of small gradients underflow in single precision."""
        size = jnp.max(jnp.abs(self.matrix))
        return Thin(self.matrix / jnp.where(size > 0, size, 1), self.basis, self.one_sided)
