"""Muon's direction against SVDs, winners against the flow, coupons against Monte Carlo and closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.theories import li2
from firstlight.theories.li2._muon import frechet


@given(st.integers(0, 1000), st.integers(1, 6), st.integers(1, 6), st.integers(0, 3))
def test_muon_gains_the_nuclear_norm(seed, d, K, rank):
    random = np.random.default_rng(seed)
    G = random.normal(size=(d, K))
    if rank:
        G = random.normal(size=(d, rank)) @ random.normal(size=(rank, K))
    assert np.sum(li2.lemmas.polar(G) * G) == pytest.approx(np.linalg.norm(G, "nuc"), rel=1e-12)
    assert np.linalg.norm(li2.lemmas.polar(G), 2) == pytest.approx(1.0)


def test_muon_rests_where_the_gradient_vanishes():
    assert not li2.lemmas.polar(np.zeros((3, 2))).any()


@given(st.integers(0, 1000), st.integers(1, 5), st.floats(1e-3, 5.0))
def test_the_new_column_is_exact_and_the_printed_one_of_first_order(seed, r, size):
    random = np.random.default_rng(seed)
    Q = np.linalg.qr(random.normal(size=(8, r)))[0]
    v = size * random.normal(size=8)
    true = li2.lemmas.polar(np.column_stack([Q, v]))[:, -1]
    np.testing.assert_allclose(li2.lemmas.new_column(Q, v), true, atol=1e-10)


def test_the_error_of_the_printed_column_is_second_order_in_the_parallel_part():
    Q = np.eye(4)[:, :1]
    errors = []
    for along in (0.1, 0.01):
        v = np.array([along, 0.3, 0.0, 0.0])
        true = li2.lemmas.polar(np.column_stack([Q, v]))[:, -1]
        errors.append(np.linalg.norm(li2.lemmas.new_column(Q, v, printed=True) - true))
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.05)
    with pytest.raises(ValueError, match="part orthogonal to Q"):
        li2.lemmas.new_column(Q, np.array([1.0, 0.0, 0.0, 0.0]))


def test_frechet_draws_select_as_the_lemma_says():
    mu, a = np.array([1.0, 0.8, 0.3]), 1.5
    draws = frechet(np.random.default_rng(0), a, (40_000, 3))
    rates = np.bincount(np.argmax(mu * draws, axis=1), minlength=3) / 40_000
    np.testing.assert_allclose(rates, li2.lemmas.selection(mu, a), atol=4 * 0.5 / np.sqrt(40_000))
    assert np.mean(draws[:, 0] <= 2.0) == pytest.approx(np.exp(-(2.0**-a)), abs=0.01)
    with pytest.raises(ValueError, match="must be positive"):
        li2.lemmas.selection(np.array([0.0, 1.0]), 2.0)


def test_the_leader_wins_the_flow_and_without_a_positive_part_nothing_does():
    mu, random = np.array([1.0, 0.7, 0.4]), np.random.default_rng(1)

    starts = np.vstack([0.3 * random.normal(size=(12, 3)), [-0.3, -0.5, -0.1]])
    end = starts.copy()
    for _ in range(40_000):  # to t = 2000, by plain steps of α̇ = μα² held in the ball
        end += 0.05 * mu * end**2
        end /= np.maximum(1.0, np.linalg.norm(end, axis=1, keepdims=True))
    expected, mine = li2.lemmas.winner(mu, starts), li2.lemmas.modes_flow(mu, starts)
    won = expected >= 0
    assert 0 < won.sum() < len(starts)
    np.testing.assert_array_equal(np.argmax(end, axis=1)[won], expected[won])
    np.testing.assert_array_equal(np.argmax(mine, axis=1)[won], expected[won])
    assert abs(end[~won]).max() < 0.01
    assert mine[~won].max() <= 0


def test_coupons_agree_with_inclusion_and_exclusion_and_the_bound_holds():
    p = np.array([0.5, 0.25, 0.15, 0.1])
    exact = sum((-1) ** (bin(s).count("1") + 1) / p[[i for i in range(4) if s >> i & 1]].sum() for s in range(1, 16))
    assert li2.lemmas.coupons(p) == pytest.approx(exact, rel=1e-10)
    assert li2.lemmas.coupon_bound(p) <= exact
    harmonic = sum(1 / k for k in range(1, 31))
    assert li2.lemmas.coupons(np.full(30, 1 / 30)) == pytest.approx(30 * harmonic, rel=1e-9)


def test_halving_gives_T_a_and_muon_never_repeats_itself():
    mu, a, trials = np.array([1.0, 0.9, 0.7, 0.5]), 2.0, 4000
    p = li2.lemmas.selection(mu, a)
    for guide, expected in {"none": li2.lemmas.coupons(p), "halved": li2.lemmas.guided_coupons(p, a)}.items():
        counts = li2.lemmas.collect_modes(mu, a, trials=trials, seed=5, guide=guide)
        assert abs(counts.mean() - expected) < 4 * counts.std() / np.sqrt(trials)
    assert (li2.lemmas.collect_modes(mu, a, trials=200, seed=5, guide="muon") == len(mu)).all()
    with pytest.raises(ValueError, match="guide is one of none, halved, muon; got 'adam'"):
        li2.lemmas.collect_modes(mu, a, trials=1, seed=0, guide="adam")


@pytest.mark.parametrize("p", [[0.5, 0.6], [0.5, 0.5, 0.0], [1.2, -0.2], []])
def test_coupons_are_drawn_with_probabilities(p):
    for count in (li2.lemmas.coupons, li2.lemmas.coupon_bound, lambda p: li2.lemmas.guided_coupons(p, 1.0)):
        with pytest.raises(ValueError, match="p must be probabilities above 0 that add up to 1"):
            count(np.array(p, float))
