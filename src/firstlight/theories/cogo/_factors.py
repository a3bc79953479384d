"""Partial solutions, the factors of global optimizers (CoGO, Appendix A), with corrected constants.

Each factor has one pair of frequencies ±k and satisfies some of the constraint sets. A product satisfies those of
either factor, because every monomial potential is a ring homomorphism.
"""

import cmath
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Complex

from firstlight.groups import Group
from firstlight.theories.cogo._frequencies import Index, frequencies
from firstlight.theories.cogo._solution import Solution

OMEGA_3 = cmath.exp(-2j * math.pi / 3)
OMEGA_8 = cmath.exp(-1j * math.pi / 4)

Numbers = Sequence[complex | float] | np.ndarray
Profile = Complex[np.ndarray, "3 _"]
"""The coefficients a, b, c of q hidden units at one frequency."""


def at_frequency(group: Group, k: Index, a: Numbers, b: Numbers, c: Numbers) -> Solution:
    """Return the solution with coefficients a, b, c (order,) at k, their conjugates at −k, and zero elsewhere.

    >>> from firstlight.groups import cyclic
    >>> at_frequency(cyclic(5), 2, [1j], [1], [1]).z[0, :, 0]
    array([0.+0.j, 0.+0.j, 0.+1.j, 0.-1.j, 0.+0.j])
    """
    f = frequencies(group)
    place = f.place(k)
    if place == 0:
        raise ValueError("a factor needs a frequency k ≠ 0; the loss does not depend on k = 0")
    values = np.array([a, b, c], dtype=complex)
    if place in f.real and np.abs(np.imag(values)).max(initial=0.0) > 1e-12:
        raise ValueError(f"frequency {f.label(place)} is its own conjugate, so its coefficients are real; got {values}")
    z = np.zeros((3, f.d, values.shape[1]), complex)
    z[:, place] = values
    z[:, f.negative[place]] = values.conj()
    return Solution(group, z)


def unit(group: Group, k: Index, alpha: float = 0.0, beta: float = 0.0) -> Solution:
    """Return the ring unit y of order 1: phases (e^{iα}, e^{iβ}, e^{−i(α+β)}), so that r_kkk(y) = 1."""
    return at_frequency(group, k, *unit_profile(alpha, beta))


def order_three(group: Group, k: Index) -> Solution:
    """Return z̃ of order 3: all parts [1, ω₃, ω₃²]/(6d)^{1/3}; in R_c ∩ R_n, with r_kkk = 1/2d (Lemma 2, eq. 5)."""
    return at_frequency(group, k, *order_three_profile(group.order))


def order_two(group: Group, k: Index, twist: float = 0.0) -> Solution:
    """Return z′ of order 2, which is in R_⊛ unlike z̃: ξ and its conjugate, with r_kkk = 1 (Corollary 2, eq. 75).

    ξ_a = e^{iπ/4 − iθ/2}, ξ_b = e^{−iπ/4 − iθ/2}, ξ_c = e^{iθ}, all times 2^{−1/3}, which the paper leaves out;
    θ = `twist` runs through all such factors with |ξ| = 1.
    """
    return at_frequency(group, k, *order_two_profile(twist))


def order_pair(group: Group, k: Index) -> Solution:
    """Return p of order 2: a = [1, i], b = [1, −i], c = [1, 1], all times 2^{−1/3}.

    It is in R_⊛ and, except for r_{k,k,−k}, in R_c.

    Trained blocks are p ∗ (sum of ring units). Two ring units with phases of c a quarter of a turn apart make an F4;
    three, a third of a turn apart, make an F6 that is not the z̃ ∗ z′ of Corollary 2.
    """
    return at_frequency(group, k, *pair_profile())


def four_factors(group: Group, k: Index) -> tuple[Solution, Solution]:
    """Return the two order-2 factors of z_F4, each with r_kkk = 1/√2d (Corollary 3, eqs. 7 and 8)."""
    first, second = four_profiles(group.order)
    return at_frequency(group, k, *first), at_frequency(group, k, *second)


def real_block(group: Group, k: Index) -> Solution:
    """Return the optimizer at a frequency with −k = k: a = [1, 1], b = c = [1, −1], all times (4d)^{−1/3}.

    >>> from firstlight.groups import cyclic
    >>> real_block(cyclic(6), 1)
    Traceback (most recent call last):
    ValueError: real_block needs a frequency with −k = k (of Z6: 3); got ±1, where fourier_six is the optimizer
    """
    f = frequencies(group)
    if f.place(k) not in f.real:
        real = ", ".join(f.label(r) for r in f.real) or "none"
        raise ValueError(
            f"real_block needs a frequency with −k = k (of {group.name}: {real}); got {f.label(f.place(k))}, where "
            "fourier_six is the optimizer"
        )
    return at_frequency(group, k, *real_profile(group.order))


def memorising_factors(group: Group) -> tuple[Solution, Solution]:
    """Return z_a and z_b of order d, with product z_M (Corollary 4, eqs. 9 and 10; eq. 10 prints a and b swapped).

    In the first, a = ω^{kj}/√d, b = 1/√d, c = ω^{−kj}/√2d; the second has a and b exchanged. Here ω^{kj} is
    conj φ_k(j), and k ≠ 0.
    """
    f = frequencies(group)
    d = f.d
    omega = f.transform(np.eye(d)) * d
    a, b, c = omega / math.sqrt(d), np.full((d, d), d**-0.5, complex), omega.conj() / math.sqrt(2 * d)
    for part in (a, b, c):
        part[0] = 0
    return Solution(group, np.stack([a, b, c])), Solution(group, np.stack([b, a, c]))


def unit_profile(alpha: float, beta: float) -> Profile:
    """Return the coefficients of `unit`."""
    return np.exp(1j * np.array([[alpha], [beta], [-alpha - beta]]))


def order_three_profile(d: int) -> Profile:
    """Return the coefficients of `order_three`."""
    return np.tile(np.array([1, OMEGA_3, OMEGA_3**2]) * (6 * d) ** (-1 / 3), (3, 1))


def order_two_profile(twist: float = 0.0) -> Profile:
    """Return the coefficients of `order_two`."""
    xi = 2 ** (-1 / 3) * np.exp(1j * np.array([math.pi / 4 - twist / 2, -math.pi / 4 - twist / 2, twist]))
    return np.stack([xi, xi.conj()], axis=1)


def pair_profile() -> Profile:
    """Return the coefficients of `order_pair`."""
    return np.array([[1, 1j], [1, -1j], [1, 1]]) * 2 ** (-1 / 3)


def four_profiles(d: int) -> tuple[Profile, Profile]:
    """Return the coefficients of `four_factors`."""
    w, v = OMEGA_8, OMEGA_8.conjugate()
    sizes = np.array([[0.5], [0.5], [1 / (2 * d)]]) ** 0.5
    return np.array([[1, v**2], [v, w], [w, w]]) * sizes, np.array([[1, w], [w, v**2], [v, w]]) * sizes


def real_profile(d: int) -> Profile:
    """Return the coefficients of `real_block`."""
    return np.array([[1, 1], [1, -1], [1, -1]]) * (4 * d) ** (-1 / 3) + 0j


def product(*profiles: Profile) -> Profile:
    """Return the profile of a product of solutions at one frequency."""
    result = np.ones((3, 1), complex)
    for profile in profiles:
        result = (result[:, :, None] * profile[:, None, :]).reshape(3, -1)
    return result
