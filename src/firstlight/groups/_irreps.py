"""All complex irreps of a finite group, by a closed form if there is one, else from the table."""

import numpy as np
from jaxtyping import Complex

from firstlight.groups._characters import burnside_characters, frobenius_schur
from firstlight.groups._closed_forms import LabelledMatrices, abelian_irreps
from firstlight.groups._group import Group
from firstlight.groups._irrep import Irrep, Kind
from firstlight.groups._splitting import split_irrep
from firstlight.groups._standard_forms import quaternionic_matrices, real_matrices

_KINDS: dict[int, Kind] = {1: "real", 0: "complex", -1: "quaternionic"}


def all_irreps(group: Group) -> tuple[Irrep, ...]:
    """Return all complex irreps of the group in canonical order; see `Group.irreps`."""
    if group.is_abelian:
        labelled = abelian_irreps(group)
    elif group.closed_form is not None:
        labelled = list(group.closed_form())
    else:
        labelled = _split_all(group)
    labelled.sort(key=lambda pair: _sort_key(group, np.einsum("gii->g", pair[1])))
    labels = _labels(labelled)
    characters = np.array([np.einsum("gii->g", matrices) for _, matrices in labelled])
    conjugates = np.rint(np.real(characters @ characters.T) / group.order).argmax(axis=1).tolist()
    result: list[Irrep] = []
    for i, (_, matrices) in enumerate(labelled):
        kind = _KINDS[frobenius_schur(group, characters[i])]
        if kind == "real":
            matrices = real_matrices(matrices)
        elif kind == "quaternionic":
            matrices = quaternionic_matrices(matrices)
        elif conjugates[i] < i:
            matrices = result[conjugates[i]].matrices.conj()
        matrices = np.ascontiguousarray(matrices)
        character = np.einsum("gii->g", matrices)
        for array in (matrices, character):
            array.setflags(write=False)
        result.append(Irrep(labels[i], matrices, character, kind, i, conjugates[i]))
    return tuple(result)


def character_table(group: Group) -> Complex[np.ndarray, "r r"]:
    """Return χ_ρ(C) with rows in the order of `group.irreps()` and columns in the order of `group.classes`.

    >>> from firstlight.groups import symmetric
    >>> character_table(symmetric(3)).real.round(12) + 0.0
    array([[ 1.,  1.,  1.],
           [ 1., -1.,  1.],
           [ 2.,  0., -1.]])
    """
    representatives = [c[0] for c in group.classes]
    return np.array([rho.character[representatives] for rho in group.irreps()])


def isotypic_projector(irrep: Irrep) -> Complex[np.ndarray, "M M"]:
    """Return the orthogonal projector P[g, h] = (d/M) χ(g h⁻¹) of functions on the group onto the entries of ρ.

    (P f)(g) = (d/M) tr(f̂(ρ) ρ(g)), the part of f that the inverse Fourier transform builds from ρ.

    >>> from firstlight.groups import cyclic
    >>> isotypic_projector(cyclic(2).irreps()[1]).real
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    entries = irrep.matrices.reshape(len(irrep.matrices), -1)
    return (irrep.dim / len(entries)) * (entries @ entries.conj().T)


def _split_all(group: Group) -> LabelledMatrices:
    labelled: LabelledMatrices = []
    done: list[np.ndarray] = []
    for values in burnside_characters(group):
        character = values[group.class_of]
        if any(np.allclose(character, other.conj()) for other in done):
            continue
        indicator = frobenius_schur(group, character)
        matrices = split_irrep(group, character, real=indicator == 1)
        labelled.append(("", matrices))
        if indicator == 0:
            done.append(character)
            labelled.append(("", matrices.conj()))
    return labelled


def _sort_key(group: Group, character: Complex[np.ndarray, " M"]) -> tuple:
    """Return the dimension, then for d = 1 the frequencies at the generators in reverse order, else the character.

    On Z_{n₁}×…×Z_{n_r} in C order the last generator is that of the first factor, which gives FFT order.
    """
    d = round(float(character[group.identity].real))
    if d == 1:
        turns = np.angle(character[list(reversed(group.generators))]) / (2 * np.pi)
        return d, tuple((np.rint(turns * group.exponent) % group.exponent).tolist())
    values = character[[c[0] for c in group.classes]]
    return d, tuple(np.stack([-np.real(values), -np.imag(values)], axis=1).round(6).ravel().tolist())


def _labels(labelled: LabelledMatrices) -> list[str]:
    """Return the given labels, or the dimension and a letter (1a, 1b, 3a, …), as in the Atlas."""
    seen: dict[int, int] = {}
    labels = []
    for label, matrices in labelled:
        d = matrices.shape[-1]
        seen[d] = seen.get(d, 0) + 1
        labels.append(label or f"{d}{_letters(seen[d])}")
    return labels


def _letters(n: int) -> str:
    """Return a, b, …, z, aa, ab, … for 1, 2, …"""
    head, last = divmod(n - 1, 26)
    return (_letters(head) if head else "") + chr(ord("a") + last)
