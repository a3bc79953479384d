"""Blocks of kernel matrices, computed by as few passes over memory as possible."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from jaxtyping import Float

from firstlight.rfm.kernels import Kernel

Rows = Float[np.ndarray, "n d"]
Others = Float[np.ndarray, "m d"]
Metric = Float[np.ndarray, "d d"]
Pairs = Float[np.ndarray, "n m"]

_BLOCK = 1 << 21
"""Entries worked on at a time: few enough to stay in a core's cache between two operations."""


def blocks(rows: int, columns: int, entries: int = _BLOCK) -> Iterator[slice]:
    """Slices over `rows` with about `entries` entries each.

    >>> [block.stop for block in blocks(5, 10, entries=20)]
    [2, 4, 5]
    """
    step = max(1, entries // max(columns, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def arguments(kernel: Kernel, X: Rows, Z: Others, M: Metric, out: Pairs | None = None) -> Pairs:
    r"""u for all pairs of rows: ‖x − z‖²_M = xᵀMx + zᵀMz − 2xᵀMz, or xᵀMz.

    Args:
        X: (n, d); Z: (m, d); for a radial kernel both should be centred, since the difference loses digits otherwise.
        M: (d, d) symmetric.
        out: (n, m) to write into.

    >>> from firstlight.rfm.kernels import Gaussian
    >>> arguments(Gaussian(), np.array([[0.0], [2.0]]), np.array([[1.0]]), np.eye(1)).ravel()
    array([1., 1.])
    """
    XM = X @ M
    out = np.empty((len(X), len(Z)), X.dtype) if out is None else out
    np.matmul(XM, Z.T, out=out)
    if kernel.radial:
        own, other = np.einsum("ij,ij->i", XM, X), np.einsum("ij,ij->i", Z @ M, Z)
        in_parallel(partial(_to_distances, out, own, other), blocks(*out.shape))
    return out


def _to_distances(out, own, other, block):
    part, own = out[block], own[block, None]
    part *= -2
    part += own
    part += other
    # Of a row with itself only rounding is left, and the root of that would not be small.
    part *= part > 16 * float(np.finfo(out.dtype).eps) * own


def values(kernel: Kernel, X: Rows, Z: Others, M: Metric, out: Pairs | None = None) -> Pairs:
    """K(x, z) for all pairs of rows."""
    out = arguments(kernel, X, Z, M, out)
    in_parallel(lambda block: kernel.values(out[block]), blocks(*out.shape))
    return out


def slopes(kernel: Kernel, X: Rows, Z: Others, M: Metric, K: Pairs | None = None) -> Pairs:
    """D for all pairs of rows, in the place of K if that is given and suffices."""
    if K is None or not kernel.slopes_from_values:
        K = (values if kernel.slopes_from_values else arguments)(kernel, X, Z, M, K)
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


def in_parallel(call: Callable[[slice], None], slices: Iterator[slice]) -> None:
    """Elementwise work on independent blocks; NumPy releases the interpreter inside."""
    parts = list(slices)
    if len(parts) < 2:
        for part in parts:
            call(part)
        return
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as pool:
        list(pool.map(call, parts))
