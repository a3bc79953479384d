"""Tests of columns against scipy's tests of one column at a time, and their error rates over draws."""

import numpy as np
import pytest
from scipy import stats

from firstlight.rfm._solvers.screening import bin_chances, linear_chances, linked, pair_chances


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((120, 6))
    return Z, Z[:, :1] + rng.standard_normal((120, 1))


def test_a_correlation_has_the_chance_that_scipy_gives_it(table):
    Z, Y = table
    expected = [stats.pearsonr(column, Y[:, 0]).pvalue for column in Z.T]
    np.testing.assert_allclose(linear_chances(Z, Y, np.ones(120)), expected, rtol=1e-8)
    two = np.hstack([Y, np.random.default_rng(1).standard_normal((120, 1))])
    least = [min(stats.pearsonr(column, y).pvalue for y in two.T) for column in Z.T]
    np.testing.assert_allclose(linear_chances(Z, two, np.ones(120)), np.minimum(2 * np.array(least), 1), rtol=1e-8)


def test_bins_have_the_chance_of_an_analysis_of_variance(table):
    Z, Y = table
    chances = bin_chances(Z, Y, np.ones(120))
    for column, chance in zip(Z.T, chances, strict=True):
        # 120 rows make six bins of twenty.
        groups = np.array_split(Y[np.argsort(column), 0], 6)
        assert chance == pytest.approx(stats.f_oneway(*groups).pvalue, rel=1e-8)


def test_weights_count_as_copies_in_the_sums(table):
    Z, Y = table
    weights = np.random.default_rng(2).integers(1, 4, 120).astype(float)
    copies = np.repeat(np.arange(120), weights.astype(int))
    centred = Y - np.average(Y[:, 0], weights=weights)
    by_hand = Z - np.average(Z, axis=0, weights=weights)
    r = (weights[:, None] * by_hand * centred).sum(0) / np.sqrt((weights @ by_hand**2) * (weights @ centred**2).item())
    np.testing.assert_allclose(r, [stats.pearsonr(c, Y[copies, 0])[0] for c in Z[copies].T], rtol=1e-9)
    expected = stats.f.sf(118 * r**2 / (1 - r**2), 1, 118)
    np.testing.assert_allclose(linear_chances(Z, Y, weights), expected, rtol=1e-8)


def test_products_are_tested_pair_by_pair(table):
    Z, _ = table
    Y = Z[:, 1:2] * Z[:, 4:5]
    chances = pair_chances(Z, Y, np.ones(120))
    centred, y = Z - Z.mean(0), (Y - Y.mean())[:, 0]
    t = [[(y * a * b).sum() / np.sqrt(((y * a * b) ** 2).sum()) for b in centred.T] for a in centred.T]
    expected = np.minimum(12 * stats.norm.sf(np.abs(t).max(axis=1)), 1)
    # float32 sums of 120 terms give t to six digits; the logarithm of a tail changes by t times that.
    np.testing.assert_allclose(np.log(chances), np.log(expected), atol=1e-3)
    assert set(np.argsort(chances)[:2]) == {1, 4}


def test_noise_is_rarely_linked_and_signal_nearly_always():
    """Twenty draws: 10 % of chosen columns may be false; a binomial with that rate exceeds 8 of 20 once in 10⁴."""
    false, hits = 0, 0
    for seed in range(20):
        Z = np.random.default_rng(seed).standard_normal((200, 60))
        noise = np.random.default_rng(100 + seed).standard_normal((200, 1))
        false += len(linked(Z, noise, np.ones(200))) > 0
        chosen = linked(Z, np.sin(3 * Z[:, 7:8]) + 2 * Z[:, 9:10] + 0.3 * noise, np.ones(200))
        hits += 9 in chosen
    assert false <= 8
    assert hits == 20


def test_constant_columns_and_targets_are_not_linked():
    Z = np.random.default_rng(0).standard_normal((50, 5))
    Z[:, 2] = 1.0
    assert 2 not in linked(Z, Z[:, :1], np.ones(50))
    assert len(linked(Z, np.ones((50, 1)), np.ones(50))) == 0
