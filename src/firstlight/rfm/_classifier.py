"""`RFMClassifier`, the recursive feature machine for classification."""

import inspect
import warnings
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d, compute_sample_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from firstlight.rfm._calibration import reliability, temperature
from firstlight.rfm._documentation import documented
from firstlight.rfm._estimator import BaseRFM
from firstlight.rfm._labels import Labels
from firstlight.rfm._solvers.solution import mean_squares
from firstlight.rfm._targets import of_one_type, plain_targets


def _with_class_weight(init: Any) -> inspect.Signature:
    signature = inspect.signature(init)
    added = inspect.Parameter("class_weight", inspect.Parameter.KEYWORD_ONLY, default=None)
    return signature.replace(parameters=[*signature.parameters.values(), added])


def _one_column(estimator: Any) -> bool:
    return not getattr(estimator, "_several", False)


@documented
class RFMClassifier(ClassifierMixin, BaseRFM):
    """Kernel classifier that learns which directions of the input matter (recursive feature machine).

    Fits kernel regression to the indicators of the classes. Probabilities are the softmax of the scores times
    `temperature_`. The defaults need no tuning: columns are standardised, and held-out rows choose the update of the
    metric M, the number of updates, the kernel, its bandwidth and the ridge.

    {parameters}
    class_weight : dict, list of dict, "balanced" or None, default=None
        Weights of the classes, as a dict from label to weight (a list of dicts for several columns of labels).
        "balanced" gives all classes the same total weight.

    {attributes}
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted; a list of arrays for several columns of labels.
    temperature_ : float
        Factor of the scores in `predict_proba`, fitted to held-out rows and shrunk; one for each column of labels.
    calibration_ : DataFrame
        Groups of held-out rows with similar probabilities: mean probability, observed share, number of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RFMClassifier().fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.predict_proba(X[:1]).argmax()
    (True, np.int64(0))
    """

    _parameter_constraints: ClassVar[dict] = BaseRFM._parameter_constraints | {
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
    }

    def __init__(self, *, class_weight=None, **parameters):
        super().__init__(**parameters)
        self.class_weight = class_weight

    # scikit-learn reads the parameters from the signature, which is that of the base class and one more.
    __init__.__signature__ = _with_class_weight(BaseRFM.__init__)  # type: ignore[attr-defined]

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> "RFMClassifier":
        """Fit to rows X (n, d) and labels y.

        **Arguments:**

        - `X`: rows (n, d); gaps, text, categories, dates and durations are encoded.
        - `y`: labels (n,), or (n, m) for several columns of labels, which share one metric M.
        - `sample_weight`: weights of the rows (n,).
        - `groups`: groups of the rows (n,); rows of one group are held out together.
        """
        self._validate_params()
        X, y, weights = self._encoded(X, plain_targets(y), sample_weight, multi_output=True)
        columns = _columns(y)
        for column in columns:
            check_classification_targets(column)
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(
                self.class_weight, columns[0] if len(columns) == 1 else np.asarray(y)
            )
        made = [Labels.of(column, weights) for column in columns]
        self._labels = tuple(labels for labels, _ in made)
        self._several = len(made) > 1
        for labels in self._labels:
            _check_classes(labels)
        self.classes_ = [labels.classes for labels in self._labels] if self._several else self._labels[0].classes
        Y = np.hstack([targets for _, targets in made])
        fitted, _ = self._fit(X, Y, weights, loo=True, labels=None if self._several else columns[0], groups=groups)
        self._calibrate(fitted.judged)
        return self

    @available_if(_one_column)
    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores (n, classes); for two classes (n,), positive for the second class.

        It exists for one column of labels only, as scikit-learn's conventions have no form for several.
        """
        (scores,) = self._class_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities (n, classes), calibrated by one temperature; a list for several columns of labels."""
        scores = self._class_scores(X)
        parts = [
            softmax(factor * part, axis=1)
            for part, factor in zip(scores, np.atleast_1d(self.temperature_), strict=True)
        ]
        return parts if self._several else parts[0]

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of every row (n,), or (n, m) for several columns of labels."""
        scores = self._class_scores(X)
        parts = [labels.classes[part.argmax(axis=1)] for labels, part in zip(self._labels, scores, strict=True)]
        if not self._several:
            return parts[0]
        # Columns of text beside columns of numbers keep their types as objects.
        mixed = len({part.dtype.kind for part in parts}) > 1
        return np.stack([part.astype(object) if mixed else part for part in parts], axis=1)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; for several columns of labels, the share of rows with all labels right."""
        right = np.asarray(self.predict(X) == np.asarray(y).reshape(len(y), *([-1] if self._several else [])))
        right = right.all(axis=1) if self._several else right
        return float(np.average(right, weights=sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _target_rows(self, y: Any) -> np.ndarray:
        """Return the targets of labels among those of the fit."""
        columns = _columns(plain_targets(y))
        return np.hstack([labels.targets(column) for labels, column in zip(self._labels, columns, strict=True)])

    def _parts(self, F: np.ndarray) -> list[np.ndarray]:
        """Return the scores of each column of labels for outputs F."""
        ends = np.cumsum([labels.width for labels in self._labels])
        return [labels.scores(part) for labels, part in zip(self._labels, np.split(F, ends[:-1], axis=1), strict=True)]

    def _class_scores(self, X: Any) -> list[np.ndarray]:
        scores = self._scores(X)
        return self._parts(scores)

    def _calibrate(self, judged: Any) -> None:
        import pandas as pd

        factors, tables = [], []
        for i in range(len(self._labels)):
            if judged is None:
                factors.append(1.0)
                continue
            predicted, Y, weights = judged
            scores, shares = self._parts(predicted)[i], self._parts(Y)[i]
            factors.append(temperature(scores, shares, weights))
            if np.isfinite(scores).all():
                tables.append(pd.DataFrame(reliability(softmax(factors[-1] * scores, axis=1), shares, weights)))
        self.temperature_ = np.array(factors) if self._several else factors[0]
        columns = ["predicted", "observed", "rows"]
        self.calibration_ = (
            pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns, dtype=float)
        )

    def _quality(self, predicted: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """Return the accuracy (its mean over columns of labels), and the squared error by which machines compare."""
        right = [
            np.take_along_axis(shares, scores.argmax(axis=1)[:, None], axis=1).ravel()
            for scores, shares in zip(self._parts(predicted), self._parts(Y), strict=True)
        ]
        return float(np.average(np.mean(right, axis=0), weights=weights)), mean_squares(predicted, Y, weights)


def _columns(y: Any) -> list[np.ndarray]:
    """Return the columns of labels."""
    if np.ndim(y) == 2 and np.shape(y)[1] > 1:
        return [of_one_type(np.asarray(y)[:, j]) for j in range(np.shape(y)[1])]
    return [of_one_type(column_or_1d(y, warn=True))]


def _check_classes(labels: Labels) -> None:
    if len(labels.classes) == 1:
        warnings.warn(
            f"y has one class only, {labels.classes.tolist()[0]!r}, which is then always predicted; give rows of "
            "another class",
            UserWarning,
            stacklevel=3,
        )
