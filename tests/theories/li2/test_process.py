"""Gaussian processes: posteriors computed another way, and what happens far from all runs."""

import numpy as np
import pytest
from scipy.optimize import minimize

from firstlight.theories.li2._process import Kernel, Process, laplace_mode


def _process(kernel, points, targets, mode=()):
    p = points.shape[1]
    names = tuple("abc"[:p])
    return Process(names, np.zeros(p), np.ones(p), kernel, points, np.asarray(targets, float), np.array(mode, float))


def test_a_kernel_is_the_covariance_of_a_line_and_a_smooth_function():
    rng = np.random.default_rng(0)
    A, B, kernel = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)), Kernel(0.7, 1.3, 2.0, 1.5)
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            far = np.sum((a - b) ** 2)
            assert kernel(A, B)[i, j] == pytest.approx(0.7 + 1.3 * a @ b + 2.0 * np.exp(-far / 4.5), rel=1e-12)


def test_a_line_alone_is_bayesian_linear_regression():
    rng = np.random.default_rng(1)
    X, noise = rng.normal(size=(30, 2)), 0.3
    y = X @ [1.0, -2.0] + 0.5 + rng.normal(size=30)
    process = _process(Kernel(2.0, 0.5, 0.0, 1.0, noise), X, y)
    design, prior = np.c_[np.ones(30), X], np.diag([1 / 2.0, 2.0, 2.0])
    covariance = np.linalg.inv(design.T @ design / noise + prior)
    mean = covariance @ design.T @ (y - y.mean()) / noise
    x = np.array([1.0, 0.3, -0.8])
    found, deviation = process({"a": 0.3, "b": -0.8})
    assert found == pytest.approx(y.mean() + x @ mean, rel=1e-9)
    assert deviation == pytest.approx(np.sqrt(x @ covariance @ x), rel=1e-9)
    assert process.along([{"a": 0.3, "b": -0.8}])[0] == pytest.approx(found, rel=1e-12)


def test_the_mode_of_outcomes_maximises_their_posterior():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(12, 2))
    y = (X[:, 0] > 0).astype(float)
    K = Kernel(1.0, 2.0, 3.0, 1.0)(X, X) + 1e-6 * np.eye(12)
    inverse = np.linalg.inv(K)
    negative = lambda f: np.logaddexp(0, np.where(y > 0.5, -f, f)).sum() + 0.5 * f @ inverse @ f  # noqa: E731
    best = minimize(negative, np.zeros(12), method="L-BFGS-B", options={"maxiter": 5000, "gtol": 1e-8})
    np.testing.assert_allclose(laplace_mode(K, y), best.x, atol=1e-2)


def test_far_from_all_runs_the_forecast_is_uncertain():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 1))
    y = (X[:, 0] > 0).astype(float)
    kernel = Kernel(1.0, 1.0, 5.0, 1.0)
    process = _process(kernel, X, y, laplace_mode(kernel(X, X), y))
    near, far = (process({"a": value})[1] for value in (0.5, 9.0))
    assert far > 2 * near
    assert process({"a": 1.5})[0] > 0 > process({"a": -1.5})[0]
