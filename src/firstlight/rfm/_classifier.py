"""`RFMClassifier`, the recursive feature machine for classification."""

from typing import Any

import numpy as np
from scipy.linalg import helmert
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from firstlight.rfm._documentation import documented
from firstlight.rfm._estimator import BaseRFM
from firstlight.rfm._solvers.solution import mean_squares


@documented
class RFMClassifier(ClassifierMixin, BaseRFM):
    """Kernel classifier that learns which directions of the input matter (recursive feature machine).

    Fits kernel regression to the indicators of the classes. Probabilities are the softmax of the scores times
    `temperature_`. The defaults need no tuning: exact leave-one-out chooses the ridge, and held-out rows choose the
    update of the metric M and the number of updates.

    {parameters}

    {attributes}
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    temperature_ : float
        Factor of the scores in `predict_proba`; it minimises the log loss of held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RFMClassifier().fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.predict_proba(X[:1]).argmax()
    (True, np.int64(0))
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "RFMClassifier":
        """Fit to rows X (n, d) and labels y (n,); `sample_weight` (n,) weights the rows."""
        self._validate_params()
        X, y = self._check_X(X, y, multi_output=True)
        if np.ndim(y) == 2 and np.shape(y)[1] > 1:
            raise ValueError(
                f"y must be one column of labels, got shape {np.shape(y)}; for several, "
                "MultiOutputClassifier(RFMClassifier()) of sklearn.multioutput fits one classifier to each"
            )
        y = _column(y)
        check_classification_targets(y)
        weights = self._check_weights(X, sample_weight)
        self.classes_, codes = np.unique(y, return_inverse=True)
        indicators = np.eye(len(self.classes_))[codes.ravel()]
        self._prior = np.average(indicators, axis=0, weights=weights)
        fitted = self._fit(X, (indicators - self._prior) @ self._basis, weights, loo=True)
        self.temperature_ = 1.0 if fitted.judged is None else self._temperature(*fitted.judged)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores (n, classes); for two classes (n,), positive for the second class."""
        scores = self._class_scores(self._scores(X))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities (n, classes), calibrated by one temperature on held-out rows."""
        scores = self._class_scores(self._scores(X))
        return softmax(self.temperature_ * scores, axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of every row (n,)."""
        scores = self._class_scores(self._scores(X))
        return self.classes_[scores.argmax(axis=1)]

    @property
    def _basis(self) -> np.ndarray:
        """Matrix (classes, classes − 1) with orthonormal columns that sum to 0, like differences of indicators.

        It saves one output and changes neither distances nor FACT nor AGOP. With a single class, a column of zeros
        keeps the shapes.
        """
        count = len(self.classes_)
        return helmert(count).T if count > 1 else np.zeros((1, 1))

    def _target_rows(self, y: Any) -> np.ndarray:
        return (np.eye(len(self.classes_))[np.searchsorted(self.classes_, _column(y))] - self._prior) @ self._basis

    def _class_scores(self, F: np.ndarray) -> np.ndarray:
        return F @ self._basis.T + self._prior

    def _temperature(self, predicted: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> float:
        """Return the factor that minimises the log loss of held-out rows."""
        scores, share = self._class_scores(predicted.astype(np.float64)), self._class_scores(Y.astype(np.float64))
        if len(self.classes_) == 1 or not np.isfinite(scores).all():
            return 1.0

        scores -= scores.max(axis=1, keepdims=True)
        mass = weights / weights.sum(dtype=np.float64)
        right = float(mass @ (share * scores).sum(axis=1))

        def loss(log_factor: float) -> float:
            factor = np.exp(log_factor)
            return float(mass @ np.log(np.exp(factor * scores).sum(axis=1)) - factor * right)

        return float(np.exp(minimize_scalar(loss, bounds=(-3.0, 6.0), method="bounded").x))  # type: ignore[union-attr]

    def _quality(self, predicted: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """Return the accuracy, and the squared error by which machines are compared."""
        scores, share = self._class_scores(predicted.astype(np.float64)), self._class_scores(Y.astype(np.float64))
        right = np.take_along_axis(share, scores.argmax(axis=1)[:, None], axis=1).ravel()
        return float(np.average(right, weights=weights)), mean_squares(predicted, Y, weights)


def _column(y: Any) -> np.ndarray:
    from sklearn.utils import column_or_1d

    return column_or_1d(y, warn=True)
