"""Bases, signs and orders that depend on the mathematics alone, on every processor.

LAPACK returns *some* basis of a degenerate eigenspace and *some* sign of a simple eigenvector. `argmax` returns the
entry that rounding made largest. Another kernel of the same BLAS chooses differently. Arrays that reach a random draw,
a name or a figure therefore go through this module first.
"""

import math
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Inexact, Int, Shaped

TOLERANCE = 1e-10
"""Two float64 numbers are equal up to rounding if they differ by less than this fraction of the largest."""


def first_large(sizes: Shaped[np.ndarray, "*any"]) -> int:
    """Return the index, in C order, of the first entry that is at least 1/π of the largest.

    Rounding cannot choose between entries that are equal in exact arithmetic, as it does in `argmax`. The bound is
    transcendental, so no ratio of algebraic numbers, such as entries of characters, lies on the bound.

    >>> first_large(np.array([0.1, 0.5, 0.5 + 1e-16]))
    1
    """
    return int(np.argmax(np.ravel(sizes) >= np.max(sizes) / math.pi))


def basis(Q: Inexact[np.ndarray, "n r"]) -> Inexact[np.ndarray, "n r"]:
    r"""Return the canonical orthonormal basis of the column space of Q, whose columns are orthonormal.

    The method is Gram–Schmidt on columns of the projector $P = QQ^*$, which depends on the space alone. Each step takes
    the first column with a large residual (`first_large`), so that rounding neither decides nor is amplified.
    Column k has a positive entry in its pivot row. All later columns are zero in that row.

    >>> turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> basis(np.eye(3)[:, 1:] @ turn).round(12) + 0.0
    array([[0., 0.],
           [1., 0.],
           [0., 1.]])
    """
    return Q @ _turn(Q)


def eigh(
    A: Inexact[np.ndarray, "n n"], tolerance: float = TOLERANCE
) -> tuple[Float[np.ndarray, " n"], Inexact[np.ndarray, "n n"]]:
    """Return `np.linalg.eigh(A)` with the canonical `basis` of every eigenspace.

    **Arguments:**

    - `A`: a Hermitian matrix, (n, n).
    - `tolerance`: eigenvalues closer than `tolerance` times the largest share an eigenspace.

    >>> eigh(np.diag([1.0, 2.0, 1.0]))[1]
    array([[1., 0., 0.],
           [0., 0., 1.],
           [0., 1., 0.]])
    """
    values, vectors = np.linalg.eigh(A)
    for space in _clusters(values, tolerance):
        vectors[:, space] = basis(vectors[:, space])
    return values, vectors


def svd(
    A: Inexact[np.ndarray, "m n"], tolerance: float = TOLERANCE
) -> tuple[Inexact[np.ndarray, "m r"], Float[np.ndarray, " r"], Inexact[np.ndarray, "r n"]]:
    """Return the reduced SVD U, s, V* with the canonical `basis` in V for each set of equal singular values.

    Vectors of zero singular values stay as LAPACK returns them, so callers should ignore these vectors.

    >>> U, s, Vt = svd(np.array([[0.0, 2.0], [-2.0, 0.0]]))
    >>> (U + 0.0).tolist(), Vt.tolist()
    ([[0.0, 1.0], [-1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    """
    U, s, Vh = np.linalg.svd(A, full_matrices=False)
    V = Vh.conj().T.copy()
    for space in _clusters(s, tolerance):
        turn = _turn(V[:, space])
        U[:, space], V[:, space] = U[:, space] @ turn, V[:, space] @ turn
    return U, s, V.conj().T


def orthogonal(rng: np.random.Generator, rows: int, columns: int) -> Float[np.ndarray, "rows columns"]:
    """Draw orthonormal columns uniformly: Gram–Schmidt on normal entries, R with a positive diagonal.

    >>> Q = orthogonal(np.random.default_rng(0), 4, 2)
    >>> bool(np.allclose(Q.T @ Q, np.eye(2)))
    True
    """
    Q, R = np.linalg.qr(rng.standard_normal((rows, columns)))
    return Q * np.sign(np.diagonal(R))


def descending(values: Float[np.ndarray, " n"], tolerance: float = TOLERANCE) -> Int[np.ndarray, " n"]:
    """Return the indices that sort `values` in descending order; values equal up to rounding keep their order.

    >>> descending(np.array([1.0, 2.0, 1.0 + 1e-15])).tolist()
    [1, 0, 2]
    """
    values = np.asarray(values, float)
    order = np.argsort(-values, kind="stable")
    starts = [space.start for space in _clusters(values[order], tolerance)]
    return order[np.lexsort((order, np.searchsorted(starts, np.arange(len(order)), side="right")))]


def argmin(values: Float[np.ndarray, " n"], size: float | None = None) -> int:
    """Return the index of the first value that equals the minimum up to rounding.

    **Arguments:**

    - `values`: the numbers to compare, (n,).
    - `size`: size of the terms from which `values` were computed; by default the absolute value of the minimum.

    >>> argmin(np.array([2.0, 1.0 + 1e-15, 1.0, np.inf]))
    1
    """
    least = float(np.min(values))
    return int(np.argmax(values <= least + TOLERANCE * abs(least if size is None else size)))


def _turn(Q: Inexact[np.ndarray, "n r"]) -> Inexact[np.ndarray, "r r"]:
    """Return the unitary W for which QW is the canonical basis; row j of Q̄ holds the coordinates of P's column j."""
    rows, count = Q.conj(), Q.shape[1]
    left = (np.abs(rows) ** 2).sum(1)
    W = np.zeros((count, count), dtype=Q.dtype, order="F")
    for k in range(count):
        w, taken = rows[first_large(left)], W[:, :k]
        for _ in range(2):  # a second pass, because the residual of a column may be small
            w = w - taken @ (w.conj() @ taken).conj()
        W[:, k] = w / np.linalg.norm(w)
        # At least (r − k)/n is left of some column, far above the rounding of this difference.
        left -= np.abs(Q @ W[:, k]) ** 2
    return W


def _clusters(values: Float[np.ndarray, " n"], tolerance: float) -> list[slice]:
    """Return one slice per run of equal numbers in a sorted array."""
    if not len(values):
        return []
    size = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    with np.errstate(invalid="ignore"):
        breaks = np.flatnonzero(~(np.abs(np.diff(values)) <= tolerance * size)) + 1
    edges = [0, *breaks.tolist(), len(values)]
    return [slice(start, stop) for start, stop in pairwise(edges)]
