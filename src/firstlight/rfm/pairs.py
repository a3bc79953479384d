"""Blocks of kernel matrices, computed by as few passes over memory as possible."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from jaxtyping import Float

from firstlight.rfm.kernels import Kernel
from firstlight.rfm.threads import in_parallel

Rows = Float[np.ndarray, "n d"]
Others = Float[np.ndarray, "m d"]
Metric = Float[np.ndarray, "d d"]
Pairs = Float[np.ndarray, "n m"]

_BLOCK = 1 << 18
"""Entries worked on at a time: few enough to stay in a core's cache between two operations."""


def blocks(rows: int, columns: int, entries: int = _BLOCK) -> Iterator[slice]:
    """Slices over `rows` with about `entries` entries each.

    >>> [block.stop for block in blocks(5, 10, entries=20)]
    [2, 4, 5]
    """
    step = max(1, entries // max(columns, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def arguments(
    kernel: Kernel,
    X: Rows,
    Z: Others,
    M: Metric,
    out: Pairs | None = None,
    then: Callable[[Pairs], None] = lambda block: None,
) -> Pairs:
    r"""u for all pairs of rows: ‖x − z‖²_M = xᵀMx + zᵀMz − 2xᵀMz, or xᵀMz.

    Args:
        X: (n, d); Z: (m, d); for a radial kernel both should be centred, since the difference loses digits otherwise.
        M: (d, d) symmetric.
        out: (n, m) to write into.
        then: is done in place to each block of rows of u, while it is in the cache.

    >>> from firstlight.rfm.kernels import Gaussian
    >>> arguments(Gaussian(), np.array([[0.0], [2.0]]), np.array([[1.0]]), np.eye(1)).ravel()
    array([1., 1.])
    """
    XM, out = X @ M, np.empty((len(X), len(Z)), X.dtype) if out is None else out
    own, other = np.zeros(0), np.zeros(0)
    if kernel.radial:
        own, other = np.einsum("ij,ij->i", XM, X), np.einsum("ij,ij->i", Z @ M, Z)
        XM *= -2

    def fill(block: slice) -> None:
        part = out[block]
        np.matmul(XM[block], Z.T, out=part)
        if kernel.radial:
            part += own[block, None]
            part += other
            # Of a row with itself only rounding is left, and the root of that would not be small.
            part *= part > 16 * float(np.finfo(out.dtype).eps) * own[block, None]
        then(part)

    in_parallel(fill, blocks(*out.shape))
    return out


def values(kernel: Kernel, X: Rows, Z: Others, M: Metric, out: Pairs | None = None) -> Pairs:
    """K(x, z) for all pairs of rows."""
    return arguments(kernel, X, Z, M, out, kernel.values)


def slopes(kernel: Kernel, X: Rows, Z: Others, M: Metric, K: Pairs | None = None) -> Pairs:
    """D for all pairs of rows, in the place of K if that is given and suffices."""
    if not kernel.slopes_from_values:
        return arguments(kernel, X, Z, M, K, kernel.slopes)
    K = values(kernel, X, Z, M) if K is None else K
    in_parallel(lambda block: kernel.slopes(K[block]), blocks(*K.shape))
    return K


def mirror(square: Float[np.ndarray, "n n"]) -> None:
    """Copy what stands below the diagonal to above it, in place.

    >>> A = np.array([[1.0, 0.0], [2.0, 3.0]])
    >>> mirror(A)
    >>> A
    array([[1., 2.],
           [2., 3.]])
    """
    in_parallel(partial(_mirror, square), blocks(len(square), 1, 512))


def _mirror(square, block):
    square[block, block.stop :] = square[block.stop :, block].T
    inner = square[block, block]
    inner[...] = np.tril(inner) + np.tril(inner, -1).T
