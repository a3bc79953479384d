"""Targets as users give them, as NumPy arrays; what cannot be a target is refused with the fix."""

from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse


def plain_targets(y: Any) -> Any:
    """Return targets in NumPy's types; None and lists without gaps are returned as they are.

    >>> import pandas as pd
    >>> plain_targets(pd.Series([1, 2], dtype="Int64")), plain_targets(pd.Series([True], dtype="boolean")).dtype
    (array([1, 2]), dtype('bool'))
    """
    import pandas as pd

    if y is None:
        return None
    if issparse(y):
        raise ValueError("y must be dense; got a sparse matrix; give y.toarray()")
    try:
        rows, gaps = len(y), np.asarray(pd.isna(y if hasattr(y, "dtype") else np.asarray(y)))
    except (TypeError, ValueError):  # a scalar or rows of different lengths, which scikit-learn refuses
        return y
    gaps = gaps.any(axis=1) if gaps.ndim == 2 else gaps
    if gaps.any():
        raise ValueError(f"Input y contains NaN: {int(gaps.sum())} of {rows} rows have no target; drop these rows")
    if isinstance(y, pd.DataFrame):
        columns = [_plain(column) for _, column in y.items()]
        kinds = {column.dtype.kind for column in columns}
        # Numbers beside text would become text.
        return np.stack([column.astype(object) if len(kinds) > 1 and "O" in kinds else column for column in columns], 1)
    return _plain(y) if isinstance(y, pd.Series | pd.Index) else y


def _plain(column: Any) -> np.ndarray:
    """Return a column of pandas in NumPy's type; nullable integers and booleans stay what they are."""
    wanted = getattr(column.dtype, "numpy_dtype", None)
    return np.asarray(column) if wanted is None else column.to_numpy(dtype=wanted)


def of_one_type(labels: np.ndarray) -> np.ndarray:
    """Return labels; objects that are all numbers or booleans become an array of these.

    >>> of_one_type(np.array([True, False], dtype=object))
    array([ True, False])
    """
    if labels.dtype.kind != "O" or not len(labels):
        return labels
    cells = labels.tolist()
    text = [isinstance(cell, str) for cell in cells]
    if any(text) and not all(text):
        other = type(cells[text.index(False)]).__name__
        raise ValueError(f"labels must be of one type; got str and {other}; convert them, as in y.astype(str)")
    return np.asarray(cells) if all(isinstance(cell, Real | np.bool_) for cell in cells) else labels
