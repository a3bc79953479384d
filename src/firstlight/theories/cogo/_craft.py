"""Zero-loss networks built instead of trained (CoGO, Appendix A and its corrections)."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Complex, Float

from firstlight.groups import Group
from firstlight.theories.cogo import _factors as factors
from firstlight.theories.cogo._factors import Profile
from firstlight.theories.cogo._frequencies import Index, frequencies
from firstlight.theories.cogo._nonabelian import craft_from_irreps, require_task
from firstlight.theories.cogo._solution import Solution, balanced

CRAFT_KINDS = ("F6", "F4", "F4+repair", "F4+F6", "memorise")
"""What `craft` can make."""


def craft(group: Group, kind: str = "F6", *, seed: int | None = None) -> Solution:
    r"""A global optimizer for an Abelian group, each of its nodes at the least norm.

    (a, b, c) → (sa, sb, c/s²) leaves a node's output alone, and s is chosen so that ‖node‖² is least. In `F6`, `F4`
    and `memorise` the moduli of a, b and c are moreover equal at every frequency that a node has, so that
    |a|² + |b|² + |c|² = 3|abc|^{2/3}, the least that any node with the same product abc can have. `F4+repair` and
    `F4+F6` are least node by node only: the share of the bias that each node takes could be chosen better.

    | `kind` | nodes | loss |
    |---|---|---|
    | `F6` | 6 per pair ±k, z̃_k ∗ z′_k ∗ y_k; 2 where −k = k (Corollary 2) | 0 |
    | `F4+repair` | 4 per pair and 2 for all: the bias that F4 leaves, on one cos and one sin | 0 |
    | `F4+F6` | 4 per pair, 6 at one pair, whose nodes absorb the bias | 0 |
    | `F4` | 4 per pair (Corollary 3): a constant bias is left; zero loss when samples are centred | 2/d per k ≠ −k |
    | `memorise` | d², one per pair of elements (Corollary 4) | 0 |

    **Arguments:** `seed` draws the free phases y_k; without it they are 1. `F4+repair` needs a pair ±k to put its
    cos and sin on and `F4+F6` one for the F6; in Z2^n there is none, `F4` and `F6` are the same and of zero loss, and
    the other two are refused.

    >>> from firstlight.groups import cyclic
    >>> from firstlight.theories.cogo import table_loss
    >>> for kind in CRAFT_KINDS:
    ...     optimizer = craft(cyclic(7), kind)
    ...     print(kind, optimizer.order, round(table_loss(*optimizer.weights, cyclic(7)), 6))
    F6 18 0.0
    F4 12 1.714286
    F4+repair 14 0.0
    F4+F6 14 0.0
    memorise 49 0.0
    """
    if kind not in CRAFT_KINDS:
        raise ValueError(f"kind is one of {', '.join(CRAFT_KINDS)}; got {kind!r}")
    require_task(group)
    f = frequencies(group)
    if kind == "memorise":
        first, second = factors.memorising_factors(group)
        return balanced(first * second)
    pairs = [k for k in f.halves if k not in f.real]
    if kind in ("F4+repair", "F4+F6") and not pairs:
        raise ValueError(f'every frequency of {group.name} is real, so there is no F4 to repair; use kind="F6"')
    six = set(pairs) if kind == "F6" else set(pairs[:1]) if kind == "F4+F6" else set()
    crafted = _assemble(group, six, None if seed is None else np.random.default_rng(seed))
    if kind == "F4+repair":
        return crafted + bias_repair(crafted, pairs[0])
    return _absorbing(crafted, pairs[0]) if kind == "F4+F6" else crafted


def craft_any(group: Group) -> tuple[Float[np.ndarray, "twod q"], Float[np.ndarray, "q d"]]:
    """Weights W (2d, q) and V (q, d) of a zero-loss network for any finite group, Abelian or not.

    Non-Abelian groups take maxima of Li₂'s energy as nodes, see `craft_from_irreps`.

    >>> from firstlight.groups import symmetric
    >>> from firstlight.theories.cogo import table_loss
    >>> W, V = craft_any(symmetric(3))
    >>> W.shape, table_loss(W, V, symmetric(3)) < 1e-26
    ((12, 18), True)
    """
    return craft(group).weights if group.is_abelian else craft_from_irreps(group)


def fourier_six(group: Group, k: Index, alpha: float = 0.0, beta: float = 0.0, twist: float = 0.0) -> Solution:
    """z̃_k ∗ z′_k ∗ y_k, of order 6: eq. (4) at frequency ±k (Corollary 2)."""
    return factors.at_frequency(group, k, *six_profile(group.order, alpha, beta, twist))


def fourier_four(group: Group, k: Index, alpha: float = 0.0, beta: float = 0.0) -> Solution:
    """z_F4 at frequency ±k, of order 4 and balanced: in R₊ ∩ R_c ∩ R_⊛ but not in R_n (Corollary 3)."""
    return factors.at_frequency(group, k, *four_profile(group.order, alpha, beta))


def six_profile(d: int, alpha: float = 0.0, beta: float = 0.0, twist: float = 0.0) -> Profile:
    """The coefficients of `fourier_six`, of modulus (12d)^{−1/3}."""
    units = factors.unit_profile(alpha, beta)
    return factors.product(factors.order_three_profile(d), factors.order_two_profile(twist), units)


def four_profile(d: int, alpha: float = 0.0, beta: float = 0.0) -> Profile:
    """The coefficients of `fourier_four`, brought to the common modulus (8d)^{−1/3}."""
    profile = factors.product(*factors.four_profiles(d), factors.unit_profile(alpha, beta))
    return profile / np.abs(profile) * (8 * d) ** (-1 / 3)


def bias(solution: Solution) -> Complex[np.ndarray, " d"]:
    """δ_k = Σ_j Σ_k′ (|z_{ak′j}|² + |z_{bk′j}|²) z_{ckj}, the constant output of a solution, by frequency k ≠ 0."""
    delta = solution.z[2] @ np.sum(np.abs(solution.z[:2]) ** 2, axis=(0, 1))
    delta[0] = 0
    return delta


def bias_repair(solution: Solution, k: Index) -> Solution:
    """Two nodes that cancel a solution's constant output: a = cos, sin at frequency k, b = 0, c = −2δ, balanced.

    cos² + sin² = 1 is constant whatever c is, so nothing else changes.
    """
    # z_a of cos is ½ at ±k, so that each node has Σ|a|² = ½ and both together 1.
    z = factors.at_frequency(solution.group, k, [0.5, -0.5j], [0, 0], [0, 0]).z.copy()
    z[2] = -bias(solution)[:, None]
    return balanced(Solution.trusted(solution.group, z))


def _absorbing(solution: Solution, k: int) -> Solution:
    """Let the nodes of an F6 at frequency k share −δ: Σ_j a_j b_j = 0 over them, so only the constant sees it."""
    nodes = np.flatnonzero(solution.z[0, k])
    z = solution.z.copy()
    z[2][:, nodes] -= (bias(solution) / np.sum(np.abs(z[:2, :, nodes]) ** 2))[:, None]
    return balanced(Solution.trusted(solution.group, z))


def _assemble(group: Group, six: set[int], rng: np.random.Generator | None) -> Solution:
    """The sum of one block per pair ±k: F6 at the frequencies in `six`, F4 at the others, with phases from `rng`."""
    f = frequencies(group)
    blocks: Mapping[str, Profile] = {
        "six": six_profile(f.d),
        "four": four_profile(f.d),
        "real": factors.real_profile(f.d),
    }
    chosen = ["real" if k in f.real else "six" if k in six else "four" for k in f.halves]
    starts = np.cumsum([0, *(blocks[name].shape[1] for name in chosen)])
    z = np.zeros((3, f.d, int(starts[-1])), complex)
    for k, name, start in zip(f.halves, chosen, starts, strict=False):
        profile = blocks[name]
        if rng is not None and name != "real":
            profile = factors.product(profile, factors.unit_profile(*rng.uniform(0, 2 * np.pi, 2)))
        z[:, k, start : start + profile.shape[1]] = profile
        z[:, f.negative[k], start : start + profile.shape[1]] = profile.conj()
    return Solution.trusted(group, z)
