"""The K×K part of the loss: Gram matrices of embeddings and output weights, and the gradient through them."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_PANEL = 256  # rows of the Gram matrices at a time, so that six matrices of a wide network fit in cache


def interaction(
    a: Float[Array, "M K"], b: Float[Array, "M K"], U: Float[Array, "K M"]
) -> tuple[Float[Array, "M K"], Float[Array, "M K"], Float[Array, "K M"]]:
    r"""Return half the gradient of $\langle G_a \circ G_b, G_U \rangle$ in a, b and U; ⟨U, third part⟩ is its value.

    $$a\,(G_b \circ G_U), \qquad b\,(G_a \circ G_U), \qquad (G_a \circ G_b)\,U,$$

    with G_a = aᵀa, G_b = bᵀb and G_U = UUᵀ: six products of K²M multiplications.

    >>> import jax.numpy as jnp
    >>> [x.item() for x in interaction(jnp.array([[2.0]]), jnp.array([[3.0]]), jnp.array([[5.0]]))]
    [450.0, 300.0, 180.0]
    """
    K, M = U.shape
    if K <= 2 * _PANEL:
        G_a, G_b, G_U = a.T @ a, b.T @ b, U @ U.T
        return a @ (G_b * G_U), b @ (G_a * G_U), (G_a * G_b) @ U
    tables = (a.T, b.T, U)

    def rows(panel: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        G_a, G_b, G_U = (part @ whole.T for part, whole in zip(panel, tables, strict=True))
        return (G_b * G_U) @ tables[0], (G_a * G_U) @ tables[1], (G_a * G_b) @ tables[2]

    padding = ((0, -K % _PANEL), (0, 0))
    panels = tuple(jnp.pad(table, padding).reshape(-1, _PANEL, M) for table in tables)
    pulled = [part.reshape(-1, M)[:K] for part in jax.lax.map(rows, panels)]
    return pulled[0].T, pulled[1].T, pulled[2]
