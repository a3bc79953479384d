"""Group convolution of K functions at once, and its two adjoints.

For an Abelian group the Hartley transform diagonalises the convolution: three matrix products. For any other group,
M shifted products are accumulated in place, which on a CPU is faster than a gather of M² rows.
"""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from firstlight.groups import Group

Functions = Float[Array, "M K"]


def convolve(group: Group, a: Functions, b: Functions) -> Functions:
    """Return t(h) = Σ_g a(g) ∘ b(g⁻¹h), the sum over all pairs with product h.

    >>> import jax.numpy as jnp
    >>> from firstlight.groups import cyclic
    >>> a, b = jnp.array([[0.0], [1.0], [0.0]]), jnp.array([[1.0], [2.0], [3.0]])
    >>> convolve(cyclic(3), a, b).ravel().round(5).tolist()
    [3.0, 1.0, 2.0]
    """
    if group.is_abelian:
        return _hartley_product(group, a, b, conjugate=False)
    return _shifted_sum(a, b, group.table[group.inverse])


def correlate_left(group: Group, b: Functions, u: Functions) -> Functions:
    """Return ∂⟨u, a ∗ b⟩/∂a(g) = Σ_h b(h) ∘ u(gh).

    >>> import jax.numpy as jnp
    >>> from firstlight.groups import cyclic
    >>> b, u = jnp.array([[0.0], [1.0], [0.0]]), jnp.array([[1.0], [2.0], [3.0]])
    >>> correlate_left(cyclic(3), b, u).ravel().round(5).tolist()
    [2.0, 3.0, 1.0]
    """
    if group.is_abelian:
        return _hartley_product(group, b, u, conjugate=True)
    return _shifted_sum(b, u, group.table.T)


def correlate_right(group: Group, a: Functions, u: Functions) -> Functions:
    """Return ∂⟨u, a ∗ b⟩/∂b(h) = Σ_g a(g) ∘ u(gh); equal to `correlate_left` for an Abelian group."""
    if group.is_abelian:
        return _hartley_product(group, a, u, conjugate=True)
    return _shifted_sum(a, u, group.table)


def _shifted_sum(x: Functions, y: Functions, index: Int[np.ndarray, "M M"]) -> Functions:
    """Return Σ_s x[s] ∘ y[index[s]]."""

    def add(t: Functions, row: tuple[Array, Array]) -> tuple[Functions, None]:
        return t + row[0] * y[row[1]], None

    return jax.lax.scan(add, jnp.zeros_like(x), (x, jnp.asarray(index, jnp.int32)))[0]


@lru_cache(maxsize=64)
def _hartley(group: Group) -> tuple[Float[np.ndarray, "M M"], Int[np.ndarray, " M"]]:
    """Return H[k, g] = Re χ_k(g) + Im χ_k(g), with HHᵀ = M·I, and the index of the conjugate of each χ_k."""
    irreps = group.irreps()
    chi = np.stack([rho.character for rho in irreps])
    # int32: JAX caches the conversion of an int64 array, which fails when x64 mode changes.
    return np.real(chi) + np.imag(chi), np.array([rho.conjugate for rho in irreps], np.int32)


def _hartley_product(group: Group, p: Functions, q: Functions, conjugate: bool) -> Functions:
    """Return the function with Fourier transform p̂ q̂, or conj(p̂) q̂, in real arithmetic.

    With h = Re + Im of a transform and h̄ the same at the conjugate character, Re = (h + h̄)/2 and
    Im = (h − h̄)/2, and Re + Im of the product is Re p̂ · h_q + Im p̂ · h̄_q.
    """
    H, bar = _hartley(group)
    H = jnp.asarray(H.astype(p.dtype))
    hp, hq = H @ p, H @ q
    swapped = hp[bar]
    real, imaginary = hp + swapped, (swapped - hp if conjugate else hp - swapped)
    return H.T @ (real * hq + imaginary * hq[bar]) / (2 * group.order)
