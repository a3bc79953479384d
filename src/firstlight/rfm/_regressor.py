"""`RFMRegressor`, the recursive feature machine for regression."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from firstlight.rfm._documentation import documented
from firstlight.rfm._estimator import BaseRFM
from firstlight.rfm._solvers.solution import mean_squares
from firstlight.rfm._tables.table import Scaling


@documented
class RFMRegressor(RegressorMixin, BaseRFM):
    """Kernel regressor that learns which directions of the input matter (recursive feature machine).

    The defaults need no tuning: columns are standardised, the bandwidth is the median distance, exact leave-one-out
    chooses the ridge, and held-out rows choose the update of the metric M and the number of updates.

    {parameters}

    {attributes}

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> model = RFMRegressor().fit(X, X[:, 1] * X[:, 3])
    >>> sorted(model.feature_importances_.argsort()[-2:].tolist())
    [1, 3]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "RFMRegressor":
        """Fit to rows X (n, d) and targets y (n,) or (n, m); `sample_weight` (n,) weights the rows."""
        self._validate_params()
        X, y = self._check_X(X, y, multi_output=True, y_numeric=True)
        weights = self._check_weights(X, sample_weight)
        try:
            Y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        except ValueError as error:
            raise ValueError(f"y must be numbers: {error}; RFMClassifier takes labels") from None
        self._targets = Scaling.of(Y[weights > 0], weights[weights > 0])
        self._one_dimensional = np.ndim(y) == 1
        Y = self._targets.apply(Y)
        self._variance = mean_squares(np.zeros_like(Y), Y, weights)
        self._fit(X, Y, weights, loo=False)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return predictions (n,), or (n, m) if y had two dimensions."""
        values = self._targets_of(self._scores(X))
        return values.ravel() if self._one_dimensional else values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _target_rows(self, y: Any) -> np.ndarray:
        values = np.asarray(y, dtype=np.float64)
        return self._targets.apply(values.reshape(len(values), -1))

    def _targets_of(self, scores: np.ndarray) -> np.ndarray:
        return self._targets.undo(scores)

    def _quality(self, predicted: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """Return R² over all outputs together, and the squared error; equal rows count by their mean target."""
        error = mean_squares(predicted, Y, weights)
        return 1 - error / (self._variance or 1.0), error
