"""The array namespace of a NumPy, JAX or torch array, so that each formula is written once."""

import sys
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Shaped


def namespace(A: Any) -> Any:
    """Return the module whose functions take A: the array-API namespace of NumPy or JAX, or `torch`.

    torch tensors have no `__array_namespace__`. A caller who holds a tensor has already imported torch, so the module
    is looked up and never imported here.

    >>> import numpy as np
    >>> namespace(np.zeros(2)).__name__
    'numpy'
    >>> namespace([0.0])
    Traceback (most recent call last):
    ...
    TypeError: an array of NumPy, JAX or torch is needed, got list; wrap it with numpy.asarray
    """
    if _is_torch(A):
        return sys.modules["torch"]
    try:
        return A.__array_namespace__()
    except AttributeError:
        raise TypeError(
            f"an array of NumPy, JAX or torch is needed, got {type(A).__name__}; wrap it with numpy.asarray"
        ) from None


def asarray_like(values: Shaped[np.ndarray, "*shape"], A: Any) -> Any:
    """Convert a NumPy array to the library, the precision and (torch) the device of A.

    >>> asarray_like(np.ones(2), np.zeros(1, np.float32)).dtype
    dtype('float32')
    """
    if _is_torch(A):
        # A copy: torch warns about read-only arrays, and would share the memory of others.
        return namespace(A).asarray(values.copy(), dtype=A.dtype, device=A.device)
    return namespace(A).asarray(values, dtype=A.dtype)


def identity_like(A: Any, size: int) -> Float[Any, "size size"]:
    """Return the identity matrix in the library, the precision and (torch) on the device of A.

    >>> identity_like(np.zeros(1, np.float32), 2).dtype
    dtype('float32')
    """
    if _is_torch(A):
        return namespace(A).eye(size, dtype=A.dtype, device=A.device)
    return namespace(A).eye(size, dtype=A.dtype)


def kind_of(A: Any) -> Literal["complex", "floating", "integer"]:
    """Return the kind of numbers in A; booleans count as integers.

    >>> kind_of(np.zeros(1)), kind_of(np.zeros(1, complex)), kind_of(np.zeros(1, int))
    ('floating', 'complex', 'integer')
    """
    name = str(A.dtype)
    return "complex" if "complex" in name else "floating" if "float" in name else "integer"


def _is_torch(A: Any) -> bool:
    return type(A).__module__.partition(".")[0] == "torch"
