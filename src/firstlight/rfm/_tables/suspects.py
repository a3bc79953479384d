"""Columns of a table that a fit should perhaps not see: row numbers, names of rows, copies of the target."""

from typing import Any

import numpy as np

from firstlight.rfm._encoding import reading

LEAKS_FROM = 0.99
"""Held-out score of one column alone from which it is called a possible leak."""

MOST_ROWS = 2000
"""Rows on which a column is tried alone; a leak shows in few."""


def suspects(X: Any, y: Any, task: str) -> dict[str, str]:
    """Return the columns that number or name the rows, or that give the target away, each with the reason.

    >>> import pandas as pd
    >>> y = pd.Series(np.random.default_rng(0).random(60))
    >>> frame = pd.DataFrame({"row": np.arange(60), "twice": 2 * y, "x": np.random.default_rng(1).random(60)})
    >>> for name, reason in suspects(frame, y, "regression").items():
    ...     print(name, "|", reason)
    row | counts the rows
    twice | alone predicts the target with R² 1.000 on held-out rows; would it be known in time?
    """
    found = {}
    metric = "R²" if task == "regression" else "accuracy"
    for name, column in X.items():
        kind = reading.kind_of(column)
        if kind == "number" and _counts(reading.numbers(column)):
            found[str(name)] = "counts the rows"
            continue
        if kind == "category" and column.notna().all() and column.nunique() == len(column):
            found[str(name)] = "has another value in each row, as a name or a number of the row would"
            continue
        score = _alone(column, kind, y, task)
        if score >= LEAKS_FROM:
            found[str(name)] = (
                f"alone predicts the target with {metric} {score:.3f} on held-out rows; would it be known in time?"
            )
    return found


def _counts(values: np.ndarray) -> bool:
    """Return whether the values are n consecutive integers in the order of the rows, up or down."""
    steps = np.diff(values)
    return len(values) > 2 and bool((steps == 1).all() or (steps == -1).all())


def _alone(column: Any, kind: str, y: Any, task: str) -> float:
    """Return the held-out score of a tree on this column alone; 0 if one class is nearly as good."""
    from sklearn.model_selection import KFold, cross_val_score
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if kind == "empty":
        return 0.0
    if kind == "category":
        values = reading.levels(column)[0].astype(float)
    else:
        values = (reading.days if kind == "date" else reading.numbers)(column)
    known = np.flatnonzero(~np.isnan(values))
    rows = np.random.default_rng(0).permutation(known)[:MOST_ROWS]
    labels = np.asarray(y)[rows]
    if len(rows) < 20 or len(known) < 0.5 * len(values):
        return 0.0
    if task != "regression":
        share = np.unique(labels, return_counts=True)[1].max() / len(labels)
        # With one dominant class a high accuracy is no sign of a leak.
        if share > 0.95:
            return 0.0
    tree = DecisionTreeRegressor(random_state=0) if task == "regression" else DecisionTreeClassifier(random_state=0)
    folds = KFold(3, shuffle=True, random_state=0)
    return float(cross_val_score(tree, values[rows, None], labels, cv=folds).mean())
