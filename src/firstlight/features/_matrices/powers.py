"""Powers of positive semi-definite matrices, and symmetrisation of matrices such as FACT."""

from typing import Any

from jaxtyping import Float

from firstlight.features._arrays import namespace
from firstlight.features._matrices.feature_matrices import pulled_back

Square = Float[Any, "d d"]


def symmetric_part(A: Square) -> Square:
    """Return (A + Aᵀ)/2.

    >>> import numpy as np
    >>> symmetric_part(np.array([[1.0, 2.0], [0.0, 1.0]]))
    array([[1., 1.],
           [1., 1.]])
    """
    return (A + A.T) / 2


def matrix_power(A: Square, power: float, floor: float | None = None) -> Square:
    r"""Return A^s of a positive semi-definite matrix, by its eigenvalues.

    Eigenvalues below `floor` times the largest are rounding errors and are set to zero: their powers would not be
    small (√1e-16 = 1e-8).

    **Arguments:**

    - `A`: (d, d) symmetric, positive semi-definite up to rounding; the symmetric part is taken.
    - `power`: s > 0.
    - `floor`: relative to the largest eigenvalue; by default d times the machine epsilon of A's type.

    >>> import numpy as np
    >>> matrix_power(np.diag([4.0, 1e-30]), 0.5)
    array([[2., 0.],
           [0., 0.]])
    """
    xp = namespace(A)
    if not power > 0:
        raise ValueError(f"power must be above 0, got {power}; a matrix with zero eigenvalues has no other power")
    values, vectors = xp.linalg.eigh(symmetric_part(A))
    return xp.matmul(vectors * _clean_power(values, power, floor), vectors.T)


def symmetrised(A: Float[Any, "d e"], power: float = 1.0, floor: float | None = None) -> Square:
    r"""Return (AAᵀ)^{s/2} = U S^s Uᵀ from the singular values A = U S Vᵀ; at s = 1 it is √(AAᵀ).

    This is the symmetrisation of FACT (FACT, Remark 3.3, whose printed form drops a factor). The product AAᵀ is never
    formed: its rounding errors would swamp the small singular values.

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
    r"""Return `symmetrised(LRᵀ)` from the smaller factors: with L = QT it is Q·symmetrised(TRᵀ)·Qᵀ.

    FACT = −W(∂L/∂W)ᵀ/λ is a product of this kind, of rank K at most for any d.

    >>> import numpy as np
    >>> symmetrised_product(np.array([[3.0], [4.0]]), np.array([[2.0]])).round(12)
    array([[3.6, 4.8],
           [4.8, 6.4]])
    """
    xp = namespace(L)
    Q, T = xp.linalg.qr(L)
    return xp.matmul(Q, xp.matmul(symmetrised(xp.matmul(T, R.T), power), Q.T))


def pulled_back_power(W: Float[Any, "d K"], B: Float[Any, "K K"], power: float) -> Square:
    r"""Return (W B Wᵀ)^s for positive B from the smaller factors: with W = QT it is Q (T B Tᵀ)^s Qᵀ.

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
    significant = values > least * xp.max(values)
    # Powers of 1 in place of negative values keep NaN out of derivatives and raise no warning.
    safe = xp.where(significant, values, xp.ones_like(values))
    return xp.where(significant, safe**power, xp.zeros_like(values))
