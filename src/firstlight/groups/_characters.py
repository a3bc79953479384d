"""The character table of any finite group, from its class algebra (Burnside), exact to rounding."""

import numpy as np
from jaxtyping import Complex, Int

from firstlight.groups._group import Group

_ATTEMPTS = 16


def burnside_characters(group: Group) -> Complex[np.ndarray, "r r"]:
    """Return the irreducible characters (rows, in no particular order) on the conjugacy classes (columns).

    Convolutions with class functions commute, and the irreducible characters are their common eigenvectors.
    This function diagonalises the convolution with a random x(g⁻¹) = conj x(g), whose eigenvalues
    (1/d) Σ_g x(g) conj χ(g) differ almost surely. The eigenvalues of ρ(g) are roots of unity with integer
    multiplicities; rounding the multiplicities makes the characters exact to rounding error.

    References:
        J. D. Dixon, High speed computation of group characters, Numer. Math. 10 (1967).
    """
    sizes = np.bincount(group.class_of)
    representatives = np.array([c[0] for c in group.classes])
    inverse_class = group.class_of[group.inverse[representatives]]
    power_classes = _power_classes(group, representatives)
    for seed in range(_ATTEMPTS):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(len(sizes)) + 1j * rng.standard_normal(len(sizes))
        x = x + x[inverse_class].conj()
        vectors = np.linalg.eigh(_convolution_matrix(group, x, representatives, sizes))[1]
        approximate = (vectors / np.sqrt(sizes)[:, None]).T * np.sqrt(group.order)
        # The value at the identity, d, is real and positive.
        approximate *= (np.abs(approximate[:, 0]) / approximate[:, 0])[:, None]
        characters = _snapped(approximate, power_classes)
        if characters is not None and _is_orthonormal(characters, sizes, group.order):
            return characters
    raise RuntimeError(f"no character table found for {group!r} in {_ATTEMPTS} attempts; please report its table")


def frobenius_schur(group: Group, character: Complex[np.ndarray, " M"]) -> int:
    """Return the Frobenius–Schur indicator (1/M) Σ_g χ(g²) ∈ {1, 0, −1}: real, complex, quaternionic."""
    return round(float(character[np.diagonal(group.table)].mean().real))


def _convolution_matrix(
    group: Group,
    x: Complex[np.ndarray, " r"],
    representatives: Int[np.ndarray, " r"],
    sizes: Int[np.ndarray, " r"],
) -> Complex[np.ndarray, "r r"]:
    """Return the convolution with x in the orthonormal basis 1_C/√|C| of class functions."""
    r = len(sizes)
    # values[e, g] = x(h_e g⁻¹); summing over g in a class D gives (x ∗ 1_D)(h_e).
    values = x[group.class_of[group.table[np.ix_(representatives, group.inverse)]]]
    members = np.zeros((group.order, r))
    members[np.arange(group.order), group.class_of] = 1.0
    return (values @ members) * np.sqrt(sizes[:, None] / sizes)


def _power_classes(group: Group, representatives: Int[np.ndarray, " r"]) -> list[np.ndarray]:
    """Return for each class the classes of g⁰, g¹, …, g^{o−1}, with g its representative and o its order."""
    result = []
    for g in representatives:
        powers = [group.identity]
        while (following := int(group.table[powers[-1], g])) != group.identity:
            powers.append(following)
        result.append(group.class_of[powers])
    return result


def _snapped(
    approximate: Complex[np.ndarray, "r r"], power_classes: list[np.ndarray]
) -> Complex[np.ndarray, "r r"] | None:
    """Return χ(g) = Σ_k m_k ζ^k with integers m_k = (1/o) Σ_j χ(g^j) ζ^{−jk}; None if these are not integers."""
    exact = np.empty_like(approximate)
    for c, powers in enumerate(power_classes):
        multiplicities = np.fft.fft(approximate[:, powers], norm="forward")
        nearest = np.rint(np.real(multiplicities))
        if np.abs(multiplicities - nearest).max() > 1e-3:
            return None
        order = len(powers)
        exact[:, c] = nearest @ np.exp(2j * np.pi * np.arange(order) / order)
    return exact


def _is_orthonormal(characters: np.ndarray, sizes: np.ndarray, order: int) -> bool:
    gram = (characters * sizes) @ characters.conj().T / order
    return bool(np.abs(gram - np.eye(len(gram))).max() < 1e-9)
