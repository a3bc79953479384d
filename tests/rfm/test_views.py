"""The span of the rows gives the same machines as all columns, and screened columns find what kernels miss."""

import numpy as np
import pytest

from firstlight.rfm import ExactSolver, Gaussian, Laplace, RFMRegressor, Rule, fixed, iterate
from firstlight.rfm._views import View, view, views
from tests.tolerances import rounding


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    return rng.standard_normal((20, 50)), rng.standard_normal((20, 1)), np.ones(20), rng.standard_normal((7, 50))


@pytest.mark.parametrize("rule", [Rule("fact"), Rule("nfa"), Rule("fact_geometric", None)], ids=str)
@pytest.mark.parametrize("kernel", [Laplace(9.0), Gaussian(9.0)], ids=str)
def test_the_span_of_the_rows_gives_the_same_machines(wide, rule, kernel):
    Z, Y, weights, new = wide
    seen = view("all", Z, Y, weights)
    assert seen.apply(Z).shape == (20, 21)
    whole, thin = ExactSolver(Z, Y, weights, kernel), ExactSolver(seen.apply(Z), Y, weights, kernel)
    pairs = zip(
        iterate(whole, rule, 2, fixed(1e-2)), iterate(thin, rule, 2, fixed(1e-2), trace=seen.trace), strict=True
    )
    for full, reduced in pairs:
        expected, predicted = whole.predict(full.solution, new), thin.predict(reduced.solution, seen.apply(new))
        # Roots of singular matrices lose half of the digits; ridge 1e-2 amplifies them by K's norm over it.
        tolerance = rounding(1.0) ** 0.5 * 1e2
        np.testing.assert_allclose(predicted, expected, atol=tolerance)
        np.testing.assert_allclose(seen.embed(reduced.M, reduced.iteration > 0), full.M, atol=tolerance)


def test_distances_to_new_rows_are_exact_before_the_first_update(wide):
    Z, Y, weights, new = wide
    seen = view("all", Z, Y, weights)
    inside, outside = seen.apply(Z), seen.apply(new)
    expected = np.linalg.norm(Z[:, None] - new[None], axis=2)
    np.testing.assert_allclose(np.linalg.norm(inside[:, None] - outside[None], axis=2), expected, rtol=1e-12)


def test_metrics_return_to_the_columns_they_came_from():
    seen = View(4, columns=np.array([1, 3]))
    M = np.array([[2.0, 1.0], [1.0, 3.0]])
    whole = seen.embed(M, True)
    z = np.arange(4.0)
    assert z @ whole @ z == seen.apply(z[None])[0] @ M @ seen.apply(z[None])[0]


def test_few_columns_are_never_screened(wide):
    Z, Y, weights, _ = wide
    assert list(views(Z[:, :30], Y, weights)) == ["all"]


def test_a_few_columns_of_many_are_found():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 300))
    y = 2 * X[:, 0] + X[:, 1]
    model = RFMRegressor(iterations=2).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.9
    assert set(model.feature_importances_.argsort()[-2:]) == {0, 1}
    assert model.feature_matrix_.shape == (300, 300)
    plain = RFMRegressor(update=None).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > plain.score(X[200:], y[200:]) + 0.2
