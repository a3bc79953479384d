"""Columns of a table that a fit should perhaps not see: row numbers, names of rows, copies of the target."""

from typing import Any

import numpy as np

from firstlight.rfm._encoding import reading

LEAKS_FROM = 0.99
"""Held-out score of one column alone from which it is called a possible leak."""

SAME_ORDER = 0.999
"""Rank correlation with a target of numbers from which a column is called a possible leak."""

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
    twice | has the order of the target (rank correlation 1.000); would it be known in time?
    """
    reasons = {}
    metric = "R²" if task == "regression" else "accuracy"
    for name, column in X.items():
        kind = reading.kind_of(column)
        if kind == "number" and _counts(reading.numbers(column)):
            reasons[str(name)] = "counts the rows"
            continue
        if kind == "category" and column.notna().all() and column.nunique() == len(column):
            reasons[str(name)] = "has another value in each row, as a name or a number of the row would"
            continue
        values = _values(column, kind)
        known = np.flatnonzero(~np.isnan(values))
        if len(known) < max(20, 0.5 * len(values)):
            continue
        rows = np.random.default_rng(0).permutation(known)[:MOST_ROWS]
        if task == "regression" and (ranks := _rank_correlation(values[rows], np.asarray(y)[rows])) >= SAME_ORDER:
            reasons[str(name)] = (
                f"has the order of the target (rank correlation {ranks:.3f}); would it be known in time?"
            )
        elif (score := _alone(values[rows], np.asarray(y)[rows], task)) >= LEAKS_FROM:
            reasons[str(name)] = (
                f"alone predicts the target with {metric} {score:.3f} on held-out rows; would it be known in time?"
            )
    return reasons


def _counts(values: np.ndarray) -> bool:
    """Return whether the values are n consecutive integers in the order of the rows, up or down."""
    steps = np.diff(values)
    return len(values) > 2 and bool((steps == 1).all() or (steps == -1).all())


def _values(column: Any, kind: str) -> np.ndarray:
    """Return the column as numbers: codes for levels, days for dates, NaN for gaps."""
    if kind == "empty":
        return np.full(len(column), np.nan)
    if kind == "category":
        return reading.levels(column)[0].astype(float)
    return (reading.days if kind == "date" else reading.numbers)(column)


def _rank_correlation(values: np.ndarray, target: np.ndarray) -> float:
    """Return the size of Spearman's rank correlation; 0 if one of the two is constant."""
    from scipy.stats import rankdata

    if np.ptp(values) == 0 or np.ptp(target) == 0:
        return 0.0
    return float(abs(np.corrcoef(rankdata(values), rankdata(target))[0, 1]))


def _alone(values: np.ndarray, target: np.ndarray, task: str) -> float:
    """Return the held-out score of a tree on this column alone; 0 if one class is nearly as good."""
    from sklearn.model_selection import KFold, cross_val_score
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if task != "regression" and np.unique(target, return_counts=True)[1].max() > 0.95 * len(target):
        return 0.0  # with one dominant class a high accuracy is no sign of a leak
    tree = DecisionTreeRegressor(random_state=0) if task == "regression" else DecisionTreeClassifier(random_state=0)
    folds = KFold(3, shuffle=True, random_state=0)
    return float(cross_val_score(tree, values[:, None], target, cv=folds).mean())
