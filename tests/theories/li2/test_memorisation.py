"""Memories against closed forms, against random competitors, and as weights of a node."""

import jax.numpy as jnp
import numpy as np
import pytest

from firstlight import features, groups
from firstlight.theories import li2
from tests.tolerances import rounding

P = np.array([0.1, 0.32, 0.05, 0.2, 0.23, 0.1])


def test_relu_spreads_in_proportion_and_powers_focus():
    np.testing.assert_allclose(li2.lemmas.memorise(P, "relu").s, np.sqrt(2) * P / np.linalg.norm(P), atol=1e-12)
    focused = li2.lemmas.memorise(P, "quadratic")
    assert focused.s.argmax() == 1
    assert np.isclose(focused.value, 2 * P.max())


@pytest.mark.parametrize("name", ["relu", "silu", "tanh", "sigmoid"])
def test_spreading_memories_are_stationary_and_beat_every_competitor(name):
    memory = li2.lemmas.memorise(P, name)
    assert np.isclose((memory.s**2).sum(), 2, atol=1e-12)
    np.testing.assert_allclose(P * li2.lemmas.phi(name, memory.s), 2 * memory.lam, rtol=1e-9)
    rng = np.random.default_rng(0)
    others = np.abs(memory.s[:, None] + 0.3 * rng.standard_normal((6, 2000)))
    others *= np.sqrt(2) / np.linalg.norm(others, axis=0)
    assert (P @ features.numpy_activation(name)[0](others) < memory.value).all()


def test_a_node_realises_the_pair_sums_and_its_energy_is_that_of_uncentred_labels():
    group, h = groups.symmetric(3), 4
    memory = li2.lemmas.memorise(P, "silu")
    w = memory.node(group, h)
    assert np.isclose(w @ w, 1)
    partner = group.table[group.inverse, h]
    assert (group.table[np.arange(6), partner] == h).all()
    np.testing.assert_allclose(w[:6] + w[6 + partner], memory.s, atol=1e-12)
    assert np.isclose(li2.lemmas.memory_energy(w, P, group, h, "silu"), memory.value)
    rows = np.flatnonzero(group.table.ravel() == h)
    assert features.energy(w, group, "silu", rows=rows) < 1e-25


def test_a_bounded_phi_cuts_rare_pairs_off():
    """φ = exp(−x²) at 0 is 2, so that s² = −ln(λ/p) where p > λ and nothing elsewhere."""
    p = np.array([0.96, 0.03, 0.01])
    memory = li2.lemmas.memorise(p, lambda x: 1 - jnp.exp(-(x**2)))
    np.testing.assert_allclose(memory.s**2, np.maximum(-np.log(memory.lam / p), 0), atol=1e-9)
    assert memory.s[2] == 0


def test_a_phi_of_no_kind_is_refused():
    with pytest.raises(ValueError, match="which Theorem 5 does not cover; ascend E instead"):
        li2.lemmas.memorise(P, lambda x: x + jnp.sin(5 * x) / 10)
    for p in (-P, np.zeros(3), np.array([np.nan, 1.0])):
        with pytest.raises(ValueError, match="p must be frequencies"):
            li2.lemmas.memorise(p, "relu")
    with pytest.raises(ValueError, match=r"σ must rise on \(0, √2\]"):
        li2.lemmas.memorise(P, lambda x: -(x**2))


@pytest.mark.parametrize("name", ["relu", "tanh", "sigmoid", "linear"])
@pytest.mark.parametrize("p", [[1.0, 0.0, 0.0], [1.0, 1e-9, 0.0]])
def test_one_pair_alone_gets_the_whole_budget(name, p):
    memory = li2.lemmas.memorise(np.array(p), name)
    assert memory.shape == "spreading"
    np.testing.assert_allclose(memory.s, [np.sqrt(2), 0, 0], atol=1e-8)
    assert np.isclose(memory.lam, 0.5 * li2.lemmas.phi(name, np.array(np.sqrt(2))), rtol=1e-8)


@pytest.mark.parametrize("name", ["quadratic", "power3", "power4"])
def test_the_multiplier_of_a_focused_memory_is_the_price_of_the_budget(name):
    """λ = dF*/d(Σs²), where all of the budget b goes to the most frequent pair: F* = max p · σ(√b)."""
    sigma = features.numpy_activation(name)[0]
    step = np.cbrt(np.finfo(float).eps)
    best = [P.max() * float(sigma(np.array(np.sqrt(2 + sign * step)))) for sign in (1, -1)]
    memory = li2.lemmas.memorise(P, name)
    assert memory.shape == "focused"
    # Central differences err by F‴h²/6 and by the rounding of F over h; F and its derivatives are at most 4.
    assert memory.lam == pytest.approx((best[0] - best[1]) / (2 * step), rel=0, abs=4 * step**2 + rounding(4, 2) / step)
