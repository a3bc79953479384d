"""From what a user gives as X to a float array or a data frame, with scikit-learn's own checks and messages."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import _check_y, check_consistent_length, validate_data

from firstlight._suggest import did_you_mean
from firstlight.records._shorten import shorten
from firstlight.rfm._encoding import reading
from firstlight.rfm._solvers import memory


def read(
    estimator: Any, X: Any, y: Any = None, *, reset: bool, numeric: bool | None = None, **targets: Any
) -> tuple[Any, Any]:
    """Return X as a float array with NaN for gaps, or as a data frame if it holds more than numbers; and y.

    **Arguments:**

    - `estimator`: the estimator that learns or checks the number and the names of columns.
    - `X`: rows, as a data frame, an array, lists or a sparse matrix.
    - `y`: targets, only with `reset`.
    - `reset`: whether this is a fit.
    - `numeric`: whether X must be an array of numbers; None finds out.
    - `targets`: how to check y, as in `sklearn.utils.check_X_y`.
    """
    if numeric is None:
        numeric = estimator.categorical_features is None or reading.is_numeric(X)
    both = (X, y) if reset else (X,)
    _check_columns(X)
    frame = None if numeric else reading.as_frame(X)
    if frame is None:
        return _read_numbers(estimator, both, reset, targets)
    validate_data(estimator, *both, reset=reset, skip_check_array=True)
    if not len(frame) or not frame.shape[1]:
        raise ValueError(
            f"Found array with {len(frame)} sample(s) and {frame.shape[1]} feature(s) (shape={frame.shape}) while a "
            "minimum of 1 is required."
        )
    if reset:
        y = _check_y(y, estimator=estimator, **targets)
        check_consistent_length(frame, y)
    frame = frame.set_axis([str(name) for name in _names(estimator, frame)], axis=1)
    return frame, y


def declared(categorical_features: Any, X: Any) -> np.ndarray | None:
    """Return which columns are declared categories (d,); None if only their types decide.

    >>> declared([True, False], np.zeros((2, 2))), declared("from_dtype", np.zeros((2, 2)))
    (array([ True, False]), None)
    """
    if categorical_features is None or isinstance(categorical_features, str):
        return None
    given, names = np.asarray(categorical_features), [str(name) for name in getattr(X, "columns", [])]
    count = len(names) or np.shape(X)[1]
    if given.size == 0:
        return np.zeros(count, bool)
    if given.dtype.kind == "b":
        if given.shape != (count,):
            raise ValueError(
                f"categorical_features as a mask must have {count} booleans, one for each column; got {given.shape}"
            )
        return given
    if given.dtype.kind in "iu":
        if given.min() < 0 or given.max() >= count:
            raise ValueError(f"categorical_features must be positions from 0 to {count - 1}; got {given.tolist()}")
        return np.isin(np.arange(count), given)
    unknown = [str(name) for name in given if str(name) not in names]
    if unknown:
        hint = did_you_mean(unknown[0], names)
        raise ValueError(f"categorical_features must name columns of X; got {unknown[0]!r}; {hint}".rstrip("; "))
    return np.isin(names, [str(name) for name in given])


def encoded_room(rows: int, columns: int) -> None:
    """Raise ValueError if no column has a value, or if the encoded table takes over half of the available memory."""
    if not columns:
        raise ValueError("X must have a column with a value; got only missing values")
    needed, free = 8 * rows * columns, memory.available()
    if needed > free // 2:
        raise ValueError(
            f"the table of {rows} rows and {columns} encoded columns takes {needed / 2**30:.1f} GiB, more than half of "
            f"the {free / 2**30:.1f} GiB available; drop columns with many levels, or fit a sample of the rows"
        )


def _read_numbers(estimator: Any, both: tuple, reset: bool, targets: dict) -> tuple[Any, Any]:
    try:
        checked = validate_data(
            estimator,
            *both,
            reset=reset,
            dtype=np.float64,
            accept_sparse=("csr", "csc", "coo"),
            ensure_all_finite="allow-nan",
            **targets,
        )
    except ValueError as error:
        raise ValueError(f"{error}{_advice(str(error), both[0], reset)}") from None
    X, y = checked if reset else (checked, None)
    return _dense(X), y


def _check_columns(X: Any) -> None:
    """Raise ValueError if a data frame has no column, or two text names that are the same."""
    names = [name for name in getattr(X, "columns", ()) if isinstance(name, str)]
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise ValueError(f"the columns of X must have different names; {twice!r} occurs {names.count(twice)} times")
    if hasattr(X, "columns") and not len(X.columns):
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")


def _advice(words: str, X: Any, reset: bool) -> str:
    if "Input X contains infinity" in words:
        with np.errstate(invalid="ignore"):
            array = X.toarray() if issparse(X) else np.asarray(X, dtype=np.float64)
        places = np.flatnonzero(np.isinf(array).any(axis=0))
        names = getattr(X, "columns", None)
        which = ", ".join(str(i) if names is None else repr(names[i]) for i in places)
        return f"\nIt is in column {shorten(which)}; replace it by a number or by a missing value."
    if "could not convert string" in words:
        if np.ndim(X) == 1:
            return "\nX must have rows and columns; give one column as X[['name']], one row as X.iloc[[0]]."
        return (
            "\nLeave categorical_features='from_dtype', so that text is read as categories."
            if reset
            else "\nAll columns held numbers in fit; give numbers or gaps."
        )
    return ""


def _dense(X: Any) -> np.ndarray:
    if not issparse(X):
        return X
    needed, free = 8 * X.shape[0] * X.shape[1], memory.available()
    if needed > free // 2:
        raise ValueError(
            f"a sparse X is made dense, and {X.shape[0]} rows of {X.shape[1]} columns take {needed / 2**30:.1f} GiB, "
            f"more than half of the {free / 2**30:.1f} GiB available; reduce the columns first, as in "
            "make_pipeline(TruncatedSVD(100), RFMRegressor())"
        )
    return X.toarray()


def _names(estimator: Any, frame: Any) -> list[Any]:
    return list(getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(frame.shape[1])]))
