"""Folds that the user asks for, by `cv` or by groups of rows that belong together."""

from typing import Any

import numpy as np

GROUP_FOLDS = 4

Split = tuple[np.ndarray, np.ndarray]


def splits(cv: Any, X: np.ndarray, labels: Any, groups: Any) -> list[Split] | None:
    """Return pairs of training rows and held-out rows; None if neither `cv` nor `groups` is given.

    `labels` (n,) are the classes, or None for a regression. Groups without `cv` are dealt to four folds.

    >>> folds = splits(None, np.zeros((4, 1)), None, ["a", "a", "b", "b"])
    >>> sorted(held.tolist() for _, held in folds)
    [[0, 1], [2, 3]]
    """
    from pandas import isna as missing
    from sklearn.model_selection import GroupKFold, check_cv
    from sklearn.utils import check_consistent_length

    if cv is None and groups is None:
        return None
    if groups is not None:
        check_consistent_length(X, groups)
        if gaps := int(np.sum(np.asarray(missing(groups)))):
            raise ValueError(f"groups must name a group for each row; {gaps} of {len(X)} rows have none")
        count = len(set(np.asarray(groups).ravel().tolist()))
        if count < 2:
            raise ValueError("groups must name at least two groups, so that one can be held out; got one")
        if cv is None or isinstance(cv, int | np.integer):
            cv = GroupKFold(min(GROUP_FOLDS if cv is None else int(cv), count))
    given: Any = cv
    chosen: Any = check_cv(given, labels, classifier=labels is not None)
    return [(np.asarray(train), np.asarray(held)) for train, held in chosen.split(X, labels, groups)]


def codes_of(folds: list[Split] | None, rows: int) -> np.ndarray | None:
    """Return a number for each row, equal for rows that train and are held out in the same folds.

    >>> codes_of([(np.array([0, 1]), np.array([2])), (np.array([2]), np.array([0, 1]))], 3).tolist()
    [1, 1, 0]
    """
    if folds is None:
        return None
    member = np.zeros((rows, 2 * len(folds)), bool)
    for k, (train, held) in enumerate(folds):
        member[train, 2 * k] = member[held, 2 * k + 1] = True
    return np.unique(member, axis=0, return_inverse=True)[1].ravel()


def merged(folds: list[Split] | None, place: np.ndarray) -> tuple[Split, ...] | None:
    """Return the folds of merged rows; only rows of the same folds have been merged.

    >>> merged([(np.array([0, 1]), np.array([2]))], np.array([0, 0, 1]))
    ((array([0]), array([1])),)
    """
    if folds is None:
        return None
    result = tuple((_places(place, train), _places(place, held)) for train, held in folds)
    if any(not len(train) or not len(held) for train, held in result):
        raise ValueError(
            "each fold of cv needs rows with weight to train on and others to hold out; got a fold without"
        )
    return result


def _places(place: np.ndarray, rows: np.ndarray) -> np.ndarray:
    merged_rows = np.unique(place[rows])
    return merged_rows[merged_rows >= 0]
