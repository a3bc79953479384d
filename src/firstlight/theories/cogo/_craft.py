"""Build zero-loss networks instead of training them (CoGO, Appendix A, with corrections)."""

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
"""The kinds of networks that `craft` builds."""


def craft(group: Group, kind: str = "F6", *, seed: int | None = None) -> Solution:
    r"""Build a global optimizer for an Abelian group, with each hidden unit at its least norm.

    The scaling (a, b, c) → (sa, sb, c/s²) keeps the output of a hidden unit, and s minimises its norm. In `F6`, `F4`
    and `memorise` the moduli of a, b and c are also equal at every frequency of a unit. Then |a|² + |b|² + |c|² =
    3|abc|^{2/3}, the least norm with the same product abc. `F4+repair` and `F4+F6` are least unit by unit only: the
    bias could be shared out better.

    | `kind` | hidden units | loss |
    |---|---|---|
    | `F6` | 6 per pair ±k, z̃_k ∗ z′_k ∗ y_k; 2 where −k = k (Corollary 2) | 0 |
    | `F4+repair` | 4 per pair, and 2 (a cos and a sin) that cancel the bias of the F4s | 0 |
    | `F4+F6` | 4 per pair, 6 at one pair, which absorb the bias | 0 |
    | `F4` | 4 per pair (Corollary 3): a constant bias is left; zero loss when samples are centred | 2/d per k ≠ −k |
    | `memorise` | d², one per pair of elements (Corollary 4) | 0 |

    **Arguments:**

    - `group`: an Abelian group of order at least 2.
    - `kind`: one of `CRAFT_KINDS`. `F4+repair` and `F4+F6` need a pair k ≠ −k and raise `ValueError` in Z2^n, where
      `F4` and `F6` are the same and have zero loss.
    - `seed`: draws the free phases y_k; without a seed they are 1.

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
    """Return weights W (2d, q) and V (q, d) of a zero-loss network for any finite group.

    For non-Abelian groups the hidden units are maxima of Li₂'s energy, see `lemmas.craft_from_irreps`.

    >>> from firstlight.groups import symmetric
    >>> from firstlight.theories.cogo import table_loss
    >>> W, V = craft_any(symmetric(3))
    >>> W.shape, table_loss(W, V, symmetric(3)) < 1e-26
    ((12, 18), True)
    """
    return craft(group).weights if group.is_abelian else craft_from_irreps(group)


def fourier_six(group: Group, k: Index, alpha: float = 0.0, beta: float = 0.0, twist: float = 0.0) -> Solution:
    """Return z̃_k ∗ z′_k ∗ y_k of order 6, which satisfies eq. (4) at frequency ±k (Corollary 2)."""
    return factors.at_frequency(group, k, *six_profile(group.order, alpha, beta, twist))


def fourier_four(group: Group, k: Index, alpha: float = 0.0, beta: float = 0.0) -> Solution:
    """Return z_F4 at frequency ±k, of order 4 and balanced: in R₊ ∩ R_c ∩ R_⊛ but not in R_n (Corollary 3)."""
    return factors.at_frequency(group, k, *four_profile(group.order, alpha, beta))


def six_profile(d: int, alpha: float = 0.0, beta: float = 0.0, twist: float = 0.0) -> Profile:
    """Return the coefficients of `fourier_six`, of modulus (12d)^{−1/3}."""
    units = factors.unit_profile(alpha, beta)
    return factors.product(factors.order_three_profile(d), factors.order_two_profile(twist), units)


def four_profile(d: int, alpha: float = 0.0, beta: float = 0.0) -> Profile:
    """Return the coefficients of `fourier_four`, scaled to the common modulus (8d)^{−1/3}."""
    profile = factors.product(*factors.four_profiles(d), factors.unit_profile(alpha, beta))
    return profile / np.abs(profile) * (8 * d) ** (-1 / 3)


def bias(solution: Solution) -> Complex[np.ndarray, " d"]:
    """Return the constant output of a solution, δ_k = Σ_j Σ_k′ (|z_{ak′j}|² + |z_{bk′j}|²) z_{ckj} for k ≠ 0."""
    delta = solution.z[2] @ np.sum(np.abs(solution.z[:2]) ** 2, axis=(0, 1))
    delta[0] = 0
    return delta


def bias_repair(solution: Solution, k: Index) -> Solution:
    """Return two hidden units that cancel a solution's constant output.

    They have a = cos, sin at frequency k, b = 0 and c = −2δ, balanced. Since cos² + sin² = 1 is constant, nothing else
    changes.
    """
    # z_a of cos is ½ at ±k, so each unit has Σ|a|² = ½ and both together 1.
    z = factors.at_frequency(solution.group, k, [0.5, -0.5j], [0, 0], [0, 0]).z.copy()
    z[2] = -bias(solution)[:, None]
    return balanced(Solution.trusted(solution.group, z))


def _absorbing(solution: Solution, k: int) -> Solution:
    """Add −δ to the outputs of an F6 at frequency k; Σ_j a_j b_j = 0 over its units, so only the constant changes."""
    units = np.flatnonzero(solution.z[0, k])
    z = solution.z.copy()
    z[2][:, units] -= (bias(solution) / np.sum(np.abs(z[:2, :, units]) ** 2))[:, None]
    return balanced(Solution.trusted(solution.group, z))


def _assemble(group: Group, six: set[int], rng: np.random.Generator | None) -> Solution:
    """Sum one block per pair ±k: F6 at the frequencies in `six`, F4 at the others, with phases from `rng`."""
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
