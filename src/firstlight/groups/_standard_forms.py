"""The basis in which a real irrep has real matrices, and a quaternionic irrep quaternionic matrices."""

import numpy as np
from jaxtyping import Complex

from firstlight import _canonical as canonical


def conjugation(matrices: Complex[np.ndarray, "M d d"]) -> Complex[np.ndarray, "d d"]:
    """Return the unitary S with S ρ̄(g) = ρ(g) S of a real (S = Sᵀ) or quaternionic (S = −Sᵀ) irrep.

    X ↦ (1/M) Σ_g ρ(g) X ρ(g)ᵀ projects onto the line of S; X is the first unit matrix with a large image.
    """
    order, d, _ = matrices.shape
    entries = matrices.reshape(order, d * d)
    # [i, j, l, k] = mean ρ_ij ρ_lk = S_il S̄_jk / d
    moments = ((entries.T @ entries) / order).reshape(d, d, d, d)
    j, k = divmod(canonical.first_large(np.einsum("jjkk->jk", moments).real), d)
    S = moments[:, j, :, k]
    return S * (np.sqrt(d) / np.linalg.norm(S))


def real_matrices(matrices: Complex[np.ndarray, "M d d"]) -> Complex[np.ndarray, "M d d"]:
    """Return an equivalent irrep with real orthogonal matrices, for an irrep of real kind.

    v ↦ S v̄ is a conjugation that commutes with ρ; on (Re v, Im v) it is a symmetric involution, and the
    canonical basis of its fixed vectors makes ρ real.
    """
    if not np.imag(matrices).any():
        return matrices
    d = matrices.shape[-1]
    S = conjugation(matrices)
    A, B = np.real(S), np.imag(S)
    involution = np.block([[A, B], [B, -A]])
    fixed = canonical.basis(np.linalg.eigh((involution + involution.T) / 2)[1][:, d:])
    U = fixed[:d] + 1j * fixed[d:]
    return (U.conj().T @ matrices @ U).real.astype(complex)


def quaternionic_matrices(matrices: Complex[np.ndarray, "M d d"]) -> Complex[np.ndarray, "M d d"]:
    """Return an equivalent irrep of the form ((A, −B̄), (B, Ā)), for an irrep of quaternionic kind.

    With jv = S v̄ (antiunitary, j² = −1, commuting with ρ), the basis is v₁, …, v_{d/2}, jv₁, …, jv_{d/2}.
    """
    d = matrices.shape[-1]
    S = conjugation(matrices)
    half = np.empty((d, 0), dtype=complex)
    for _ in range(d // 2):
        span = np.hstack([half, S @ half.conj()])
        outside = np.eye(d) - span @ span.conj().T
        v = outside[:, canonical.first_large(np.linalg.norm(outside, axis=0))]
        v = v - span @ (span.conj().T @ v)
        half = np.hstack([half, (v / np.linalg.norm(v))[:, None]])
    U = np.hstack([half, S @ half.conj()])
    top = U.conj().T @ matrices @ half
    a, b = top[:, : d // 2], top[:, d // 2 :]
    return np.block([[a, -b.conj()], [b, a.conj()]])
