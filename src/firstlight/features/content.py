"""How much of every irrep there is in a node's weights."""

from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from firstlight.groups import Group


@lru_cache(maxsize=64)
def _membership(group: Group) -> Float[np.ndarray, "M C"]:
    """Which column of `group.real_basis()` belongs to which component."""
    components = group.real_components()
    return np.repeat(np.eye(len(components)), [c.size for c in components], axis=0)


def irrep_content(W: Float[Any, "rows K"], group: Group) -> Float[Any, "K C"]:
    """The share ‖P_c w_j‖²/‖w_j‖² of every real component c in every node j; rows sum to one.

    Halves of the weights, one per factor of the product, are taken together. Works on NumPy and JAX arrays, under
    `jit` too, in the precision of W.

    Args:
        W: (mM, K), the m halves of M weights each stacked, such as first-layer weights (2M, K) or Vᵀ (M, K).
        group: of order M, with C real components.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> wave = np.cos(2 * np.pi * np.arange(5) * 2 / 5)
    >>> irrep_content(np.concatenate([wave, 3 * wave])[:, None], cyclic(5)).round(12)
    array([[0., 0., 1.]])
    """
    xp, M = W.__array_namespace__(), group.order
    if W.shape[0] == 0 or W.shape[0] % M:
        raise ValueError(
            f"weights on {group.name} come as a multiple of {M} rows, one column per node, got shape {W.shape}; "
            "transpose so that nodes are columns"
        )
    basis = xp.asarray(group.real_basis(), dtype=W.dtype)
    squares = xp.matmul(xp.reshape(W.T, (W.shape[1], -1, M)), basis) ** 2
    energies = xp.matmul(xp.sum(squares, axis=1), xp.asarray(_membership(group), dtype=W.dtype))
    total = xp.sum(energies, axis=1, keepdims=True)
    return energies / xp.where(total > 0, total, xp.ones_like(total))


def purity(content: Float[Any, "K C"]) -> Float[Any, " K"]:
    """The share of a node's strongest component besides the trivial one, which is the first.

    >>> import numpy as np
    >>> purity(np.array([[0.7, 0.2, 0.1]]))
    array([0.2])
    """
    return content.__array_namespace__().max(content[:, 1:], axis=1)
