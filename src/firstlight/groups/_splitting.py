"""The matrices of an irrep, from its character and the Cayley table."""

import numpy as np
from jaxtyping import Complex, Shaped

from firstlight import _canonical as canonical
from firstlight.groups._group import Group

_ATTEMPTS = 16
_TOLERANCE = 1e-11
_BLOCK = 2**21  # entries gathered at once


def split_irrep(group: Group, character: Complex[np.ndarray, " M"], real: bool) -> Complex[np.ndarray, "M d d"]:
    """Return unitary matrices of the irrep with this character; real if `real` (Frobenius–Schur indicator 1).

    In functions on the group, left translation L_g acts on the isotypic component of ρ as d copies of ρ, and
    right convolutions f ↦ f ∗ a mix the copies. With a random Hermitian a, an eigenspace of the latter within
    the component is one copy. With Q (M, d) its canonical basis, ρ(g) = Q* L_g Q. This space and its
    complement are invariant under L, so an error δ in Q changes ρ only by O(δ²).
    """
    d = round(float(character[group.identity].real))
    if d == 1:
        return character.reshape(-1, 1, 1).astype(complex)
    quotient = group.table[group.inverse]  # quotient[g, h] = g⁻¹h
    # P[h, g] = (d/M) χ(g⁻¹h)*, as L acts on the span of entries of ρ* like ρ.
    projector = (d / group.order) * character[quotient.T].conj()
    for seed in range(_ATTEMPTS):
        copy = _one_copy(group, projector.real if real else projector, d, seed)
        matrices = _compress(copy, quotient)
        if representation_error(group, matrices) < _TOLERANCE:
            return matrices.astype(complex)
    raise RuntimeError(f"no irrep of dimension {d} of {group!r} split in {_ATTEMPTS} attempts; please report its table")


def representation_error(group: Group, matrices: Shaped[np.ndarray, "M d d"]) -> float:
    """Return the largest entry of ρ(g)*ρ(g) − 1 and of ρ(sg) − ρ(s)ρ(g), over generators s and all g."""
    d = matrices.shape[-1]
    error = np.abs(matrices.conj().swapaxes(-1, -2) @ matrices - np.eye(d)).max()
    for s in group.generators:
        error = max(error, np.abs(matrices[group.table[s]] - matrices[s] @ matrices).max())
    return float(error)


def _one_copy(group: Group, projector: np.ndarray, d: int, seed: int) -> Shaped[np.ndarray, "M d"]:
    rng = np.random.default_rng(seed)
    sketch = rng.standard_normal((group.order, d * d))
    component = np.linalg.qr(projector @ sketch)[0]
    a = rng.standard_normal(group.order).astype(projector.dtype)
    if np.iscomplexobj(a):
        a += 1j * rng.standard_normal(group.order)
    a = a + a[group.inverse].conj()
    convolution = a[group.table[group.inverse].T]  # [h, g] = a(g⁻¹h)
    values, vectors = np.linalg.eigh(component.conj().T @ (convolution @ component))
    clusters = values.reshape(d, d)
    gaps = np.concatenate([[np.inf], clusters[1:, 0] - clusters[:-1, -1], [np.inf]])
    best = int(np.argmax(np.minimum(gaps[:-1], gaps[1:])))
    return canonical.basis(component @ vectors[:, best * d : (best + 1) * d])


def _compress(copy: Shaped[np.ndarray, "M d"], quotient: np.ndarray) -> Shaped[np.ndarray, "M d d"]:
    """Return Q* L_g Q for all g, where (L_g Q)(h) = Q(g⁻¹h)."""
    order, d = copy.shape
    matrices = np.empty((order, d, d), dtype=copy.dtype)
    step = max(1, _BLOCK // copy.size)
    for start in range(0, order, step):
        block = slice(start, start + step)
        matrices[block] = copy.conj().T @ copy[quotient[block]]
    return matrices
