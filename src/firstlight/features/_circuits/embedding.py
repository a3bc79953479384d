"""Irreps in an embedding: how few it uses, and whether each is an orbit of the group."""

from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Complex, Float

from firstlight.features._arrays import asarray_like, namespace
from firstlight.features._energy.content import _membership
from firstlight.groups import Group


def component_norms(W: Float[Any, "rows e"], group: Group) -> Float[Any, " C"]:
    """Return the norm of weights on each real component, per dimension of the component: √(‖P_c W‖²/size_c).

    Division by the size makes components of different irreps comparable; random weights have equal norms.

    **Arguments:**

    - `W`: (mM, e), m blocks of M rows, a row for each element.
    - `group`: group of order M, with C real components.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> component_norms(np.eye(5), cyclic(5))
    array([1., 1., 1.])
    """
    xp = namespace(W)
    coefficients = asarray_like(group.real_basis(), W).T @ _blocks(W, group)
    energies = xp.sum(coefficients**2, axis=(0, 2)) @ asarray_like(_membership(group), W)
    return xp.sqrt(energies / asarray_like(_sizes(group), W))


def irrep_gini(W: Float[Any, "rows e"], group: Group) -> Float[Any, ""]:
    r"""Return the Gini coefficient of the norms of weights on the nontrivial components: 0 if equal, near 1 if sparse.

    $$G = \frac{\sum_{ij} s_i s_j\,|x_i - x_j|}{2\,S \sum_i s_i x_i},$$

    with the norm per dimension x_i of component i, its size s_i and S = Σ s_i = M − 1. Nanda et al. (2023), Section
    5.1, take the norms on every wave; norms per irrep do not depend on the choice of a basis inside an irrep.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> wave = np.cos(2 * np.pi * np.arange(7) / 7)[:, None]
    >>> [round(float(irrep_gini(W, cyclic(7))), 6) for W in (np.eye(7), wave)]
    [0.0, 0.666667]
    """
    xp = namespace(W)
    x, s = component_norms(W, group)[1:], asarray_like(_sizes(group)[1:], W)
    differences = xp.abs(x[:, None] - x[None, :])
    mean = xp.sum(s * x)
    scale = 2 * xp.sum(s) * mean
    return (s @ differences @ s) / xp.where(scale > 0, scale, xp.ones_like(scale))


def orbit_shares(W: Float[Any, "rows e"], group: Group) -> Float[Any, " C"]:
    r"""Return how far the embedding on each component is an orbit of the group: 1 for a circle, ½ for a line.

    The inner products K(g, h) = ⟨P_c W[g], P_c W[h]⟩ of an orbit depend on g⁻¹h alone (or on hg⁻¹ alone). The share is
    that of the part of K which does, by squares: with the Fourier coefficients B_ij = √(d/M) Σ_g ρ(g)_ij W[g] and
    S = ⟨B_ij, B_kl⟩, averaging over translations leaves 1/d ⊗ Tr S. Both sides are tried, and the larger share counts.
    Components without weight have the share 0.

    **Arguments:**

    - `W`: (mM, e), m blocks of M rows; the Fourier coefficients of all blocks are taken side by side.
    - `group`: group of order M, with C real components.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> angle = 2 * np.pi * np.arange(5) / 5
    >>> circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> orbit_shares(circle, cyclic(5)).round(6), orbit_shares(circle[:, :1], cyclic(5)).round(6)
    (array([0., 1., 0.]), array([0. , 0.5, 0. ]))
    """
    xp, blocks = namespace(W), _blocks(W, group)
    # Blocks side by side: (M, m·e), one vector per element.
    rows = xp.reshape(xp.swapaxes(blocks, 0, 1), (group.order, -1))
    floor = float(np.finfo(str(W.dtype).rpartition(".")[2]).eps) ** 2 * xp.sum(rows**2) ** 2
    shares: list[Any] = [None] * len(group.real_components())
    for (d, is_complex), places, matrices in _stacks(group):
        real, imaginary = (
            asarray_like(np.ascontiguousarray(part), W) for part in (np.real(matrices), np.imag(matrices))
        )
        B = (real @ rows) + 1j * (imaginary @ rows)
        S = B @ xp.conj(xp.swapaxes(B, 1, 2))
        squares = xp.sum(xp.abs(S) ** 2, axis=(1, 2))
        if is_complex:
            squares = squares + xp.sum(xp.abs(B @ xp.swapaxes(B, 1, 2)) ** 2, axis=(1, 2))
        T = xp.reshape(S, (len(places), d, d, d, d))
        left, right = (sum(part(T, i) for i in range(d)) for part in (_left, _right))
        invariant = xp.maximum(*(xp.sum(xp.abs(A) ** 2, axis=(1, 2)) / d for A in (left, right)))
        values = xp.where(squares > floor, invariant / xp.where(squares > floor, squares, xp.ones_like(squares)), 0.0)
        for i, place in enumerate(places):
            shares[place] = values[i]
    return xp.stack(shares)


def _left(T: Any, i: int) -> Any:
    return T[:, i, :, i, :]


def _right(T: Any, j: int) -> Any:
    return T[:, :, j, :, j]


@lru_cache(maxsize=64)
def _stacks(group: Group) -> tuple[tuple[tuple[int, bool], tuple[int, ...], Complex[np.ndarray, "c dd M"]], ...]:
    """Return √(d/M) ρ(g)_ij of the irreps of each dimension and kind, one row for each entry ij."""
    alike: dict[tuple[int, bool], list[int]] = {}
    for place, component in enumerate(group.real_components()):
        alike.setdefault((component.dim, component.kind == "complex"), []).append(place)
    stacks = []
    for (d, is_complex), places in alike.items():
        irreps = [group.irreps()[group.real_components()[place].irreps[0]].matrices for place in places]
        rows = np.sqrt(d / group.order) * np.stack([np.reshape(rho, (group.order, d * d)).T for rho in irreps])
        stacks.append(((d, is_complex), tuple(places), rows.astype(complex)))
    return tuple(stacks)


@lru_cache(maxsize=64)
def _sizes(group: Group) -> Float[np.ndarray, " C"]:
    return np.array([c.size for c in group.real_components()], float)


def _blocks(W: Any, group: Group) -> Any:
    if W.ndim != 2 or W.shape[0] == 0 or W.shape[0] % group.order:
        raise ValueError(
            f"an embedding of {group.name} has a multiple of {group.order} rows, one per element, got shape "
            f"{tuple(W.shape)}; transpose so that elements are rows"
        )
    return namespace(W).reshape(W, (-1, group.order, W.shape[1]))
