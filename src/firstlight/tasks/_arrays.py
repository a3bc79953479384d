"""Tasks from the user's arrays or DataFrame."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from firstlight.tasks._inputs import DenseInputs
from firstlight.tasks._task import Task


def from_arrays(X: Any, y: Any, name: str = "arrays", classification: bool | None = None) -> Task:
    """Return a task made of a table of numbers and its targets.

    **Arguments:**

    - `X`: (n, d) array or DataFrame of finite numbers.
    - `y`: (n,) labels (strings, integers, booleans, categories) give classes in sorted order, with their names;
      (n,) or (n, m) floats give a regression.
    - `name`: a title.
    - `classification`: True reads y as classes, False as numbers; None decides by the type of y.

    >>> import numpy as np
    >>> task = from_arrays(np.eye(3), ["cat", "dog", "cat"])
    >>> task.targets, task.class_names
    (array([0, 1, 0], dtype=int32), ('cat', 'dog'))
    """
    values = _numbers(X)
    labels = _labels(y)
    if len(values) != len(labels):
        raise ValueError(f"X and y must have one row per sample, got {len(values)} and {len(labels)} rows")
    if classification is None:
        classification = labels.ndim == 1 and not np.issubdtype(labels.dtype, np.floating)
    if classification:
        targets, class_names = _classes(labels)
        return Task(name, DenseInputs(values), targets, outputs=len(class_names), class_names=class_names)
    targets = _targets(labels)
    return Task(name, DenseInputs(values), targets, outputs=targets.shape[1])


def _numbers(X: Any) -> Float[np.ndarray, "n d"]:
    if isinstance(X, pd.DataFrame):
        wrong = [str(c) for c in X.columns if not pd.api.types.is_numeric_dtype(X[c])]
        if wrong:
            raise ValueError(
                f"X must hold numbers, but columns {wrong} do not; encode them, e.g. with pandas.get_dummies"
            )
        values = X.to_numpy(dtype=float, na_value=np.nan)
    else:
        values = np.asarray(X)
    if values.ndim != 2 or values.dtype.kind not in "fiub":
        raise ValueError(
            f"X must be a table of real numbers of shape (n, d), got {values.dtype} of shape {values.shape}; "
            "reshape one feature with X[:, None], make a sparse matrix dense with .toarray()"
        )
    if values.size == 0:
        raise ValueError(f"X must have at least one row and one column, got shape {values.shape}")
    values = values if values.dtype.kind == "f" else values.astype(float)
    if not (finite := np.isfinite(values)).all():
        row, column = np.argwhere(~finite)[0]
        where = f"{X.columns[column]!r}" if isinstance(X, pd.DataFrame) else f"{column}"
        raise ValueError(
            f"X has {np.size(finite) - finite.sum()} NaN or infinite entries, the first in row {row}, "
            f"column {where}; drop or impute them"
        )
    return values


def _labels(y: Any) -> np.ndarray:
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim not in (1, 2):
        raise ValueError(f"y must have shape (n,) or (n, m), got {labels.shape}")
    if len(labels) and (missing := pd.isna(labels)).any():
        raise ValueError(
            f"y has {missing.sum()} missing values, the first in row {np.argwhere(missing)[0][0]}; drop them"
        )
    return labels


def _classes(labels: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    if labels.ndim != 1:
        raise ValueError(f"classes must have shape (n,), got {labels.shape}; pass classification=False to regress")
    try:
        names, targets = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"y mixes types that have no order ({error}); convert the labels to strings") from error
    if len(names) < 2:
        raise ValueError(f"y must have at least two classes, got only {names.tolist()}")
    return targets, tuple(str(name) for name in names)


def _targets(labels: np.ndarray) -> Float[np.ndarray, "n m"]:
    try:
        targets = labels.astype(float)
    except ValueError as error:
        raise ValueError(f"y must hold numbers for a regression ({error}); pass classification=True") from error
    targets = targets.reshape(len(targets), -1)
    if not np.isfinite(targets).all():
        raise ValueError(f"y has {np.size(targets) - np.isfinite(targets).sum()} infinite entries; drop them")
    return targets
