"""Cholesky factors, their solves and inverses, on the threads of `in_parallel`.

SciPy's functions hold the interpreter lock while they run, and BLAS threads spin after each call and block ours. The
routines are therefore called by address, without the lock, on blocks that `in_parallel` distributes. If SciPy does not
export the addresses, its own functions do the same work on the whole matrix, more slowly. Matrices are Fortran-ordered,
and only entries on and below the diagonal are read.
"""

import ctypes
import functools
import importlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import get_lapack_funcs, solve_triangular

from firstlight._threads import one_blas_thread
from firstlight.rfm._solvers.threads import cores, in_parallel

Square = Float[np.ndarray, "n n"]

LEAF = 320
"""Rows that a thread factors alone: smaller leaves cost more calls, larger leaves keep other threads idle."""


@one_blas_thread()
def cholesky(A: Square) -> bool:
    """Replace A by its factor L, A = LLᵀ; return False if A is not positive definite.

    >>> A = np.array([[4.0, 0.0], [2.0, 5.0]], order="F")
    >>> cholesky(A), A.tolist()
    (True, [[2.0, 0.0], [1.0, 2.0]])
    """
    n = len(A)
    if not _has_addresses():
        factor, failed = _scipy("potrf", A)(A, lower=1, clean=0, overwrite_a=1)
        _replace(A, factor)
        return failed == 0
    if n <= 2 * LEAF or cores() == 1:
        failed = ctypes.c_int()
        _call("potrf", A, "L", n, A, failed)
        return failed.value == 0
    half = n // 2
    top, left, rest = A[:half, :half], A[half:, :half], A[half:, half:]
    if not cholesky(top):
        return False
    in_parallel(lambda rows: _solve_right(top, left[rows]), _even(n - half))
    in_parallel(lambda rows: _take_off(rest, left, rows), _even_below_diagonal(n - half))
    return cholesky(rest)


def solve(L: Square, Y: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "n c"]:
    """Return (LLᵀ)⁻¹Y, on one thread: reading L takes most of the time, and two threads would both read it."""
    if not _has_addresses():
        return _scipy("potrs", L)(L, np.asarray(Y, L.dtype), lower=1)[0]
    X = np.array(Y, L.dtype, order="F")
    _call("potrs", L, "L", *X.shape, L, X, ctypes.c_int())
    return X


@one_blas_thread()
def invert(L: Square) -> None:
    """Replace L by L⁻¹.

    >>> L = np.array([[2.0, 0.0], [1.0, 2.0]], order="F")
    >>> invert(L)
    >>> L.tolist()
    [[0.5, 0.0], [-0.25, 0.5]]
    """
    n = len(L)
    if not _has_addresses():
        _replace(L, _scipy("trtri", L)(L, lower=1, overwrite_c=1)[0])
        return
    if n <= 2 * LEAF:
        _call("trtri", L, "L", "N", n, L, ctypes.c_int())
        return
    half = n // 2
    top, left, rest = L[:half, :half], L[half:, :half], L[half:, half:]
    # −L₂₂⁻¹L₂₁L₁₁⁻¹ by columns, then by rows, before the diagonal blocks are inverted in place.
    in_parallel(lambda columns: _solve_left(rest, left[:, columns]), _even(half))
    in_parallel(lambda rows: _solve_right(top, left[rows], transposed=False, sign=-1.0), _even(n - half))
    in_parallel(invert, [top, rest])


def solve_left(L: Square, B: Float[np.ndarray, "n k"]) -> None:
    """Replace B by L⁻¹B; both are Fortran-ordered.

    >>> B = np.array([[2.0], [5.0]], order="F")
    >>> solve_left(np.array([[2.0, 0.0], [1.0, 2.0]], order="F"), B)
    >>> B.ravel()
    array([1., 2.])
    """
    if _has_addresses():
        _solve_left(L, B)
    else:
        B[:] = solve_triangular(L, B, lower=True)


def add_square(A: Square, B: Float[np.ndarray, "n k"]) -> None:
    """Add BBᵀ to A on and below the diagonal; both are Fortran-ordered.

    >>> A = np.zeros((2, 2), order="F")
    >>> add_square(A, np.array([[1.0], [2.0]], order="F"))
    >>> A[1].tolist()
    [2.0, 4.0]
    """
    if _has_addresses():
        _call("syrk", A, "L", "N", *B.shape, 1.0, B, 1.0, A)
    else:
        A += B @ B.T


