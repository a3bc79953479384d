"""Powers of positive matrices, and positive matrices from ones that are not quite symmetric."""

from typing import Any

from jaxtyping import Float

from firstlight.features._arrays import namespace
from firstlight.features._matrices.feature_matrices import pulled_back

Square = Float[Any, "d d"]


def symmetric_part(A: Square) -> Square:
    """(A + Aᵀ)/2.

    >>> import numpy as np
    >>> symmetric_part(np.array([[1.0, 2.0], [0.0, 1.0]]))
    array([[1., 1.],
           [1., 1.]])
    """
    return (A + A.T) / 2


def matrix_power(A: Square, power: float, floor: float | None = None) -> Square:
    r"""A^s of a positive semi-definite matrix, by its eigenvalues.

    Eigenvalues below `floor` times the largest are rounding errors of zeros and count as zero; their powers would
    not be small (√1e-16 = 1e-8).

    **Arguments:**

    - `A`: (d, d) symmetric, positive semi-definite up to rounding; the symmetric part is taken.
    - `power`: s > 0.
    - `floor`: relative to the largest eigenvalue; d times the precision of A's type by default.

    >>> import numpy as np
    >>> matrix_power(np.diag([4.0, 1e-30]), 0.5)
    array([[2., 0.],
           [0., 0.]])
    """
    xp = namespace(A)
    if not power > 0:
        raise ValueError(f"power must be above 0, got {power}; a matrix with zero eigenvalues has no other")
    values, vectors = xp.linalg.eigh(symmetric_part(A))
    return xp.matmul(vectors * _clean_power(values, power, floor), vectors.T)


def symmetrised(A: Float[Any, "d e"], power: float = 1.0, floor: float | None = None) -> Square:
    r"""(AAᵀ)^{s/2} = U S^s Uᵀ from the singular values A = U S Vᵀ; at s = 1 it is √(AAᵀ).

    For FACT this is its symmetrisation (FACT, Remark 3.3, whose printed form drops a factor). The product AAᵀ, whose
    rounding errors would swamp the small singular values, is never formed.

    >>> import numpy as np
    >>> symmetrised(np.array([[0.0, 2.0], [1.0, 0.0]])).round(12) + 0.0
    array([[2., 0.],
           [0., 1.]])
    """
    xp = namespace(A)
    if A.shape[1] > A.shape[0]:
        # With Aᵀ = QR, AAᵀ is RᵀR: singular values of a small square instead of a wide matrix.
        A = xp.linalg.qr(A.T)[1].T
    U, S, _ = xp.linalg.svd(A, full_matrices=False)
    return xp.matmul(U * _clean_power(S, power, floor), U.T)


def symmetrised_product(L: Float[Any, "d K"], R: Float[Any, "e K"], power: float = 1.0) -> Square:
    r"""`symmetrised` of LRᵀ, by factors of the smaller size: with L = QT it is Q·symmetrised(TRᵀ)·Qᵀ.

    FACT = −W(∂L/∂W)ᵀ/λ is such a product, of rank K at most, however large d is.

    >>> import numpy as np
    >>> symmetrised_product(np.array([[3.0], [4.0]]), np.array([[2.0]])).round(12)
    array([[3.6, 4.8],
           [4.8, 6.4]])
    """
    xp = namespace(L)
    Q, T = xp.linalg.qr(L)
    return xp.matmul(Q, xp.matmul(symmetrised(xp.matmul(T, R.T), power), Q.T))


def pulled_back_power(W: Float[Any, "d K"], B: Float[Any, "K K"], power: float) -> Square:
    r"""(W B Wᵀ)^s for positive B, by factors of the smaller size: with W = QT it is Q (T B Tᵀ)^s Qᵀ.

    >>> import numpy as np
    >>> pulled_back_power(np.array([[3.0], [4.0]]), np.array([[4.0]]), 0.5).round(12)
    array([[3.6, 4.8],
           [4.8, 6.4]])
    """
    xp = namespace(W)
    Q, T = xp.linalg.qr(W)
    return xp.matmul(Q, xp.matmul(matrix_power(pulled_back(T, B), power), Q.T))


def _clean_power(values: Float[Any, " d"], power: float, floor: float | None) -> Float[Any, " d"]:
    xp = namespace(values)
    least = xp.finfo(values.dtype).eps * values.shape[0] if floor is None else floor
    kept = values > least * xp.max(values)
    # Raising a stand-in of 1 keeps NaN out of derivatives and warnings where values are negative.
    safe = xp.where(kept, values, xp.ones_like(values))
    return xp.where(kept, safe**power, xp.zeros_like(values))
