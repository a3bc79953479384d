"""Theorem 3: which hidden nodes suffice to write down the group's multiplication table."""

from typing import Literal

import numpy as np
from jaxtyping import Complex, Float

from firstlight.features import Maximum, centred, maxima
from firstlight.features._energy.maxima import require_features
from firstlight.groups import Group, RealComponent

_PAIRS = {
    "real": lambda d: d**3 * (d + 1) // 2,
    "complex": lambda d: 3 * d**4 + d**3,
    "quaternionic": lambda d: d**4,
}


def pairs_needed(component: RealComponent) -> int:
    """How many pairs [a; ±b] of generic true maxima of one component span its cross terms a(g)b(g′).

    a ⊗ b = (xᵀCr)(rᵀC′y) has x and y free and rrᵀ symmetric: d·d(d+1)/2·d for a real irrep. The real part of a
    complex one also has (x*Cr)(r*C′y), with rr* any matrix: 2d⁴ + d³(d+1). A quaternionic one fills all d⁴.

    >>> from firstlight.groups import alternating
    >>> [(c.label, pairs_needed(c)) for c in alternating(4).real_components()[1:]]
    [('1b⊕1c', 4), ('3a', 54)]
    """
    return _PAIRS[component.kind](component.dim)


def nodes_needed(group: Group) -> int:
    """K with which generic true maxima of the energy reconstruct Ỹ over the whole table.

    For Z_M, M odd, 4(M − 1). Li₂ prints 2Σd_k⁴ nodes [u; ±Pu], which reconstruct over the complex numbers only,
    and only with the conjugate of u in the second half.

    >>> from firstlight.groups import parse
    >>> [nodes_needed(parse(name)) for name in ("Z7", "S3", "A4", "Q8")]
    [24, 26, 116, 38]
    """
    return 2 * sum(pairs_needed(c) for c in group.real_components() if not c.is_trivial)


def reconstructing_nodes(group: Group, seed: int = 0, fewer: int = 0) -> Float[np.ndarray, "twoM K"]:
    """`nodes_needed` random maximisers in pairs [a; ±b], leaving out `fewer` pairs of the last component.

    >>> from firstlight.groups import symmetric
    >>> reconstructing_nodes(symmetric(3)).shape
    (12, 26)
    """
    require_features(group)
    rng = np.random.default_rng(seed)
    families = maxima(group)
    columns: list[np.ndarray] = []
    for family in families:
        count = pairs_needed(family.component) - (fewer if family is families[-1] else 0)
        columns += [node for _ in range(count) for node in _pair(family, rng)]
    return np.stack(columns, axis=1)


def _pair(family: Maximum, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    M, w = family.group.order, family.random_node(rng)
    return w, np.concatenate([w[:M], -w[M:]])


def printed_nodes(
    group: Group, seed: int = 0, domain: Literal["real", "complex", "conjugate"] = "real"
) -> Complex[np.ndarray, "twoM K"]:
    """What Theorem 3 prints, [u; ±Pu] with random u ∈ H_k, (dim H_k)² of them: real, complex, or complex with Pū.

    >>> from firstlight.groups import cyclic
    >>> printed_nodes(cyclic(5), domain="conjugate").shape
    (10, 8)
    """
    require_features(group)
    rng, back = np.random.default_rng(seed), group.inverse
    if domain == "real":
        spaces = [c.basis for c in group.real_components() if not c.is_trivial]
    else:
        spaces = [rho.matrices.reshape(group.order, -1) for rho in group.irreps() if not rho.is_trivial]
    columns = []
    for space in spaces:
        size = space.shape[1]
        for _ in range(size**2):
            u = space @ (rng.standard_normal(size) + (0.0 if domain == "real" else 1j * rng.standard_normal(size)))
            v = u.conj() if domain == "conjugate" else u
            columns += [np.concatenate([u, sign * v[back]]) for sign in (1, -1)]
    return np.stack(columns, axis=1).astype(complex)


def reconstruction_residual(W: np.ndarray, group: Group) -> float:
    """min_V ‖Ỹ − F̃V‖²/‖Ỹ‖² over the whole table, F = (XW)²: the share of the target out of reach (η = 0).

    >>> from firstlight.groups import quaternion
    >>> reconstruction_residual(reconstructing_nodes(quaternion()), quaternion()) < 1e-20
    True
    """
    require_features(group)
    M = group.order
    F = centred(((W[:M, None] + W[None, M:]) ** 2).reshape(M * M, -1))
    Y = np.eye(M)[group.table.ravel()] - 1 / M
    U, s, _ = np.linalg.svd(F, full_matrices=False)
    U = U[:, s > 1e-10 * s[0]]
    return float(np.linalg.norm(Y - U @ (U.conj().T @ Y)) ** 2 / np.linalg.norm(Y) ** 2)