def _solve_right(L: Square, B: np.ndarray, *, transposed: bool = True, sign: float = 1.0) -> None:
    """B ← ±BL⁻ᵀ, or ±BL⁻¹."""
    _call("trsm", L, "R", "L", "T" if transposed else "N", "N", *B.shape, sign, L, B)


def _solve_left(L: Square, B: np.ndarray) -> None:
    """B ← L⁻¹B."""
    _call("trsm", L, "L", "L", "N", "N", *B.shape, 1.0, L, B)


def _take_off(A: Square, B: Float[np.ndarray, "n k"], rows: slice) -> None:
    """A ← A − BBᵀ in the given rows, up to the diagonal."""
    start, count, k = rows.start, rows.stop - rows.start, B.shape[1]
    if start:
        _call("gemm", A, "N", "T", count, start, k, -1.0, B[rows], B[:start], 1.0, A[rows, :start])
    _call("syrk", A, "L", "N", count, k, -1.0, B[rows], 1.0, A[rows, rows])


def _even(count: int) -> Iterator[slice]:
    """Return slices of equal length, one per core."""
    return _between(count, lambda share: share)


def _even_below_diagonal(count: int) -> Iterator[slice]:
    """Return slices of rows with equal areas up to the diagonal."""
    return _between(count, lambda share: share**0.5)


def _between(count: int, place: Callable[[float], float]) -> Iterator[slice]:
    pieces = min(cores(), count)
    edges = [round(count * place(k / pieces)) for k in range(pieces + 1)]
    return (slice(start, stop) for start, stop in itertools.pairwise(edges) if start < stop)


def _call(name: str, like: np.ndarray, *arguments: Any) -> None:
    """Call a routine in the precision of `like`; pass a matrix as its address and leading dimension."""
    double = like.dtype == np.float64
    real = ctypes.c_double if double else ctypes.c_float
    given: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            _require_columns(name, argument, like)
            leading = max(argument.strides[1] // argument.itemsize, 1)
            given += [ctypes.c_void_p(argument.ctypes.data), ctypes.byref(ctypes.c_int(leading))]
        elif isinstance(argument, str):
            given.append(ctypes.c_char_p(argument.encode()))
        elif isinstance(argument, ctypes.c_int):
            given.append(ctypes.byref(argument))
        else:
            given.append(ctypes.byref(ctypes.c_int(argument) if isinstance(argument, int) else real(argument)))
    _routine(("d" if double else "s") + name)(*given)


def _require_columns(name: str, A: np.ndarray, like: np.ndarray) -> None:
    if A.dtype != like.dtype or (len(A) > 1 and A.strides[0] != A.itemsize):
        raise ValueError(f"{name} takes Fortran-ordered matrices of one precision")


def _scipy(name: str, like: np.ndarray) -> Any:
    """Return SciPy's wrapper of a LAPACK routine, in the precision of `like`."""
    _require_columns(name, like, like)
    return get_lapack_funcs((name,), (like,))[0]


def _replace(A: np.ndarray, result: np.ndarray) -> None:
    """Write the lower triangle of the result into A, unless LAPACK worked in place; it copies non-contiguous input."""
    if not np.shares_memory(A, result):
        below = np.tril_indices(len(A))
        A[below] = result[below]


@functools.cache
def _has_addresses() -> bool:
    """Return whether SciPy exports the addresses of its BLAS and LAPACK routines, as it does for Cython."""
    return all(_exported())


def _exported() -> list[dict[str, Any]]:
    modules = (importlib.import_module(f"scipy.linalg.cython_{kind}") for kind in ("blas", "lapack"))
    return [getattr(module, "__pyx_capi__", {}) for module in modules]


@functools.cache
def _routine(name: str) -> Any:
    """Return a BLAS or LAPACK function that SciPy exports for Cython under a name and a signature."""
    capsule = next(exported[name] for exported in _exported() if name in exported)
    signature, address = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    signature.restype, signature.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None)(address(capsule, signature(capsule)))
