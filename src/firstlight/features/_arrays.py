"""The array namespace of a NumPy, JAX or torch array, so that one formula serves all three."""

import sys
from typing import Any


def namespace(A: Any) -> Any:
    """The functions that belong to an array: NumPy's or JAX's by the array-API standard, torch's own otherwise.

    torch tensors do not carry `__array_namespace__`; whoever holds one has imported torch, so it is looked up,
    never imported.

    >>> import numpy as np
    >>> namespace(np.zeros(2)).__name__
    'numpy'
    >>> namespace([0.0])
    Traceback (most recent call last):
    ...
    TypeError: an array of NumPy, JAX or torch is needed, got list; wrap it with numpy.asarray
    """
    library = type(A).__module__.partition(".")[0]
    if library == "torch":
        return sys.modules["torch"]
    try:
        return A.__array_namespace__()
    except AttributeError:
        raise TypeError(
            f"an array of NumPy, JAX or torch is needed, got {type(A).__name__}; wrap it with numpy.asarray"
        ) from None
