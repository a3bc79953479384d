"""Crafted networks have zero loss; what they are made of satisfies what is claimed; paths keep the loss at zero."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from firstlight.features import energy, maxima
from firstlight.groups import cyclic, parse, symmetric
from firstlight.theories.cogo import (
    Solution,
    balanced,
    craft,
    craft_any,
    fourier_four,
    fourier_six,
    gram_loss,
    potential_loss,
    table_loss,
    zero_loss_path,
)
from firstlight.theories.cogo.lemmas import (
    craft_from_irreps,
    loss_terms,
    memorising_factors,
    order_pair,
    order_three,
    order_two,
    random_unit,
    real_block,
    residual_coefficients,
    residuals,
    unit,
)

ZERO = 1e-24


@pytest.mark.parametrize("d", [*range(3, 14), 24, 50, 71, 100, 101])
def test_zero_loss_from_dense_residuals_for_odd_and_even_d(d):
    # BLAS threads on a busy machine wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        for kind in ("F6", "F4+repair", "F4+F6"):
            assert table_loss(*craft(cyclic(d), kind, seed=d).weights, cyclic(d)) < ZERO


@pytest.mark.parametrize("name", ["Z4xZ6", "Z3xZ3", "Z2xZ2xZ3", "Z2xZ2"])
def test_zero_loss_for_products(name):
    group = parse(name)
    assert residuals(craft(group, seed=0)).worst < 1e-14
    for kind in ("F6", "memorise"):
        assert table_loss(*craft(group, kind, seed=0).weights, group) < ZERO


@given(st.floats(0, 7), st.floats(0, 7), st.floats(0, 7))
def test_every_phase_and_twist_gives_an_optimizer(alpha, beta, twist):
    group = cyclic(5)
    six = fourier_six(group, 1, alpha, beta, twist) + fourier_six(group, 2, beta, twist, alpha)
    assert table_loss(*six.weights, group) < ZERO
    assert residuals(fourier_four(group, 1, alpha, beta)).R_c < 1e-14
    assert residuals(fourier_four(group, 2, alpha, beta)).R_conv < 1e-14


def test_products_of_factors_are_the_blocks():
    group = cyclic(7)
    assert order_three(group, 2) * order_two(group, 2, 0.3) * unit(group, 2, 1.0, 2.0) == fourier_six(
        group, 2, 1.0, 2.0, 0.3
    )
    assert residuals(order_pair(group, 1)).R_conv < 1e-15
    assert residuals(real_block(cyclic(8), 4)).R_n < 1e-15
    first, second = memorising_factors(group)
    assert (first * second).order == 49


def test_norms_fall_with_the_order():
    d = 23
    six, four, all_pairs = (craft(cyclic(d), kind) for kind in ("F6", "F4", "memorise"))
    # 3n (2dn)^(−2/3) for each of d − 1 frequencies with n nodes
    assert np.isclose(six.norm2, (d - 1) * 18 * (12 * d) ** (-2 / 3))
    assert np.isclose(four.norm2, (d - 1) * 12 * (8 * d) ** (-2 / 3))
    assert np.isclose(all_pairs.norm2, 3 * (d - 1) * d**2 * (2 * d**3) ** (-2 / 3))


def test_what_is_least_about_crafted_norms():
    for kind in ("F6", "F4", "F4+repair", "F4+F6", "memorise"):
        crafted = craft(cyclic(7), kind, seed=1)
        assert balanced(crafted).norm2 == pytest.approx(crafted.norm2)
        product, total = np.prod(np.abs(crafted.z), axis=0), np.sum(np.abs(crafted.z) ** 2, axis=0)
        # |a|² + |b|² + |c|² ≥ 3|abc|^(2/3), an equality where all three are as large.
        assert np.allclose(total, 3 * product ** (2 / 3)) == (kind in ("F6", "F4", "memorise"))
    everywhere_real = parse("Z2xZ2")
    assert craft(everywhere_real, "F4") == craft(everywhere_real, "F6")


@pytest.mark.parametrize("name", ["Z5", "Z6", "Z2xZ4"])
def test_losses_agree_with_the_table_for_weights_with_means(name):
    group, rng = parse(name), np.random.default_rng(3)
    d = group.order
    W, V = rng.standard_normal((2 * d, 5)), rng.standard_normal((5, d))
    exact, solution = table_loss(W, V, group), Solution.from_weights(W, V, group)
    residual = d * np.sum(np.abs(residual_coefficients(solution)) ** 2)
    losses = [loss_terms(solution).total, potential_loss(solution), gram_loss(W, V, group), residual]
    np.testing.assert_allclose(losses, exact, rtol=1e-12)
    # More nodes than a panel of the Gram matrices has, and no multiple of it.
    W, V = rng.standard_normal((2 * d, 131)), rng.standard_normal((131, d))
    np.testing.assert_allclose(gram_loss(W, V, group), table_loss(W, V, group), rtol=1e-12)
    empty = Solution.zero(group)
    assert potential_loss(empty) == loss_terms(empty).total == 1 - 1 / d


@pytest.mark.parametrize("name", ["S3", "Q8", "A4", "D5", "Dic3", "F21"])
def test_any_group_from_maxima_of_the_energy(name):
    group = parse(name)
    W, V = craft_from_irreps(group)
    assert table_loss(W, V, group) < ZERO
    assert abs(gram_loss(W, V, group)) < 1e-13
    levels = [m.energy for m in maxima(group)]
    reached = energy(W / np.linalg.norm(W, axis=0), group)
    assert np.abs(reached[:, None] - levels).min(axis=1).max() < 1e-12


def test_craft_any_chooses():
    assert craft_any(cyclic(5))[0].shape == (10, 12)
    assert craft_any(symmetric(3))[0].shape == (12, 18)


@pytest.mark.parametrize("name", ["Z5", "Z6", "Z2xZ4", "Z2xZ2"])
def test_paths_keep_the_loss_at_zero_are_continuous_and_end_at_the_simpler_optimizer(name):
    group = parse(name)
    base = craft(group)
    for seed in range(3):
        path = zero_loss_path(random_unit(group, 3, seed), base)
        assert path.at(0.0) == path.unit * base
        end = path.at(1.0)
        assert end.select(np.flatnonzero(np.abs(end.z).sum((0, 1)))) == base
        times = np.linspace(0, 1, 21)
        for t in times:
            point = path.at(t)
            assert table_loss(*point.weights, group) < ZERO * max(point.norm2, 1) ** 2
        for t in (0.25, 0.5, 0.75):
            gap = np.abs(path.at(t + 1e-9).z - path.at(t - 1e-9).z).max()
            assert gap < 1e-4  # cos^(2/3) has an infinite slope where it vanishes
        assert path.norms(times).min() > base.norm2 * (1 - 1e-12)


def test_errors_name_what_is_needed():
    with pytest.raises(ValueError, match="kind is one of F6, F4, F4\\+repair, F4\\+F6, memorise; got 'F5'"):
        craft(cyclic(5), "F5")
    with pytest.raises(ValueError, match="frequencies need an Abelian group; S3 is not one"):
        craft(symmetric(3))
    with pytest.raises(ValueError, match="nothing to learn"):
        craft(cyclic(1))
    with pytest.raises(ValueError, match="nothing to learn"):
        craft_from_irreps(cyclic(1))
    with pytest.raises(ValueError, match=r"real_block needs a frequency with −k = k \(of Z7: none\); got ±1"):
        real_block(cyclic(7), 1)
    with pytest.raises(ValueError, match="a ring unit has at least one hidden unit; got order = 0"):
        random_unit(cyclic(5), 0, 0)
    with pytest.raises(ValueError, match=r"base must satisfy eq\. \(4\).*off R_n by"):
        zero_loss_path(random_unit(cyclic(5), 2, 0), craft(cyclic(5), "F4+F6"))
    with pytest.raises(ValueError, match="every frequency of Z2xZ2 is real"):
        craft(parse("Z2xZ2"), "F4+F6")
    with pytest.raises(ValueError, match="its own conjugate, so its coefficients are real"):
        unit(cyclic(4), 2, alpha=0.3)
    with pytest.raises(ValueError, match="frequency k ≠ 0"):
        unit(cyclic(4), 0)
    with pytest.raises(ValueError, match="a ring unit has r_kkk = 1 at every k ≠ 0; this solution is off by"):
        zero_loss_path(craft(cyclic(5)), craft(cyclic(5)))
