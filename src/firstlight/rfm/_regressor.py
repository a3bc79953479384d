"""`RFMRegressor`, the recursive feature machine for regression."""

from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from firstlight.rfm._documentation import documented
from firstlight.rfm._estimator import BaseRFM
from firstlight.rfm._intervals import Residuals
from firstlight.rfm._solvers.solution import mean_squares
from firstlight.rfm._tables.table import Scaling
from firstlight.rfm._targets import plain_targets


@documented
class RFMRegressor(RegressorMixin, BaseRFM):
    """Kernel regressor that learns which directions of the input matter (recursive feature machine).

    The defaults need no tuning: columns are standardised, and held-out rows choose the update of the metric M, the
    number of updates, the kernel, its bandwidth and the ridge.

    {parameters}

    {attributes}

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> model = RFMRegressor().fit(X, X[:, 1] * X[:, 3])
    >>> sorted(model.feature_importances_.argsort()[-2:].tolist())
    [1, 3]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> "RFMRegressor":
        """Fit to rows X (n, d) and targets y.

        **Arguments:**

        - `X`: rows (n, d); gaps, text, categories, dates and durations are encoded.
        - `y`: targets (n,), or (n, m) for several.
        - `sample_weight`: weights of the rows (n,).
        - `groups`: groups of the rows (n,); rows of one group are held out together.
        """
        self._validate_params()
        y = plain_targets(y)
        if getattr(getattr(y, "dtype", None), "kind", None) in ("m", "M"):
            raise ValueError("y holds dates or durations; give numbers, such as days")
        X, y, weights = self._encoded(X, y, sample_weight, multi_output=True, y_numeric=True)
        try:
            Y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        except ValueError as error:
            raise ValueError(f"y must be numbers: {error}; RFMClassifier takes labels") from None
        self._targets = Scaling.of(Y[weights > 0], weights[weights > 0])
        self._one_dimensional = np.ndim(y) == 1
        Y = self._targets.apply(Y)
        self._variance = mean_squares(np.zeros_like(Y), Y, weights)
        fitted, place = self._fit(X, Y, weights, loo=False, groups=groups)
        # They cost an inverse, so they wait until intervals, a file or a pickle need them.
        self._residuals_later = partial(Residuals.of, fitted, self.kernel_, Y, weights, place)
        vars(self).pop("_residuals", None)
        return self

    @cached_property
    def _residuals(self) -> Residuals:
        return vars(self).pop("_residuals_later")()

    def __getstate__(self):
        if "_residuals_later" in vars(self):
            vars(self)["_residuals"] = self._residuals
        return super().__getstate__()

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Return intervals (n, 2) that hold a new target with this probability; (n, m, 2) if y had two dimensions.

        The half-width is the quantile of the exact leave-one-out residuals (conformal prediction), or that of the
        held-out residuals if it is larger, because M has seen the rows that are left out. It is the same for all
        rows. The coverage is an average over new rows from the same source as the training rows.

        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((300, 2))
        >>> model = RFMRegressor(iterations=1).fit(X[:200], X[:200, 0] + rng.standard_normal(200))
        >>> low, high = model.predict_interval(X[200:], 0.8).T
        >>> bool((low < model.predict(X[200:])).all())
        True
        """
        check_is_fitted(self)
        half = self._residuals.half_width(coverage) * self._targets.spread
        centre = self._targets_of(self._scores(X))
        intervals = np.stack([centre - half, centre + half], axis=-1)
        return intervals[:, 0] if self._one_dimensional else intervals

    def predict(self, X: Any) -> np.ndarray:
        """Return predictions (n,), or (n, m) if y had two dimensions."""
        values = self._targets_of(self._scores(X))
        return values.ravel() if self._one_dimensional else values

    def _target_rows(self, y: Any) -> np.ndarray:
        values = np.asarray(y, dtype=np.float64)
        return self._targets.apply(values.reshape(len(values), -1))

    def _targets_of(self, scores: np.ndarray) -> np.ndarray:
        return self._targets.undo(scores)

    def _quality(self, predicted: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """Return R² over all outputs together, and the squared error; equal rows count by their mean target."""
        error = mean_squares(predicted, Y, weights)
        return 1 - error / (self._variance or 1.0), error
