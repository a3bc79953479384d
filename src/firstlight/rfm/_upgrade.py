"""Estimator files of version 0.1 (schema 2) in today's form."""

from typing import Any

import numpy as np

_NEW_PARAMETERS = {"verbose": "auto", "categorical_features": "from_dtype", "cv": None}


def upgraded(head: Any, arrays: dict[str, np.ndarray]) -> tuple[Any, dict[str, np.ndarray]]:
    """Return header and arrays in the form of schema 3; what is not of schema 2 is returned as it is.

    All columns were numbers without gaps, one kernel was given, and neither intervals nor calibration existed. The
    result is checked like any other file.

    >>> upgraded({"schema": 3}, {})
    ({'schema': 3}, {})
    """
    if not isinstance(head, dict) or head.get("schema") != 2:
        return head, arrays
    head, arrays = dict(head), dict(arrays)
    words, shift = head.get("words"), arrays.get("shift")
    columns = len(shift) if shift is not None and shift.ndim else 0
    step = {
        "kernel": head.get("kernel"),
        "bandwidth": words.get("bandwidth_") if isinstance(words, dict) else None,
        "columns": "all",
        "judged": 0,
    }
    head["schema"] = 3
    head["columns"] = [{"kind": "number", "fill": 0.0, "gaps": False}] * columns
    head["history"] = [row | step if isinstance(row, dict) else row for row in _list(head.get("history"))]
    if isinstance(head.get("params"), dict):
        head["params"] = _NEW_PARAMETERS | head["params"]
    arrays["variances"] = np.ones(columns)
    if head.get("estimator") == "RFMClassifier":
        label = {name: head.pop(old, None) for name, old in _LABELS.items()}
        head |= {"labels": [label], "calibration": []}
        if isinstance(head.get("params"), dict):
            head["params"] = {"class_weight": None} | head["params"]
    else:
        outputs = np.shape(arrays.get("target_shift", ()))
        arrays |= {name: np.empty((0, *outputs)) for name in ("residuals", "levels")}
    return head, arrays


_LABELS = {"classes": "classes", "dtype": "classes_dtype", "temperature": "temperature"}
"""Names of a column of labels in schema 3 and, for the only column, in schema 2."""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
