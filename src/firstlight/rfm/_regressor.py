"""`RFMRegressor`."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from firstlight.rfm._estimator import BaseRFM
from firstlight.rfm._solvers.solution import mean_squares
from firstlight.rfm._tables.table import Scaling


class RFMRegressor(RegressorMixin, BaseRFM):
    """Kernel regression that learns which directions of the input matter (recursive feature machine).

    `fit(X, y)` needs nothing else: columns are standardised, the bandwidth is the median distance, exact leave-one-out
    chooses the ridge, and rows held out choose the update of the metric M and the number of updates.

    **Arguments:**

    - `update`: "fact", "fact_geometric", "nfa", "auto" (the best of them), or None for plain kernel ridge regression.
    - `kernel`: "laplace", "gaussian", "quadratic", "exponential", or a `Kernel` object, whose own bandwidth counts.
    - `bandwidth`: L, in the units of the scaled columns, or "median".
    - `ridge`: what is added to the diagonal of K, or "auto".
    - `iterations`: the largest number of updates of M.
    - `tol`: the update that changes M by less than this share of its norm is the last. On UCI's tables 0.2 saves two
      updates of five and costs nothing on average; where features come late, as with modular sums, it would end
      too early.
    - `power`: s of AGOP^s and (FACT·FACTᵀ)^s.
    - `center`: whether the mean gradient is taken off before AGOP.
    - `normalize`: "trace" keeps tr M = d, "max" the largest entry 1, None nothing; "auto" is what suits the update.
    - `early_stopping`: by what the update and the number of updates are chosen. "folds": rows held out in turn, M
      learned anew without them; four folds, or as many as hold out 500 rows, none drawn at random. "loo": rows
      left out of the fit, though not of M, which favours more updates; a third of the time. A fraction of rows to
      hold out, drawn at random. None: nothing is chosen, and the last iteration stands. All rows are fitted at
      the end.
    - `scale`: whether columns are standardised.
    - `precision`: "single", "double", or "auto": single from 2000 rows on if that resolves the problem.
    - `exact_rows`: with more distinct rows than this, or than memory allows, `n_centers` of them carry f, which is
      still fitted to all rows; `captured_` tells how well they stand for the others.
    - `random_state`: seeds what is drawn: rows held out, rows that decide in large tables, and centres; None is 0.
    - `n_jobs`: how many updates are tried at the same time.

    Fitted: `feature_matrix_` (M in the scaled columns), `feature_importances_`, `feature_directions_`, `history_` (a
    table of all machines tried), `n_iter_`, `update_`, `normalize_`, `ridge_`, `bandwidth_`, `condition_`, `solver_`,
    `precision_`, `captured_`.

    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> model = RFMRegressor().fit(X, X[:, 1] * X[:, 3])
    >>> sorted(model.feature_importances_.argsort()[-2:].tolist())
    [1, 3]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "RFMRegressor":
        """Fit to rows X (n, d) and targets y (n,) or (n, m)."""
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
        """Predictions (n,), or (n, m) if y had columns."""
        values = self._targets_of(self._scores(X))
        return values.ravel() if self._one_dimensional else values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _targets_of(self, scores: np.ndarray) -> np.ndarray:
        return self._targets.undo(scores)

    def _quality(self, predicted: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """R² over all outputs together; of rows joined into one, their mean is what counts."""
        error = mean_squares(predicted, Y, weights)
        return 1 - error / (self._variance or 1.0), error
