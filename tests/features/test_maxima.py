"""Predicted maxima are maxima, and ascents find no others: on named groups and on groups picked by seed."""

import numpy as np
import pytest

from firstlight import features, groups

NAMED = ("Z7", "Z8", "S3", "D5", "Q8", "A4", "S4")
POOL = ("Z9", "Z2xZ6", "D6", "D9", "Dic5", "F20", "F21", "S3xZ3", "SL(2,3)", "Q8xZ2")


def picked(seed):
    """A group from the pool with its elements renamed, so that nothing but the table is known of it."""
    rng = np.random.default_rng(seed)
    table = groups.parse(rng.choice(POOL)).table
    order = rng.permutation(len(table))
    return groups.from_table(np.argsort(order)[table[np.ix_(order, order)]])


@pytest.fixture(params=[*NAMED, 11, 12, 13, 14], ids=lambda p: p if isinstance(p, str) else f"picked-{p}")
def group(request):
    return groups.parse(request.param) if isinstance(request.param, str) else picked(request.param)


def test_constructed_maximisers_are_maxima_with_the_predicted_energy_and_flat_directions(group):
    for family in features.maxima(group):
        w = family.random_nodes(1, seed=3)[:, 0]
        assert np.isclose(w @ w, 1)
        assert np.isclose(features.energy(w, group), family.energy, rtol=1e-10)
        gradient = features.energy_gradient(w, group)
        np.testing.assert_allclose(gradient, 4 * family.energy * w, atol=1e-9)
        positive, flat, negative = features.signature(w, group)
        assert (positive, flat) == (0, family.flat)
        assert positive + flat + negative == 2 * group.order - 1
        content = features.irrep_content(w[:, None], group)
        assert np.isclose(content[0, [c.is_trivial for c in group.real_components()].index(True)], 0)
        assert np.isclose(features.purity(content)[0], 1)


def test_every_ascent_ends_in_one_component_at_its_energy(group):
    table = features.census(group, starts=50, seed=5, curved=1)
    assert table["converged"].all()
    np.testing.assert_allclose(table["energy"], table["predicted"], rtol=1e-9)
    assert table["purity"].min() > 1 - 1e-9
    counted = table[table["positive"] >= 0]
    assert (counted["positive"] == 0).all()
    assert (counted["flat"] == counted["predicted_flat"]).all()


@pytest.mark.parametrize("name", ["S3", "Q8", "Z8"])
def test_gradients_over_pairs_end_where_fourier_blocks_do(name):
    """All pairs given as a sample take the general path, which shares no code with the Fourier one."""
    group = groups.parse(name)
    W = features.random_starts(group, 40, seed=1)
    everything = np.arange(group.order**2)
    sampled = features.ascend(features.GroupEnergy(group, rows=everything), W, tolerance=1e-7)
    levels = {round(m.energy, 6) for m in features.maxima(group)}
    assert sampled.converged.all()
    assert {round(float(e), 6) for e in sampled.energy} <= levels


def test_the_hessian_is_the_derivative_of_the_gradient():
    group, rng = groups.symmetric(3), np.random.default_rng(0)
    w, step = rng.standard_normal(12), 1e-5 * rng.standard_normal(12)
    difference = features.energy_gradient(w + step, group) - features.energy_gradient(w - step, group)
    np.testing.assert_allclose(features.energy_hessian(w, group) @ (2 * step), difference, rtol=1e-6, atol=1e-9)


def test_the_hessian_of_one_component_stands_for_the_whole():
    """At a maximum the spectrum found in its component, filled up, is that of the full (2M, 2M) Hessian."""
    group = groups.alternating(4)
    for family in features.maxima(group):
        w = family.random_nodes(1, seed=1)[:, 0]
        P = np.eye(24) - np.outer(w, w)
        full = np.linalg.eigvalsh(P @ (features.energy_hessian(w, group) - 4 * family.energy * np.eye(24)) @ P)
        np.testing.assert_allclose(np.sort(np.append(features.curvature(w, group), 0)), full, atol=1e-9)


def test_what_is_printed_is_no_critical_point_when_d_exceeds_one():
    group = groups.symmetric(3)
    space = group.real_components()[-1].basis
    u = space @ np.random.default_rng(0).standard_normal(4)
    w = np.concatenate([u, u[group.inverse]]) / np.linalg.norm(u) / np.sqrt(2)
    gradient = features.energy_gradient(w, group)
    assert np.linalg.norm(gradient - (w @ gradient) * w) > 0.05 * (w @ gradient)


def test_an_ascent_says_when_there_is_nothing_to_ascend():
    group = groups.cyclic(5)
    with pytest.raises(ValueError, match="E vanishes over a whole table for σ = 'linear'"):
        features.ascend(features.GroupEnergy(group, "linear"), features.random_starts(group, 2, seed=0))
    with pytest.raises(ValueError, match="with a norm above 0; draw them with random_starts"):
        features.ascend(features.GroupEnergy(group), np.zeros((10, 2)))


def test_ascents_with_other_activations_and_samples_never_lose_energy():
    group = groups.cyclic(7)
    rows = np.sort(np.random.default_rng(0).permutation(49)[:35])
    W = features.random_starts(group, 8, seed=2)
    for name in ("quadratic", "tanh"):
        E = features.GroupEnergy(group, name, rows)
        end = features.ascend(E, W, steps=60)
        assert (end.energy >= E(W)).all()
        np.testing.assert_allclose(end.energy, E(end.W), rtol=1e-10)
