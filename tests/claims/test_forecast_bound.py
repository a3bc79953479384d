"""The bounds that seeds set, against simulated settings whose best forecast is known."""

from math import log

import numpy as np
import pytest

from firstlight.claims.beyond.checks.forecast_bound import best_share, best_skill, bootstrap_error, share_bracket

PAIRS = 4000


def test_the_best_share_is_that_of_a_forecast_that_knows_every_centre():
    rng = np.random.default_rng(0)
    centre, s = rng.normal(6, 2, PAIRS), 0.35
    times = centre[:, None] + s * rng.normal(size=(PAIRS, 2))
    ratios = times[:, 0] - times[:, 1]
    reached = np.mean(np.abs(times - centre[:, None]) <= log(1.5))
    error = bootstrap_error(lambda values: best_share(values, 1.5), ratios[:400].tolist())
    assert best_share(ratios.tolist(), 1.5) == pytest.approx(reached, abs=4 * np.sqrt(0.25 / PAIRS))
    assert 0.005 < error < 0.05
    low, high = share_bracket(ratios.tolist(), 1.5)
    assert low < reached < high


def test_the_best_skill_is_that_of_a_forecast_that_knows_every_chance():
    rng = np.random.default_rng(1)
    chance = rng.beta(0.5, 0.5, PAIRS)
    outcomes = rng.random((PAIRS, 2)) < chance[:, None]
    brier, base = np.mean((outcomes - chance[:, None]) ** 2), outcomes.mean()
    known = 1 - brier / (base * (1 - base))
    # The standard error of a share of PAIRS, divided by the base rate's variance of a quarter.
    assert best_skill([(bool(a), bool(b)) for a, b in outcomes]) == pytest.approx(
        known, abs=4 * 4 * 0.5 * np.sqrt(0.25 / PAIRS)
    )


def test_without_pairs_there_is_no_bound():
    assert np.isnan(best_share([], 1.5))
    assert np.isnan(best_skill([]))
    assert np.isnan(best_skill([(True, True)]))
