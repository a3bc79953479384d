r"""Recursive feature machines: kernel regression with a metric M learned from the fit (FACT, Sections 4 and 5).

>>> import numpy as np
>>> from firstlight import rfm
>>> X = np.random.default_rng(0).standard_normal((150, 6))
>>> model = rfm.RFMRegressor().fit(X, np.sin(2 * X[:, 0]) * X[:, 5])
>>> sorted(model.feature_importances_.argsort()[-2:].tolist())
[0, 5]

`RFMClassifier` and `RFMRegressor` are scikit-learn estimators; `recursive_feature_machine` is Algorithm 1 of the paper.
"""

from firstlight.rfm._classifier import RFMClassifier
from firstlight.rfm._files import load
from firstlight.rfm._machine import Iterate, Ridge, Rule, fixed, iterate, recursive_feature_machine
from firstlight.rfm._regressor import RFMRegressor
from firstlight.rfm._solvers.centres import CentreSolver
from firstlight.rfm._solvers.exact import ExactSolver
from firstlight.rfm._solvers.kernels import KERNELS, Exponential, Gaussian, Kernel, Laplace, Quadratic, median_bandwidth
from firstlight.rfm._solvers.leave_one_out import best_ridge, loo_errors
from firstlight.rfm._solvers.matrices import FeatureMatrices
from firstlight.rfm._solvers.solution import (
    IllConditionedWarning,
    InterruptedFitWarning,
    KernelSolution,
    NotPositiveDefinite,
)
from firstlight.rfm._tabarena import tabarena_model
from firstlight.rfm._tables.compare import Comparison, compare, read_table
from firstlight.rfm._updates import UPDATES, normalized, updated

__all__ = [
    "KERNELS",
    "UPDATES",
    "CentreSolver",
    "Comparison",
    "ExactSolver",
    "Exponential",
    "FeatureMatrices",
    "Gaussian",
    "IllConditionedWarning",
    "InterruptedFitWarning",
    "Iterate",
    "Kernel",
    "KernelSolution",
    "Laplace",
    "NotPositiveDefinite",
    "Quadratic",
    "RFMClassifier",
    "RFMRegressor",
    "Ridge",
    "Rule",
    "best_ridge",
    "compare",
    "fixed",
    "iterate",
    "load",
    "loo_errors",
    "median_bandwidth",
    "normalized",
    "read_table",
    "recursive_feature_machine",
    "tabarena_model",
    "updated",
]
