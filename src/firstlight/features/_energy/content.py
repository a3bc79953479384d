"""The share of every irrep in the weights of a hidden unit, and the share expected by chance."""

from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Real

from firstlight.features._arrays import asarray_like, kind_of, namespace
from firstlight.groups import Group


@lru_cache(maxsize=64)
def _membership(group: Group) -> Float[np.ndarray, "M C"]:
    """Return indicators: entry (m, c) is 1 if column m of `group.real_basis()` belongs to component c."""
    components = group.real_components()
    return np.repeat(np.eye(len(components)), [c.size for c in components], axis=0)


def irrep_content(W: Real[Any, "rows K"], group: Group) -> Float[Any, "K C"]:
    """Return the share ‖P_c w_j‖²/‖w_j‖² of every real component c in every hidden unit j; rows sum to one.

    Both halves of the weights (one per factor of the group product) are added up. The result has the precision of W;
    integers become floating. Works under `jax.jit`.

    **Arguments:**

    - `W`: (mM, K), m blocks of M weights stacked, such as first-layer weights (2M, K) or Vᵀ (M, K).
    - `group`: group of order M, with C real components.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> wave = np.cos(2 * np.pi * np.arange(5) * 2 / 5)
    >>> irrep_content(np.concatenate([wave, 3 * wave])[:, None], cyclic(5)).round(12)
    array([[0., 0., 1.]])
    """
    xp, M = namespace(W), group.order
    if W.shape[0] == 0 or W.shape[0] % M:
        raise ValueError(
            f"weights on {group.name} come as a multiple of {M} rows, one column per hidden unit, got shape {W.shape}; "
            "transpose so that hidden units are columns"
        )
    if kind_of(W) == "complex":
        raise ValueError("weights must be real, got complex numbers; pass real and imaginary parts separately")
    if kind_of(W) == "integer":
        # In the precision of integers the basis would be cut to zeros and ones.
        W = xp.asarray(W, dtype=float)
    basis = asarray_like(group.real_basis(), W)
    squares = xp.matmul(xp.reshape(W.T, (W.shape[1], -1, M)), basis) ** 2
    energies = xp.matmul(xp.sum(squares, axis=1), asarray_like(_membership(group), W))
    total = xp.sum(energies, axis=1, keepdims=True)
    return energies / xp.where(total > 0, total, xp.ones_like(total))


def purity(content: Float[Any, "K C"]) -> Float[Any, " K"]:
    """Return the largest share of a non-trivial component in each hidden unit; 0 if there is none.

    The trivial component is the first column. On a small group purity is far from 0 by chance: compare it with
    `chance_purity`.

    >>> import numpy as np
    >>> purity(np.array([[0.7, 0.2, 0.1]]))
    array([0.2])
    """
    if content.shape[1] == 1:
        return 0 * content[:, 0]
    return namespace(content).amax(content[:, 1:], axis=1)


def node_shares(W: Float[Any, "N K"]) -> Float[Any, " K"]:
    """Return ‖w_j‖²/‖W‖², the weight of each hidden unit in a mean over them; equal weights if W = 0.

    Weight decay shrinks hidden units that learn nothing to almost zero. The direction of their weights is noise.

    >>> import numpy as np
    >>> node_shares(np.array([[3.0, 0.0, 1e-9], [4.0, 5.0, 0.0]])).round(6)
    array([0.5, 0.5, 0. ])
    """
    xp = namespace(W)
    squares = xp.sum(W**2, axis=0)
    total = xp.sum(squares)
    return xp.where(total > 0, squares / xp.where(total > 0, total, 1.0), 1 / W.shape[1])


def chance_content(group: Group) -> Float[np.ndarray, " C"]:
    """Return the expected share of every real component in random weights: its size over M.

    >>> from firstlight.groups import alternating
    >>> chance_content(alternating(4)).round(3)
    array([0.083, 0.167, 0.75 ])
    """
    return np.array([c.size for c in group.real_components()]) / group.order


def dominates(content: Float[Any, "K C"], group: Group) -> Bool[Any, "K C"]:
    r"""Return which component dominates each hidden unit: its share is more than half-way from chance to 1.

    $$s_c > p_c + \tfrac12(1 - p_c), \qquad p_c = \text{size}_c/M$$

    A share above ½ alone proves nothing: in A4 a component holds ¾ of random weights. At most one component dominates
    a hidden unit.

    >>> import numpy as np
    >>> from firstlight.groups import alternating
    >>> dominates(np.array([[0.0, 0.2, 0.8], [0.0, 0.1, 0.9], [0.0, 0.6, 0.4]]), alternating(4))
    array([[False, False, False],
           [False, False,  True],
           [False,  True, False]])
    """
    level = 0.5 * (1 + chance_content(group))
    return content > asarray_like(level, content)


@lru_cache(maxsize=64)
def chance_purity(group: Group, halves: int = 2) -> float:
    r"""Return the expected purity of a hidden unit with random weights N(0, 1).

    The squared parts are γ_c ~ Gamma(m_c/2) with m_c = halves·size_c, and the shares are independent of their sum, so

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
    # Beyond twice the largest mean plus 60, every factor is 1 in double precision.
    points, weights = np.polynomial.legendre.leggauss(400)
    reach = sizes.max() + 60.0
    x = 0.5 * reach * (points + 1)
    missing = 1 - np.prod(gammainc(sizes[:, None] / 2, x), axis=0)
    return float(reach * weights @ missing / (halves * group.order))


@lru_cache(maxsize=64)
def chance_dominance(group: Group, halves: int = 2) -> Float[np.ndarray, " C"]:
    """Return the fraction of random hidden units that each component dominates by chance.

    The share of component c in a random hidden unit is Beta(m_c/2, (m − m_c)/2), with m_c = halves·size_c and
    m = halves·M.

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
