"""Plain values in a record: numbers, text, lists and tables; NaN and ±∞ survive JSON."""

from collections.abc import Mapping
from numbers import Integral
from numbers import Real as RealNumber
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

_WORDS = ("NaN", "Infinity", "-Infinity")


def plain(value: Any) -> Any:
    """Convert arrays of NumPy or JAX to lists and their scalars to Python numbers.

    >>> plain({"error": np.float32(0.5), "counts": np.arange(3), "level": "-Infinity"})
    {'error': 0.5, 'counts': [0, 1, 2], 'level': -inf}
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return float(value) if value in _WORDS else value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, RealNumber):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    array = np.asarray(value)
    if array.dtype.kind not in "biufU":
        got = f"{type(value).__name__} ({array.dtype})"
        raise ValueError(f"a record holds numbers, text, lists and tables of them; got {got}")
    return array.tolist()


Value = Annotated[Any, BeforeValidator(plain)]
"""Annotation of a field that holds a plain value."""
