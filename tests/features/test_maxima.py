"""Predicted maxima are maxima, and ascents find no others: on named groups and on groups picked by seed."""

import numpy as np
import pytest

from firstlight import features, groups
from firstlight.features import chance_content, chance_dominance, chance_purity, dominates
from firstlight.features._energy import ascent
from firstlight.theories import li2
from tests.tolerances import rounding

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


@pytest.mark.parametrize("name", ["S3", "A4", "Q8"])
def test_equal_outer_directions_give_the_printed_halves_at_full_energy(name):
    """b = ±Pa is a maximum for every d if a = x*C(g)r is one of rank 1; what fails is a generic u of the component."""
    group = groups.parse(name)
    for family in features.maxima(group):
        rng = np.random.default_rng(4)
        x, r = family._direction(rng), family._direction(rng)
        for sign in (1, -1):
            w = family.node(x, r, sign * x)
            a, b = np.split(w, 2)
            np.testing.assert_allclose(b, sign * a[group.inverse], atol=1e-12)
            assert np.isclose(features.energy(w, group), family.energy, rtol=1e-10)


def test_the_signature_does_not_depend_on_the_norm():
    group = groups.quaternion()
    w = features.maxima(group)[-1].random_nodes(1, seed=0)[:, 0]
    for scale in (3.0, 1e-3):
        np.testing.assert_array_equal(features.signature(scale * w, group), [0, 6, 9])
    with pytest.raises(ValueError, match="needs a norm above 0, got 0"):
        features.signature(0 * w, group)


def test_directions_are_of_the_kind_of_the_irrep():
    family = features.maxima(groups.symmetric(3))[-1]
    e = np.array([1.0, 0.0])
    with pytest.raises(ValueError, match="is a real irrep, whose maxima have real directions"):
        family.node(e + 1j, e, e)
    with pytest.raises(ValueError, match=r"directions in \[2,1\] are 2 numbers, not all 0"):
        family.node(np.zeros(2), e, e)


def test_the_group_of_one_element_has_nothing_to_learn_and_every_function_says_so():
    one = groups.cyclic(1)
    assert features.maxima(one) == ()
    content = features.irrep_content(np.ones((2, 3)), one)
    assert features.purity(content).tolist() == [0, 0, 0]
    assert chance_purity(one) == 0
    calls = (
        lambda: features.census(one),
        lambda: features.ascend(features.GroupEnergy(one), np.ones((2, 1))),
        lambda: li2.lemmas.survival(one, np.array([0])),
        lambda: li2.lemmas.reconstructing_nodes(one),
        lambda: li2.lemmas.reconstruction_residual(np.ones((2, 1)), one),
        lambda: li2.predict("Z1", n=1, K=4, eta=0.1),
    )
    for call in calls:
        with pytest.raises(ValueError, match="a group of order 2 or more is required, got Z1"):
            call()


@pytest.mark.parametrize("name", ["S3", "A4", "Q8", "Z11"])
def test_chance_is_what_random_nodes_show(name):
    """Exact integrals against 20,000 draws; 5 standard errors."""
    group = groups.parse(name)
    content = features.irrep_content(np.random.default_rng(0).standard_normal((2 * group.order, 20_000)), group)
    error = 5 / np.sqrt(20_000)
    np.testing.assert_allclose(content.mean(0), chance_content(group), atol=error)
    assert abs(features.purity(content).mean() - chance_purity(group)) < 0.5 * error
    np.testing.assert_allclose(dominates(content, group).mean(0), chance_dominance(group), atol=0.5 * error)
    assert dominates(content, group).sum(1).max() <= 1


def test_integer_weights_have_the_content_of_the_same_floats():
    group = groups.symmetric(3)
    W = np.random.default_rng(0).integers(-3, 4, size=(12, 5))
    np.testing.assert_allclose(features.irrep_content(W, group), features.irrep_content(W.astype(float), group))


@pytest.mark.parametrize("name", ["S3", "Z5"])
def test_a_start_without_energy_stays_and_has_not_converged(name):
    group = groups.parse(name)
    M = group.order
    W = features.random_starts(group, 3, seed=0)
    W[M:, 1] = 0  # no second half: a ∗ 0 = 0
    W[:M, 2] = 1  # a constant half: its product is constant
    for E in (features.GroupEnergy(group), features.GroupEnergy(group, rows=np.arange(M * M))):
        end = features.ascend(E, W, tolerance=1e-7)
        assert end.converged.tolist() == [True, False, False]
        np.testing.assert_allclose(end.energy[1:], 0, atol=1e-25)
        np.testing.assert_allclose(end.W[:, 1], W[:, 1] / np.linalg.norm(W[:, 1]), atol=1e-12)


def test_shapes_are_checked_before_anything_is_transformed():
    for rows in (None, np.arange(25)):
        E = features.GroupEnergy(groups.cyclic(5), rows=rows)
        with pytest.raises(
            ValueError, match=r"hidden units on Z5 have 10 weights, one column each, got shape \(7, 2\)"
        ):
            features.ascend(E, np.ones((7, 2)))


@pytest.mark.parametrize("name", ["tanh", "relu"])
def test_ascents_that_cannot_rise_any_more_have_converged(name):
    """tanh stalls where rounding hides the slope, relu at kinks; no point near them is higher by what counts."""
    group, rng = groups.cyclic(5), np.random.default_rng(0)
    E = features.GroupEnergy(group, name)
    end = features.ascend(E, features.random_starts(group, 3, seed=1))
    assert end.converged.all()
    for w, value in zip(end.W.T, end.energy, strict=True):
        for size in (1e-2, 1e-4, 1e-6):
            near = w[:, None] + size * rng.standard_normal((10, 300)) / np.sqrt(10)
            assert (E(near / np.linalg.norm(near, axis=0)) <= value * (1 + 1e-10)).all()


def test_irreps_that_are_fitted_are_not_reached():
    group = groups.alternating(4)
    W = features.random_starts(group, 12, seed=0)
    end = features.ascend(features.GroupEnergy(group), W, fitted=(1,))
    assert end.converged.all()
    np.testing.assert_allclose(features.irrep_content(end.W, group)[:, 2], 1, atol=1e-9)
    with pytest.raises(ValueError, match="every irrep of A4 is fitted"):
        features.ascend(features.GroupEnergy(group), W, fitted=(1, 3))
    with pytest.raises(ValueError, match="over the whole table with quadratic σ only"):
        features.ascend(features.GroupEnergy(group, "relu"), W, fitted=(1,))


def test_an_ascent_that_leaves_a_kink_goes_on_along_the_gradient_there(monkeypatch):
    """One step of length 1e-6 from the point beyond the kink, w + τ∇E/(w·∇E), written out."""
    rng = np.random.default_rng(0)
    E = features.GroupEnergy(groups.cyclic(5), rows=np.arange(0, 25, 2))
    start, beyond = (w / np.linalg.norm(w) for w in rng.standard_normal((2, 10)))
    monkeypatch.setattr(ascent, "PATIENCE", 0)
    monkeypatch.setattr(ascent, "_along_a_kink", lambda E, w, value: beyond)
    end = features.ascend(E, start[:, None], steps=1)
    gradient = E.gradient(beyond[:, None])[1][:, 0]
    expected = beyond + 1e-6 * gradient / (beyond @ gradient)
    expected /= np.linalg.norm(expected)
    assert expected @ gradient > beyond @ gradient
    np.testing.assert_allclose(end.W[:, 0], expected, rtol=0, atol=rounding(1, 10))
