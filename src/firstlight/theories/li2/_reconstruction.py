"""Theorem 3: which hidden units suffice to reconstruct the group's multiplication table."""

from typing import Literal

import numpy as np
from jaxtyping import Complex, Float

from firstlight.features import Maximum, centred, maxima, require_features
from firstlight.groups import Group, RealComponent

_PAIRS = {
    "real": lambda d: d**3 * (d + 1) // 2,
    "complex": lambda d: 3 * d**4 + d**3,
    "quaternionic": lambda d: d**4,
}


def pairs_needed(component: RealComponent) -> int:
    """Return how many pairs [a; ±b] of generic true maxima of one component span its cross terms a(g)b(g′).

    For a real irrep a ⊗ b = (xᵀCr)(rᵀC′y) has x and y free and rrᵀ symmetric: d·d(d+1)/2·d. The real part of a
    complex irrep also has (x*Cr)(r*C′y), with rr* any matrix: 2d⁴ + d³(d+1). A quaternionic irrep fills all d⁴.

    >>> from firstlight.groups import alternating
    >>> [(c.label, pairs_needed(c)) for c in alternating(4).real_components()[1:]]
    [('1b⊕1c', 4), ('3a', 54)]
    """
    return _PAIRS[component.kind](component.dim)


def nodes_needed(group: Group) -> int:
    """Return the number K of hidden units, generic true maxima of the energy, that reconstruct Ỹ over the whole table.

    For Z_M, M odd, K = 4(M − 1). Li₂ prints 2Σd_k⁴ units [u; ±Pu], which reconstruct over the complex numbers only, and
    only with the conjugate of u in the second half.

    >>> from firstlight.groups import parse
    >>> [nodes_needed(parse(name)) for name in ("Z7", "S3", "A4", "Q8")]
    [24, 26, 116, 38]
    """
    return 2 * sum(pairs_needed(c) for c in group.real_components() if not c.is_trivial)


def reconstructing_nodes(group: Group, seed: int = 0, fewer: int = 0) -> Float[np.ndarray, "twoM K"]:
    """Draw `nodes_needed` random maximisers in pairs [a; ±b], without `fewer` pairs of the last component.

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
    """Draw the hidden units that Theorem 3 prints: [u; ±Pu] with (dim H_k)² random u ∈ H_k per irrep.

    **Arguments:**

    - `group`: of order M.
    - `seed`: of the draws.
    - `domain`: "real" u, "complex" u, or "conjugate": complex u with Pū in the second half.

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
    """Return min_V ‖Ỹ − F̃V‖²/‖Ỹ‖² over the whole table, F = (XW)²: the share of the target not reached (η = 0).

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
