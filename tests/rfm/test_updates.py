"""Metrics from FACT and AGOP against powers of matrices that SciPy takes another way."""

import numpy as np
import pytest
from scipy.linalg import fractional_matrix_power

from firstlight.rfm import FeatureMatrices, normalized, updated
from tests.tolerances import rounding

POWERS = [0.25, 0.5, 0.75, 1.0]


@pytest.fixture
def matrices():
    """F that is not symmetric, AGOP, and a metric that commutes with neither."""
    rng = np.random.default_rng(0)
    F = rng.standard_normal((4, 4)) + 2 * np.eye(4)
    G, A = rng.standard_normal((2, 4, 4))
    return F, G @ G.T + np.eye(4), A @ A.T + np.eye(4)


def same(got, want):
    # The Schur method of SciPy and an eigendecomposition each err by the largest eigenvalue's rounding.
    np.testing.assert_allclose(got, want, rtol=0, atol=rounding(np.linalg.norm(want, 2), 16, factor=64))


@pytest.mark.parametrize("power", POWERS)
def test_updates_take_the_power_that_is_asked_for(matrices, power):
    F, agop, M = matrices
    found = FeatureMatrices(F, agop)
    same(updated("nfa", M, found, power), fractional_matrix_power(agop, power))
    same(updated("fact", M, found, power), fractional_matrix_power(F @ F.T, power))


@pytest.mark.parametrize("power", POWERS)
def test_the_geometric_update_multiplies_by_the_metric_on_the_right(matrices, power):
    F, agop, M = matrices
    product = F @ M
    expected = fractional_matrix_power(product @ product.T, power / 2)
    same(updated("fact_geometric", M, FeatureMatrices(F, agop), power), expected)
    assert np.abs(F @ M - M @ F).max() > 1


def test_the_metric_is_scaled_by_its_trace_or_its_largest_entry(matrices):
    M = -matrices[0]
    assert np.trace(normalized(M @ M.T, "trace")) == pytest.approx(4)
    assert np.abs(normalized(M, "max")).max() == pytest.approx(1)
    np.testing.assert_array_equal(normalized(M, None), M)
    np.testing.assert_array_equal(normalized(np.zeros((2, 2)), "trace"), np.zeros((2, 2)))
