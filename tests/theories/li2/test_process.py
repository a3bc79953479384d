"""Gaussian processes: posteriors computed another way, and what happens far from all runs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from firstlight.claims.beyond.checks import forecast_kernel
from firstlight.theories.li2 import _process as _process_module
from firstlight.theories.li2._process import Kernel, Process


def _process(kernel, points, targets, noise=(0.0, 0.0), level=0.0, names="abc", **fields):
    p = points.shape[1]
    names = tuple(names[:p])
    process = Process(names, np.zeros(p), np.ones(p), kernel, points, np.zeros(len(points)), level, noise, **fields)
    return replace(process, weights=process.weights_of(np.asarray(targets, float)))


def test_a_kernel_is_the_covariance_of_a_line_and_smooth_functions():
    rng = np.random.default_rng(0)
    A, B, kernel = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)), Kernel(0.7, 1.3, 2.0, 0.4, 3.0)
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            far = np.sum((a - b) ** 2)
            expected = 0.7 + 1.3 * a @ b + 2.0 * np.exp(-far / 2) + 0.4 * np.exp(-9 * far / 2)
            assert kernel(A, B)[i, j] == pytest.approx(expected, rel=1e-12)


def test_a_line_alone_is_bayesian_linear_regression():
    rng = np.random.default_rng(1)
    X, noise = rng.normal(size=(30, 2)), 0.3
    y = X @ [1.0, -2.0] + 0.5 + rng.normal(size=30)
    process = _process(Kernel(2.0, 0.5, 0.0), X, y, (noise, noise), y.mean())
    design, prior = np.c_[np.ones(30), X], np.diag([1 / 2.0, 2.0, 2.0])
    covariance = np.linalg.inv(design.T @ design / noise + prior)
    mean = covariance @ design.T @ (y - y.mean()) / noise
    x = np.array([1.0, 0.3, -0.8])
    found, deviation = process({"a": 0.3, "b": -0.8})
    assert found == pytest.approx(y.mean() + x @ mean, rel=1e-9)
    assert deviation == pytest.approx(np.sqrt(x @ covariance @ x), rel=1e-9)
    assert process.along([{"a": 0.3, "b": -0.8}])[0] == pytest.approx(found, rel=1e-12)


def test_runs_of_an_optimizer_count_by_its_noise():
    rng = np.random.default_rng(2)
    X = np.c_[rng.normal(size=20), np.arange(20) % 2]
    y, kernel, noise = rng.normal(size=20), Kernel(1.0, 0.5, 1.0), (0.1, 0.7)
    process = _process(kernel, X, y, noise, names=("a", "decoupled"), widen=(1.5, 2.0))
    K = kernel(X, X) + np.diag(np.where(X[:, 1] > 0.5, *noise[::-1]))
    x = np.array([[0.2, 1.0]])
    mean = kernel(x, X) @ np.linalg.solve(K, y)
    variance = kernel(x, x) - kernel(x, X) @ np.linalg.solve(K, kernel(X, x))
    found, deviation = process.of_a_run({"a": 0.2, "decoupled": 1.0})
    assert found == pytest.approx(mean[0], rel=1e-9)
    assert deviation == pytest.approx(2.0 * np.sqrt(variance[0, 0] + noise[1]), rel=1e-9)


def test_without_some_runs_a_process_is_that_of_the_others():
    rng = np.random.default_rng(3)
    X, y, kernel = rng.normal(size=(15, 2)), rng.normal(size=15), Kernel(1.0, 1.0, 1.0, 0.5, 2.0)
    out = np.arange(15) % 3 == 0
    rest = _process(kernel, X, y, (0.2, 0.2)).without(out)
    alone = _process(kernel, X[~out], y[~out], (0.2, 0.2))
    values = {"a": 0.4, "b": -0.1}
    assert rest(values) == pytest.approx(alone(values), rel=1e-12)


def test_a_deviation_from_the_nearest_runs_is_slightly_larger_than_from_all(monkeypatch):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(500, 2))
    process = _process(Kernel(1.0, 1.0, 1.0, 0.3, 2.0), X, rng.normal(size=500), (0.2, 0.2))
    places = [{"a": x, "b": y} for x, y in rng.normal(size=(20, 2))]
    some = [process(values) for values in places]
    monkeypatch.setattr(_process_module, "NEAREST", 500)
    for (mean, near), (same, exact) in zip(some, map(process, places), strict=True):
        assert mean == same
        assert exact <= near * (1 + 1e-9)
        assert near < 1.5 * exact


def test_far_from_all_runs_the_forecast_is_uncertain():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 1))
    process = _process(Kernel(1.0, 1.0, 5.0), X, np.sign(X[:, 0]), (0.1, 0.1))
    near, far = (process({"a": value})[1] for value in (0.5, 9.0))
    assert far > 2 * near
    assert process({"a": 1.0})[0] > 0 > process({"a": -1.0})[0]


def test_the_most_likely_covariance_finds_lengths_and_noise():
    rng = np.random.default_rng(5)
    X, decoupled = rng.normal(size=(400, 3)), rng.random(400) < 0.5
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + np.where(decoupled, 0.4, 0.1) * rng.normal(size=400)
    shape = forecast_kernel.most_likely(X, y, decoupled)
    fast, slow, unused = shape.sharpness
    assert fast > 3 * slow > 0
    assert fast > 3 * unused
    for found, true in zip(shape.noise, (0.1, 0.4), strict=True):
        # A variance over 200 runs has a relative standard error of 10 %; five of them.
        assert found == pytest.approx(true**2, rel=0.5)


def test_the_likelihood_is_that_of_a_gaussian_vector():
    rng = np.random.default_rng(6)
    X, y, own = rng.normal(size=(12, 2)), rng.normal(size=12), np.arange(12) % 2
    theta = rng.normal(size=9) * 0.3
    constant, line, bend, fine, ratio = np.exp(theta[:5])
    Z = X / np.exp(theta[7:])
    K = Kernel(constant, line, bend, fine, ratio)(Z, Z) + np.diag(np.exp(2 * theta[5:7])[own] + 1e-6)
    prior = ((theta[7:] - forecast_kernel.LENGTH) ** 2).sum() / 2 + (theta[4] - forecast_kernel.RATIO) ** 2 / 2
    expected = -multivariate_normal(np.zeros(12), K).logpdf(y) - 6 * np.log(2 * np.pi) + prior
    with forecast_kernel.jax.enable_x64(True):
        arrays = [forecast_kernel.jnp.asarray(a) for a in (theta, X, y, own)]
        assert float(forecast_kernel._loss(*arrays)) == pytest.approx(expected, rel=1e-9)
