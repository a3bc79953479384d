"""Irreps known by formula: Abelian, metacyclic (dihedral, dicyclic, Frobenius), symmetric groups, products.

Each function returns (label, matrices (M, d, d)) for every complex irrep; an empty label leaves it unnamed.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

from firstlight.groups._abelian import characters
from firstlight.groups._group import Group

LabelledMatrices = list[tuple[str, np.ndarray]]


def abelian_irreps(group: Group) -> LabelledMatrices:
    """Return the characters of an Abelian group, labelled by their frequencies along `abelian_moduli`."""
    moduli = group.abelian_moduli
    values = np.empty((group.order, group.order), dtype=complex)
    values[:, group.abelian_elements] = characters(moduli)
    frequencies = np.indices(moduli).reshape(len(moduli), -1).T.tolist()
    labels = [str(k[0]) if len(k) == 1 else f"({','.join(map(str, k))})" for k in frequencies]
    return [(label, chi.reshape(-1, 1, 1)) for label, chi in zip(labels, values, strict=True)]


def metacyclic_irreps(n: int, m: int, u: int, t: int) -> LabelledMatrices:
    """Return the irreps of ⟨a, x | aⁿ = 1, x^m = a^t, x a x⁻¹ = a^u⟩ with elements a^i x^e at index i + n e.

    Each is induced from a character a ↦ ω^k, x^ℓ ↦ λ of ⟨a, x^ℓ⟩, where ω = e^{2πi/n}, ℓ is the size of the
    orbit of k under multiplication by u and λ^{m/ℓ} = ω^{kt}: on the basis x^j ⊗ 1, j < ℓ, a is
    diag(ω^{k u^{−j}}) and x moves j to j+1, with λ where it wraps around (Mackey's little groups).
    """
    result: LabelledMatrices = []
    inverse_u = pow(u, -1, n)
    pending = set(range(n))
    while pending:
        orbit = [min(pending)]
        while (following := orbit[-1] * inverse_u % n) != orbit[0]:
            orbit.append(following)
        pending -= set(orbit)
        length = len(orbit)
        wraps = m // length
        for j in range(wraps):
            corner = np.exp(2j * np.pi * (orbit[0] * t % n + n * j) / (n * wraps))
            x = np.roll(np.eye(length, dtype=complex), 1, axis=0)
            x[0, -1] = corner
            rotations = np.exp(2j * np.pi * (np.outer(np.arange(n), orbit) % n) / n)
            powers = [np.linalg.matrix_power(x, e) for e in range(m)]
            result.append(("", np.concatenate([rotations[:, :, None] * p for p in powers])))
    return result


def product_irreps(factors: tuple[Group, ...]) -> LabelledMatrices:
    """Return ρ₁ ⊗ … ⊗ ρ_r for all choices of an irrep per factor, elements in C order."""
    result: LabelledMatrices = [("", np.ones((1, 1, 1), dtype=complex))]
    for group in factors:
        result = [
            (f"{label}⊗{rho.label}" if label else rho.label, _outer(matrices, rho.matrices))
            for label, matrices in result
            for rho in group.irreps()
        ]
    return result


def _outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return (g, h) ↦ a(g) ⊗ b(h)."""
    rows, cols = len(a) * len(b), a.shape[-1] * b.shape[-1]
    return np.einsum("gij,hkl->ghikjl", a, b).reshape(rows, cols, cols)


def symmetric_irreps(permutations: Int[np.ndarray, "M n"]) -> LabelledMatrices:
    """Return Young's orthogonal form of S_n, an irrep per partition; permutations in lexicographic order.

    On standard tableaux T, the transposition s_i of i and i+1 acts by 1/r on the diagonal and √(1 − 1/r²)
    between T and s_i T, where r is the content (column − row) of i+1 minus that of i.

    References:
        G. James and A. Kerber, The Representation Theory of the Symmetric Group (1981), §3.4.
    """
    n = permutations.shape[1]
    index = {tuple(p): g for g, p in enumerate(permutations.tolist())}
    # g = s_i g', where g' has the values i, i+1 of g in order and therefore comes earlier in the list.
    steps: list[tuple[int, int]] = []
    for p in list(index)[1:]:
        place = np.argsort(p)
        i = int(np.argmax(place[:-1] > place[1:]))
        swapped = list(p)
        swapped[place[i]], swapped[place[i + 1]] = i + 1, i
        steps.append((i, index[tuple(swapped)]))
    result: LabelledMatrices = []
    for shape in _partitions(n, n):
        transpositions = _young_transpositions(shape)
        matrices = np.empty((len(permutations), *transpositions.shape[1:]), dtype=complex)
        matrices[0] = np.eye(transpositions.shape[-1])
        for g, (i, parent) in enumerate(steps, start=1):
            matrices[g] = transpositions[i] @ matrices[parent]
        result.append((f"[{','.join(map(str, shape))}]", matrices))
    return result


def _young_transpositions(shape: tuple[int, ...]) -> np.ndarray:
    tableaux = list(_standard_tableaux(shape))
    index = {rows: j for j, rows in enumerate(tableaux)}
    n = sum(shape)
    matrices = np.zeros((max(n - 1, 1), len(tableaux), len(tableaux)))
    for j, rows in enumerate(tableaux):
        contents = [rows[:i].count(row) - row for i, row in enumerate(rows)]
        for i in range(n - 1):
            inverse_distance = 1 / (contents[i + 1] - contents[i])
            matrices[i, j, j] = inverse_distance
            swapped = index.get((*rows[:i], rows[i + 1], rows[i], *rows[i + 2 :]))
            if swapped is not None and swapped != j:
                matrices[i, swapped, j] = np.sqrt(1 - inverse_distance**2)
    return matrices


def _standard_tableaux(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield each tableau as the row of 0, the row of 1, …: words that never use row r more often than row r−1."""

    def grow(word: tuple[int, ...], used: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if used == shape:
            yield word
        for r, count in enumerate(used):
            if count < shape[r] and (r == 0 or count < used[r - 1]):
                yield from grow((*word, r), (*used[:r], count + 1, *used[r + 1 :]))

    yield from grow((), (0,) * len(shape))


def _partitions(n: int, largest: int) -> Iterator[tuple[int, ...]]:
    if n == 0:
        yield ()
    for first in range(min(n, largest), 0, -1):
        for rest in _partitions(n - first, first):
            yield (first, *rest)
