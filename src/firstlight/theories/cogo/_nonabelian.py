"""Zero-loss networks for any finite group, from matrix elements of its irreps."""

import numpy as np
from jaxtyping import Float

from firstlight.groups import Group, Irrep
from firstlight.theories.cogo._solution import balancing

_PHASES = 2 * np.pi * np.arange(3) / 3


def craft_from_irreps(group: Group) -> tuple[Float[np.ndarray, "twod q"], Float[np.ndarray, "q d"]]:
    r"""Return W (2d, q) and V (q, d) of a zero-loss network whose hidden units are real maxima of Li₂'s energy.

    $$e_{gh}(x) - \frac1d = \sum_{\rho \ne 1} \frac{d_\rho}{d} \sum_{stu}
      \rho(g)_{st}\,\rho(h)_{tu}\,\overline{\rho(x)_{su}},$$

    and ab = ((a + b)² − (a − b)²)/4 turns each product into two hidden units. Rank-one transforms that share the index
    t maximise the energy (Li₂, Theorem 2). The number of such pairs depends on the type of the irrep:

    - real: d_ρ³;
    - complex, together with its conjugate: 3d_ρ³, at phases α = 0, 2π/3, 4π/3 of (e^{iα}ρ(g)_{st}, e^{iα}ρ(h)_{tu});
    - quaternionic: 3d_ρ³/2, because conjugation exchanges the matrix elements in pairs.

    The hidden units are balanced.

    >>> from firstlight.groups import quaternion
    >>> W, V = craft_from_irreps(quaternion())
    >>> W.shape
    (16, 30)
    """
    require_task(group)
    d = group.order
    blocks = [_units(group, i, rho) for i, rho in enumerate(group.irreps()) if rho.dim > 1 or not _trivial(rho)]
    a, b, v = (np.concatenate([block[part] for block in blocks], axis=1) for part in range(3))
    W = np.concatenate([np.concatenate([a, b]), np.concatenate([a, -b])], axis=1)
    V = np.concatenate([v, -v], axis=1).T / 4
    alive = np.linalg.norm(V, axis=1) > 0
    W, V = W[:, alive], V[alive] / d
    s, t = balancing(np.sum(W**2, axis=0), np.sum(V**2, axis=1))
    return W * s, V * t[:, None]


def require_task(group: Group) -> None:
    """Raise `ValueError` for the group of one element."""
    if group.order < 2:
        raise ValueError("the trivial group has one output and nothing to learn; give a group of order at least 2")


def _trivial(rho: Irrep) -> bool:
    return bool(np.allclose(rho.character, 1))


def _units(group: Group, place: int, rho: Irrep) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a, b, v (M, n) with Σ_j v_j(x) a_j(g) b_j(h) = d_ρ Re tr(ρ(g)ρ(h)ρ(x)*).

    Of two conjugate irreps only the first has units, with doubled weight.
    """
    n, m = rho.dim, rho.matrices
    if rho.kind == "complex" and rho.conjugate < place:
        empty = np.zeros((group.order, 0))
        return empty, empty, empty
    s, t, u = np.indices((n, n, n)).reshape(3, -1)
    if rho.kind == "quaternionic":
        # ρ = ((A, −B̄), (B, Ā)): the triple shifted by n/2 in every index is the conjugate of the triple.
        s, t, u = (index[s < n // 2] for index in (s, t, u))
    x, y, c = m[:, s, t], m[:, t, u], m[:, s, u].conj()
    if rho.kind == "real":
        return np.real(x), np.real(y), n * np.real(c)
    turn = np.exp(1j * _PHASES)[:, None]
    spread = lambda f, phase: np.real(phase * f[:, None]).reshape(group.order, -1)  # noqa: E731
    # Σ_α Re(e^{iα}x) Re(e^{iα}y) Re(e^{−2iα}c) = (3/4) Re(xyc); both members of the pair count.
    return spread(x, turn), spread(y, turn), spread(c, turn**-2) * (2 * n * 4 / 3)
