"""Ridge solutions against scikit-learn, what they send back against differences, on NumPy and JAX arrays alike."""

import jax
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from firstlight import features, groups


def problem(n, K, M=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, K)) + 1, np.eye(M)[rng.integers(M, size=n)]


@pytest.mark.parametrize(("n", "K"), [(30, 13), (13, 30)])
def test_ridge_is_that_of_scikit_learn_and_both_closed_forms_are_the_gradient(n, K):
    F, Y = problem(n, K)
    V = features.ridge(F, Y, 0.7)
    np.testing.assert_allclose(V, Ridge(alpha=0.7, tol=1e-12).fit(F, Y).coef_.T, rtol=1e-9, atol=1e-12)
    G_F = features.feature_gradient(F, Y, V)
    for form in ("nodes", "samples"):
        np.testing.assert_allclose(features.ridge_gradient(F, Y, 0.7, form), G_F, atol=1e-12)
    F_tilde, Y_tilde = features.centred(F), features.centred(Y)
    np.testing.assert_allclose(features.ridge_residual(F, 0.7) @ Y_tilde, Y_tilde - F_tilde @ V, atol=1e-12)

    def J(F):
        error = features.centred(Y - F @ V)
        return 0.5 * (error**2).sum()

    step = 1e-4 * np.random.default_rng(1).standard_normal(F.shape)
    assert np.isclose((J(F - step) - J(F + step)) / 2, (G_F * step).sum(), rtol=1e-6)


def test_without_decay_a_wide_layer_sends_nothing_back():
    F, Y = problem(13, 30)
    V = features.ridge(F, Y, 0.0)
    assert np.abs(features.feature_gradient(F, Y, V)).max() < 1e-12
    small, smaller = (np.linalg.norm(features.ridge_gradient(F, Y, eta)) for eta in (1e-4, 1e-5))
    assert np.isclose(small / smaller, 10, rtol=1e-3)


def test_jax_arrays_stay_jax_arrays_under_jit():
    F, Y = problem(20, 8)
    with jax.enable_x64(True):
        found = jax.jit(lambda F, Y: features.ridge_gradient(F, Y, 0.5))(F, Y)
        assert isinstance(found, jax.Array)
        np.testing.assert_allclose(found, features.ridge_gradient(F, Y, 0.5), atol=1e-12)
        group = groups.symmetric(3)
        W = np.random.default_rng(0).standard_normal((12, 4))
        content = jax.jit(lambda W: features.irrep_content(W, group))(W)
    np.testing.assert_allclose(content, features.irrep_content(W, group), atol=1e-12)


def test_content_is_that_of_both_halves_and_sums_to_one():
    group = groups.quaternion()
    W = np.random.default_rng(0).standard_normal((16, 5))
    W[:, 4] = 0
    halves = groups.isotypic_energies(group, W[:8].T) + groups.isotypic_energies(group, W[8:].T)
    content = features.irrep_content(W, group)
    np.testing.assert_allclose(content[:4], (halves / halves.sum(1, keepdims=True).clip(1e-300))[:4], atol=1e-12)
    np.testing.assert_allclose(content.sum(1), [1, 1, 1, 1, 0], atol=1e-12)


def test_errors_say_what_to_do():
    F, Y = problem(6, 3)
    with pytest.raises(ValueError, match="eta must be at least 0, got -1"):
        features.ridge(F, Y, -1.0)
    with pytest.raises(ValueError, match="eta must be positive"):
        features.ridge_gradient(F, Y, 0.0)
    with pytest.raises(ValueError, match="transpose so that hidden units are columns"):
        features.irrep_content(np.ones((7, 2)), groups.cyclic(5))
    with pytest.raises(ValueError, match='form must be "nodes", "samples" or None for the smaller, got \'node\''):
        features.ridge_gradient(F, Y, 1.0, form="node")
    with pytest.raises(ValueError, match="eta must be at least 0, got -1"):
        features.ridge_residual(F, -1.0)
    with pytest.raises(ValueError, match="eta must be at least 0, got nan"):
        features.ridge(F, Y, float("nan"))


@pytest.mark.parametrize(("n", "K"), [(9, 4), (4, 9)])
def test_the_residual_without_a_ridge_is_the_projector_and_the_limit_of_small_ridges(n, K):
    F, _ = problem(n, K)
    P = features.ridge_residual(F, 0.0)
    np.testing.assert_allclose(P @ P, P, atol=1e-12)
    np.testing.assert_allclose(P @ features.centred(F), 0, atol=1e-12)
    np.testing.assert_allclose(P, features.ridge_residual(F, 1e-7), atol=1e-5)
    assert np.isclose(np.trace(P), n - min(K, n - 1))
