"""Fitted estimators as one `.safetensors` file: numbers and JSON, no executable code."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from firstlight._files import write_atomically
from firstlight.records._layout import filled, parse_header, read_tensors, reading
from firstlight.records._shorten import shorten
from firstlight.rfm._classifier import RFMClassifier
from firstlight.rfm._form import Header, Words, check, classes_of, encoding
from firstlight.rfm._intervals import Residuals
from firstlight.rfm._labels import Labels
from firstlight.rfm._regressor import RFMRegressor
from firstlight.rfm._solvers.kernels import KERNELS
from firstlight.rfm._solvers.leaves import Leaves
from firstlight.rfm._state import rows_of
from firstlight.rfm._tables.table import Scaling
from firstlight.rfm._upgrade import upgraded

_KEY = "firstlight.rfm"
_SCHEMA = 3
_ESTIMATORS = {"RFMClassifier": RFMClassifier, "RFMRegressor": RFMRegressor}
_WORDS = tuple(Words.model_fields)
_NUMBERS = {"feature_matrix_", "_centres", "_beta"}


def save(estimator: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted estimator atomically."""
    from safetensors.numpy import save as pack

    params, kernel = estimator.get_params(), type(estimator.kernel_).__name__.lower()
    if kernel not in KERNELS:
        raise ValueError(f"only the kernels {', '.join(KERNELS)} can be written to a file; got {kernel}; use pickle")
    if not isinstance(params["kernel"], str):
        params["kernel"], params["bandwidth"] = kernel, estimator.bandwidth_
    params = {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
    if not isinstance(params["random_state"], int | None):
        params["random_state"] = None
    if not isinstance(params["cv"], int | None):
        # A splitter or a list of rows matters only for a fit.
        params["cv"] = None
    if not isinstance(params["categorical_features"], str | None):
        params["categorical_features"] = np.asarray(params["categorical_features"]).tolist()
    weights = params.get("class_weight")
    if not isinstance(weights, str | None):
        params["class_weight"] = None
    arrays = {name: getattr(estimator, name) for name in _NUMBERS}
    arrays |= {"shift": estimator._scaling.shift, "spread": estimator._scaling.spread}
    arrays["variances"] = estimator._variances
    arrays |= estimator._leaves.arrays() if estimator._leaves else {}
    head: dict[str, Any] = {"schema": _SCHEMA, "estimator": type(estimator).__name__, "kernel": kernel}
    head |= {"params": params, "words": {name: getattr(estimator, name) for name in _WORDS}}
    head["history"] = json.loads(estimator.history_.to_json(orient="records", double_precision=15))
    if not isinstance(weights, str | None):
        head["class_weight"] = [_pairs(part) for part in ([weights] if isinstance(weights, dict) else weights)]
    head["names"] = [str(name) for name in getattr(estimator, "feature_names_in_", [])]
    head["columns"] = rows_of(estimator._encoding)
    if isinstance(estimator, RFMClassifier):
        head |= {"labels": _labels(estimator), "calibration": estimator.calibration_.to_dict("records")}
        arrays["prior"] = np.concatenate([labels.prior for labels in estimator._labels])
    else:
        head["one_dimensional"] = bool(estimator._one_dimensional)
        arrays |= {"target_shift": estimator._targets.shift, "target_spread": estimator._targets.spread}
        arrays |= {"residuals": estimator._residuals.sizes, "levels": estimator._residuals.levels}
    content = pack({name: np.ascontiguousarray(a) for name, a in arrays.items()}, {_KEY: json.dumps(head)})
    return write_atomically(path, content)


def _labels(estimator: RFMClassifier) -> list[dict[str, Any]]:
    factors = np.atleast_1d(estimator.temperature_).tolist()
    return [
        {"classes": _spelled(labels.classes), "dtype": labels.classes.dtype.str, "temperature": factor}
        for labels, factor in zip(estimator._labels, factors, strict=True)
    ]


def _pairs(weights: dict[Any, Any]) -> list[dict[str, Any]]:
    labels = _spelled(np.array(list(weights)))
    return [{"label": label, "weight": float(weight)} for label, weight in zip(labels, weights.values(), strict=True)]


def _spelled(classes: np.ndarray) -> list[Any]:
    """Return the classes as JSON values."""
    spelled = (classes.view(np.int64) if classes.dtype.kind in "mM" else classes).tolist()
    other = [label for label in spelled if not isinstance(label, bool | int | float | str)]
    if other:
        raise ValueError(
            f"only labels that are numbers, text, dates or booleans can be written to a file; "
            f"got {type(other[0]).__name__}; use pickle"
        )
    return spelled


def load(path: str | os.PathLike[str]) -> RFMClassifier | RFMRegressor:
    """Read an estimator that `save` of this version or of version 0.1 wrote; its predictions are identical.

    >>> import tempfile
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> model = RFMRegressor(iterations=1).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(model.save(f"{folder}/model.safetensors"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    with reading(path, "an RFM estimator file", "give a file that `save` wrote, or fit the estimator again"):
        metadata, arrays = read_tensors(path)
        value, arrays = upgraded(parse_header(metadata.get(_KEY), _KEY), arrays)
        head = filled(Header, value)
        check(head, arrays)
        return _restored(head, arrays)


def _restored(head: Header, arrays: dict[str, np.ndarray]) -> RFMClassifier | RFMRegressor:
    import pandas as pd

    made = _ESTIMATORS[head.estimator]
    if unknown := sorted(set(head.params) ^ set(made().get_params())):
        raise ValueError(
            f"its parameters must be those of {head.estimator}; unknown or missing: {shorten(str(unknown))}"
        )
    estimator = made(**head.params)
    estimator._validate_params()
    for name in _WORDS:
        setattr(estimator, name, getattr(head.words, name))
    for name in _NUMBERS:
        setattr(estimator, name, arrays[name])
    estimator._leaves = Leaves.from_arrays(arrays)
    estimator.kernel_ = KERNELS[head.kernel](estimator.bandwidth_)
    history = pd.DataFrame([step.model_dump() for step in head.history])
    # A column of nulls alone would have dtype object.
    numbers = ["bandwidth", "score", "error", "ridge", "alignment", "change", "condition"]
    estimator.history_ = history.astype(dict.fromkeys(numbers, float))
    estimator._scaling = Scaling(arrays["shift"], arrays["spread"])
    estimator._encoding, estimator._variances = encoding(head), arrays["variances"]
    estimator.n_features_in_ = len(head.columns)
    if head.names:
        estimator.feature_names_in_ = np.array(head.names, dtype=object)
    if isinstance(estimator, RFMClassifier):
        _restore_labels(estimator, head, arrays["prior"])
    else:
        estimator._one_dimensional = head.one_dimensional
        estimator._targets = Scaling(arrays["target_shift"], arrays["target_spread"])
        estimator._residuals = Residuals(arrays["residuals"], arrays["levels"])
    return estimator


def _restore_labels(estimator: RFMClassifier, head: Header, prior: np.ndarray) -> None:
    import pandas as pd

    forms = head.labels or []
    classes = [classes_of(form) for form in forms]
    priors = np.split(prior, np.cumsum([len(part) for part in classes])[:-1])
    estimator._labels = tuple(Labels(*pair) for pair in zip(classes, priors, strict=True))
    estimator._several = len(classes) > 1
    estimator.classes_ = classes if estimator._several else classes[0]
    factors = [form.temperature for form in forms]
    estimator.temperature_ = np.array(factors) if estimator._several else factors[0]
    rows = [row.model_dump() for row in head.calibration or []]
    estimator.calibration_ = pd.DataFrame(rows, columns=["predicted", "observed", "rows"], dtype=float)
    if head.class_weight is not None:
        weights = [{entry.label: entry.weight for entry in part} for part in head.class_weight]
        estimator.class_weight = weights if estimator._several else weights[0]
