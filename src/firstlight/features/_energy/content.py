"""How much of every irrep there is in a node's weights, and how much by chance."""

from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Real

from firstlight.groups import Group


@lru_cache(maxsize=64)
def _membership(group: Group) -> Float[np.ndarray, "M C"]:
    """Which column of `group.real_basis()` belongs to which component."""
    components = group.real_components()
    return np.repeat(np.eye(len(components)), [c.size for c in components], axis=0)


def irrep_content(W: Real[Any, "rows K"], group: Group) -> Float[Any, "K C"]:
    """The share ‖P_c w_j‖²/‖w_j‖² of every real component c in every node j; rows sum to one.

    Halves of the weights, one per factor of the product, are taken together. Works on NumPy and JAX arrays, under
    `jit` too, in the precision of W; integers become floating.

    **Arguments:**

    - `W`: (mM, K), the m halves of M weights each stacked, such as first-layer weights (2M, K) or Vᵀ (M, K).
    - `group`: of order M, with C real components.

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
    if xp.isdtype(W.dtype, "complex floating"):
        raise ValueError("weights must be real, got complex ones; pass their real and imaginary parts on their own")
    if not xp.isdtype(W.dtype, "real floating"):
        # In the precision of integers the basis would be cut to zeros and ones.
        W = xp.asarray(W, dtype=float)
    basis = xp.asarray(group.real_basis(), dtype=W.dtype)
    squares = xp.matmul(xp.reshape(W.T, (W.shape[1], -1, M)), basis) ** 2
    energies = xp.matmul(xp.sum(squares, axis=1), xp.asarray(_membership(group), dtype=W.dtype))
    total = xp.sum(energies, axis=1, keepdims=True)
    return energies / xp.where(total > 0, total, xp.ones_like(total))


def purity(content: Float[Any, "K C"]) -> Float[Any, " K"]:
    """The share of a node's strongest component besides the trivial one, which is the first; 0 if there is no other.

    On a small group it is far from 0 by chance: compare it with `chance_purity`.

    >>> import numpy as np
    >>> purity(np.array([[0.7, 0.2, 0.1]]))
    array([0.2])
    """
    if content.shape[1] == 1:
        return 0 * content[:, 0]
    return content.__array_namespace__().max(content[:, 1:], axis=1)


def node_shares(W: Float[Any, "N K"]) -> Float[Any, " K"]:
    """‖w_j‖²/‖W‖², by which nodes count in a mean over them; equal where all are zero.

    Weight decay puts out nodes that learn nothing. Their direction is defined still, and means nothing.

    >>> import numpy as np
    >>> node_shares(np.array([[3.0, 0.0, 1e-9], [4.0, 5.0, 0.0]])).round(6)
    array([0.5, 0.5, 0. ])
    """
    xp = W.__array_namespace__()
    squares = xp.sum(W**2, axis=0)
    total = xp.sum(squares)
    return xp.where(total > 0, squares / xp.where(total > 0, total, 1.0), 1 / W.shape[1])


def chance_content(group: Group) -> Float[np.ndarray, " C"]:
    """The share of every real component in weights without direction: its size over M.

    >>> from firstlight.groups import alternating
    >>> chance_content(alternating(4)).round(3)
    array([0.083, 0.167, 0.75 ])
    """
    return np.array([c.size for c in group.real_components()]) / group.order


def dominates(content: Float[Any, "K C"], group: Group) -> Bool[Any, "K C"]:
    r"""Which components rule which nodes: their share is more than half-way from chance to all.

    $$s_c > p_c + \tfrac12(1 - p_c), \qquad p_c = \text{size}_c/M$$

    A share above one half says nothing where a component holds three quarters of all weights, as in A4. At most
    one component rules a node.

    >>> import numpy as np
    >>> from firstlight.groups import alternating
    >>> dominates(np.array([[0.0, 0.2, 0.8], [0.0, 0.1, 0.9], [0.0, 0.6, 0.4]]), alternating(4))
    array([[False, False, False],
           [False, False,  True],
           [False,  True, False]])
    """
    level = 0.5 * (1 + chance_content(group))
    return content > content.__array_namespace__().asarray(level, dtype=content.dtype)


@lru_cache(maxsize=64)
def chance_purity(group: Group, halves: int = 2) -> float:
    r"""The expected purity of random nodes, of weights N(0, 1).

    The squared parts are γ_c ~ Gamma(m_c/2) with m_c = halves·size_c, and shares are independent of their sum, so

    $$\mathbb{E}\max_{c\ne0}\frac{\gamma_c}{\sum\gamma} = \frac{2}{\text{halves}\cdot M}
      \int_0^\infty \Big(1 - \prod_{c\ne0} P(m_c/2, x)\Big)\,dx .$$

    >>> from firstlight.groups import parse
    >>> [round(chance_purity(parse(name)), 2) for name in ("S3", "A4", "Z71")]
    [0.68, 0.75, 0.09]
    """
    from scipy.special import gammainc

    sizes = halves * np.array([c.size for c in group.real_components()][1:])
    if not len(sizes):
        return 0.0
    # Past twice the largest mean and 60 more, no factor differs from 1 in double precision.
    nodes, weights = np.polynomial.legendre.leggauss(400)
    reach = sizes.max() + 60.0
    x = 0.5 * reach * (nodes + 1)
    missing = 1 - np.prod(gammainc(sizes[:, None] / 2, x), axis=0)
    return float(reach * weights @ missing / (halves * group.order))


@lru_cache(maxsize=64)
def chance_dominance(group: Group, halves: int = 2) -> Float[np.ndarray, " C"]:
    """The share of random nodes that every component rules by chance: shares are Beta(m_c/2, (m − m_c)/2).

    >>> from firstlight.groups import parse
    >>> chance_dominance(parse("A4")).round(3)
    array([0.   , 0.001, 0.15 ])
    """
    from scipy.special import betainc

    chance = chance_content(group)
    if len(chance) == 1:
        return np.ones(1)
    inside = 0.5 * halves * group.order
    return 1 - betainc(inside * chance, inside * (1 - chance), 0.5 * (1 + chance))
