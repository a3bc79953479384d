"""Blocks of kernel matrices, computed with as few passes over memory as possible."""

import functools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from jaxtyping import Bool, Float

from firstlight.rfm._solvers.kernels import Kernel
from firstlight.rfm._solvers.threads import in_parallel

Rows = Float[np.ndarray, "n d"]
Others = Float[np.ndarray, "m d"]
Metric = Float[np.ndarray, "d d"]
Pairs = Float[np.ndarray, "n m"]
Square = Float[np.ndarray, "n n"]

_BLOCK = 1 << 18
"""Entries of a block: few enough to stay in a core's cache between two operations."""

_TRANSPOSED = 128
"""Rows transposed at a time: twice as fast as 32 or 512."""


def blocks(rows: int, columns: int, entries: int = _BLOCK) -> Iterator[slice]:
    """Return slices over `rows` with at most `entries` entries each, all of about equal size.

    >>> [block.stop for block in blocks(9, 10, entries=50)]
    [5, 9]
    """
    most = max(1, entries // max(columns, 1))
    step = max(1, -(-rows // max(1, -(-rows // most))))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def arguments(kernel: Kernel, X: Rows, Z: Others, M: Metric, then: Callable[[Pairs], None] | None = None) -> Pairs:
    r"""Return u for all pairs of rows: ‖x − z‖²_M = xᵀMx + zᵀMz − 2xᵀMz, or xᵀMz.

    **Arguments:**

    - `kernel`: radial or inner-product kernel.
    - `X`: (n, d) rows.
    - `Z`: (m, d) rows; for a radial kernel X and Z should be centred, since the difference loses digits otherwise.
    - `M`: (d, d) symmetric.
    - `then`: operation applied in place to each block of rows of u while it is in the cache.

    >>> from firstlight.rfm._solvers.kernels import Gaussian
    >>> arguments(Gaussian(), np.array([[0.0], [2.0]]), np.array([[1.0]]), np.eye(1)).ravel()
    array([1., 1.])
    """
    out, fill = np.empty((len(X), len(Z)), X.dtype), _filler(kernel, X, Z, M, then)
    in_parallel(lambda block: fill(block, out[block]), blocks(*out.shape))
    return out


def values(kernel: Kernel, X: Rows, Z: Others, M: Metric) -> Pairs:
    """Return K(x, z) for all pairs of rows."""
    return arguments(kernel, X, Z, M, kernel.values)


def slopes(kernel: Kernel, X: Rows, Z: Others, M: Metric) -> Pairs:
    """Return D for all pairs of rows."""
    if not kernel.slopes_from_values:
        return arguments(kernel, X, Z, M, kernel.slopes)
    K = values(kernel, X, Z, M)
    in_parallel(lambda block: kernel.slopes(K[block]), blocks(*K.shape))
    return K


def own_values(kernel: Kernel, X: Rows, M: Metric, out: Square) -> None:
    """Write K(x, x′) of all pairs of rows of X to `out`, using symmetry."""
    _symmetric(out, _filler(kernel, X, X, M, kernel.values))


def norm(square: Square) -> float:
    """Return the 1-norm of a symmetric matrix.

    >>> norm(np.array([[1.0, -2.0], [-2.0, 0.0]]))
    3.0
    """
    return max(in_parallel(lambda rows: float(np.abs(square[rows]).sum(axis=1).max()), blocks(*square.shape)))


def own_values_and_slopes(kernel: Kernel, X: Rows, M: Metric, out: Square) -> tuple[float, Float[np.ndarray, " n"]]:
    """Write K on and above the diagonal of `out` and D below it; return K's 1-norm and D's diagonal."""
    fill, diagonal = _filler(kernel, X, X, M, None), np.empty(len(X), out.dtype)

    def write(block: slice) -> np.ndarray:
        K = np.empty((block.stop - block.start, block.stop), out.dtype)
        D = np.empty_like(K)
        fill(block, K)
        kernel.both(K, D)
        diagonal[block] = D[:, block].diagonal()
        out[block, : block.start] = D[:, : block.start]
        out[block, block] = D[:, block]
        np.copyto(out[block, block], K[:, block], where=_above(len(K)))
        _write_transposed(out, block, K)
        return _column_sizes(K, block, len(out))

    sizes = in_parallel(write, _largest_first(len(out)))
    return float(np.sum(sizes, axis=0).max()), diagonal


def own_slopes(kernel: Kernel, X: Rows, M: Metric, K: Square) -> None:
    """Replace K by D for all pairs of rows of X; entries of K above the diagonal are not read."""

    def from_values(block: slice, part: Pairs) -> None:
        np.copyto(part, K[block, : block.stop])
        _transpose_upper(part[:, block])
        kernel.slopes(part)

    _symmetric(K, from_values if kernel.slopes_from_values else _filler(kernel, X, X, M, kernel.slopes))


def mirror(square: Square) -> None:
    """Copy the lower triangle to the upper triangle, in place.

    >>> A = np.array([[1.0, 0.0], [2.0, 3.0]])
    >>> mirror(A)
    >>> A
    array([[1., 2.],
           [2., 3.]])
    """
    in_parallel(functools.partial(_mirror, square), blocks(len(square), 1, _TRANSPOSED))


def _filler(
    kernel: Kernel, X: Rows, Z: Others, M: Metric, then: Callable[[Pairs], None] | None
) -> Callable[[slice, Pairs], None]:
    """Return a function that fills a block: rows of X against the first rows of Z, one per column of the block."""
    XM = X @ M
    own, other = np.zeros(0), np.zeros(0)
    if kernel.radial:
        own, other = np.einsum("ij,ij->i", XM, X), np.einsum("ij,ij->i", Z @ M, Z)
        XM *= -2
    # If M is singular, xᵀMx may be a rounding error below 0; a negative threshold would let u be negative too.
    floor = 16 * float(np.finfo(X.dtype).eps) * np.maximum(own, 0)

    def fill(block: slice, part: Pairs) -> None:
        columns = part.shape[1]
        np.matmul(XM[block], Z[:columns].T, out=part)
        if kernel.radial:
            part += own[block, None]
            part += other[:columns]
            # The distance of a row to itself is a rounding error, whose root would not be small.
            np.copyto(part, 0, where=part <= floor[block, None])
        if then is not None:
            then(part)

    return fill


def _symmetric(out: Square, fill: Callable[[slice, Pairs], None]) -> None:
    """Fill a symmetric matrix: compute contiguous blocks of rows up to the diagonal and write them to both sides."""

    def write(block: slice) -> None:
        part = np.empty((block.stop - block.start, block.stop), out.dtype)
        fill(block, part)
        out[block, : block.stop] = part
        _write_transposed(out, block, part)

    in_parallel(write, _largest_first(len(out)))


def _largest_first(rows: int) -> Iterable[slice]:
    """Return blocks of rows up to the diagonal, longest first, so that no core waits long for the last."""
    return reversed(list(blocks(rows, rows)))


def _column_sizes(part: np.ndarray, block: slice, columns: int) -> np.ndarray:
    """Return the contribution of a block of rows and its transposed copy to the column sums of |K|."""
    sizes, sums = np.abs(part), np.zeros(columns, part.dtype)
    sums[: block.stop] = sizes.sum(axis=0)
    sums[block] += sizes[:, : block.start].sum(axis=1)
    return sums


def _write_transposed(out: Square, block: slice, part: np.ndarray) -> None:
    """Write the part left of the diagonal block, transposed, above the diagonal."""
    for inner in blocks(block.start, 1, _TRANSPOSED):
        out[inner, block] = part[:, inner].T


def _mirror(square, block):
    square[: block.start, block] = square[block, : block.start].T
    _transpose_upper(square[block, block])


def _transpose_upper(inner):
    np.copyto(inner, inner.T.copy(), where=_above(len(inner)))


@functools.lru_cache(maxsize=16)
def _above(rows: int) -> Bool[np.ndarray, "n n"]:
    """Return the mask of the entries on and above the diagonal."""
    return np.tri(rows, dtype=bool).T
