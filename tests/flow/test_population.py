"""The Gram form against brute force over every pair, on Abelian and non-Abelian groups."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight.flow.population import (
    feature_gram,
    feature_target,
    population_is_cheaper,
    population_loss,
    population_value_and_grad,
)
from firstlight.flow.population._convolution import convolve, correlate_left, correlate_right
from firstlight.groups import Group, alternating, cyclic, dihedral, parse, quaternion, symmetric
from firstlight.records._spec import Loss
from tests.tolerances import rounding

GROUPS = [cyclic(7), cyclic(8), parse("Z2xZ6"), symmetric(3), quaternion(), dihedral(5), alternating(4)]
each_group = pytest.mark.parametrize("group", GROUPS, ids=lambda g: g.name)
some_groups = pytest.mark.parametrize("group", [parse("Z2xZ6"), quaternion()], ids=lambda g: g.name)


PROJECTIONS = {"outputs": (1.0, 0.0), "samples": (0.0, 1.0), "none": (0.0, 0.0)}


def dense_features(W, table, polynomial):
    """F, one row per pair, and the index of each pair's product."""
    M = len(table)
    first, second = np.divmod(np.arange(M * M), M)
    H = W[first] + W[M + second]
    return sum(c * H**i for i, c in enumerate(polynomial)), table[first, second]


def dense_loss(W, V, table, polynomial, centring):
    """Σ‖P(o − e_{g₁g₂})‖² with the mean over outputs, over samples or neither removed."""
    F, y = dense_features(W, table, polynomial)
    residual = F @ V - jnp.eye(len(table))[y]
    over_outputs, over_samples = residual.mean(1, keepdims=True), residual.mean(0, keepdims=True)
    return jnp.sum((residual - centring[0] * over_outputs - centring[1] * over_samples) ** 2)


def require_equal(got, want, allowed):
    for x, y, bound in zip(jax.tree.leaves(got), jax.tree.leaves(want), allowed, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=bound)


dense_value_and_grad = jax.jit(jax.value_and_grad(dense_loss, argnums=(0, 1)))


def draw(group: Group, K: int = 9, seed: int = 0):
    """Weights with means, at which the loss is of order M², and a random polynomial."""
    rng = np.random.default_rng(seed)
    M = group.order
    W = 0.5 * rng.normal(size=(2 * M, K)) + 0.3 * rng.normal(size=K)
    return W, rng.normal(size=(K, M)) / np.sqrt(K), tuple(rng.normal(size=3))


def errors_allowed(W, V, table, polynomial, dtype=np.float64):
    """The rounding of the loss, ∂W and ∂V: the largest terms that their sums over units or pairs add or cancel."""
    F, _ = dense_features(W, table, polynomial)
    slope = dense_features(W, table, tuple(i * c for i, c in enumerate(polynomial))[1:])[0]
    (K, M), gram = V.shape, F.T @ F
    residual = np.abs(F) @ np.abs(V) + 1
    sizes = {
        "loss": (np.abs(gram * (V @ V.T)).max(), K * K),
        "W": (2 * np.abs(slope).max() * residual.max() * np.abs(V).max(), M * M),
        "V": (2 * np.abs(gram).max() * np.abs(V).max(), K),
    }
    return [rounding(size, terms, dtype) for size, terms in sizes.values()]


def of_each_projection(f, group: Group):
    """One program with f's result under each projection."""
    losses = [Loss(projection=p, reduction="sum") for p in PROJECTIONS]
    return jax.jit(lambda W, V, polynomial: [f(W, V, group, polynomial, loss) for loss in losses])


@each_group
def test_loss_and_gradient_are_those_of_the_dense_table(group):
    with jax.enable_x64(True):
        ours = of_each_projection(population_value_and_grad, group)
        for seed in range(4):
            W, V, polynomial = draw(group, seed=seed)
            for got, centring in zip(ours(W, V, polynomial), PROJECTIONS.values(), strict=True):
                want = dense_value_and_grad(W, V, group.table, polynomial, centring)
                assert got[0].dtype == jnp.float64
                require_equal(got, want, errors_allowed(W, V, group.table, polynomial))


def test_value_alone_is_the_value_with_gradient_and_differentiates_by_itself():
    group, loss = dihedral(5), Loss(projection="none", reduction="sum")
    W, V, polynomial = draw(group)
    with jax.enable_x64(True):
        W, V = jnp.asarray(W), jnp.asarray(V)
        ours = population_value_and_grad(W, V, group, polynomial, loss)
        auto = jax.value_and_grad(population_loss, argnums=(0, 1))(W, V, group, polynomial, loss)
        require_equal(ours, auto, errors_allowed(W, V, group.table, polynomial))


def order_six_optimum(d: int):
    """CoGO's zero-loss network of Z_d, d odd: six hidden units per frequency (Corollary 2, with its 2^(−1/3))."""
    w3, w8 = np.exp(-2j * np.pi / 3), np.exp(-1j * np.pi / 4)
    cube = np.array([1, w3, w3**2]) / (6 * d) ** (1 / 3)
    pair = 2 ** (-1 / 3) * np.array([[w8.conj(), w8], [w8, w8.conj()], [1, 1]])
    z = np.einsum("i,pj->pij", cube, pair).reshape(3, 6)
    wave = np.exp(2j * np.pi * np.outer(np.arange(d), np.arange(1, (d + 1) // 2)) / d)
    a, b = (2 * np.real(wave[:, :, None] * z[p]).reshape(d, -1) for p in (0, 1))
    v = 2 * np.real(wave.conj()[:, :, None] * z[2]).reshape(d, -1)
    return np.concatenate([a, b]), v.T


def test_a_global_optimum_has_no_loss_and_no_gradient():
    W, V = order_six_optimum(7)
    with jax.enable_x64(True):
        value, grads = population_value_and_grad(jnp.asarray(W), jnp.asarray(V), cyclic(7), loss=Loss(reduction="sum"))
        for x in (value, *grads):
            np.testing.assert_allclose(x, 0, rtol=0, atol=1e-12 * 42)


def test_wide_networks_go_through_panels():
    group = symmetric(3)
    W, V, polynomial = draw(group, K=600)
    with jax.enable_x64(True):
        got = population_value_and_grad(jnp.asarray(W), jnp.asarray(V), group, polynomial, Loss(reduction="sum"))
        want = dense_value_and_grad(W, V, group.table, polynomial, PROJECTIONS["outputs"])
        require_equal(got, want, errors_allowed(W, V, group.table, polynomial))


def test_reduction_and_factor_scale_value_and_gradient():
    group = cyclic(5)
    losses = [Loss(reduction="sum"), Loss(reduction="mean", factor=0.5)]
    with jax.enable_x64(True):
        run = jax.jit(lambda W, V, c: [population_value_and_grad(W, V, group, c, loss) for loss in losses])
        W, V, polynomial = draw(group)
        total, half = run(W, V, polynomial)
        require_equal(total, jax.tree.map(lambda x: 50 * x, half), errors_allowed(W, V, group.table, polynomial))


def test_lower_degrees_are_allowed_and_higher_ones_refused():
    group = cyclic(6)
    W, V, _ = draw(group)
    with jax.enable_x64(True):
        for polynomial in ((0.7,), (0.7, -0.4)):
            ours = of_each_projection(population_loss, group)(W, V, polynomial)
            dense = [dense_loss(W, V, group.table, polynomial, c) for c in PROJECTIONS.values()]
            error = errors_allowed(W, V, group.table, polynomial)[0]
            np.testing.assert_allclose(ours, dense, rtol=0, atol=error)
    with pytest.raises(ValueError, match=r"degree at most 2.*got 4"):
        population_loss(jnp.asarray(W), jnp.asarray(V), group, (0, 0, 0, 1))


def test_wrong_shapes_and_losses_are_refused():
    with pytest.raises(ValueError, match=r"order 5 needs W of shape \(10, K\)"):
        population_loss(jnp.zeros((12, 3)), jnp.zeros((3, 6)), cyclic(5))
    with pytest.raises(ValueError, match="needs the mse loss, got kind='cross_entropy'"):
        population_loss(jnp.zeros((10, 3)), jnp.zeros((3, 5)), cyclic(5), loss=Loss(kind="cross_entropy"))


@pytest.mark.parametrize("group", [cyclic(11), symmetric(3)], ids=lambda g: g.name)
def test_lanes_in_float32_then_alone_in_float64(group):
    W, V, _ = map(np.stack, zip(*(draw(group, seed=s) for s in range(3)), strict=True))
    run = functools.partial(population_value_and_grad, group=group, loss=Loss(reduction="sum"))
    lanes = jax.vmap(run)(W.astype(np.float32), V.astype(np.float32))
    square = (0.0, 0.0, 1.0)
    with jax.enable_x64(True):
        for i in range(3):
            alone = run(jnp.asarray(W[i]), jnp.asarray(V[i]))
            dense = dense_value_and_grad(W[i], V[i], group.table, square, PROJECTIONS["outputs"])
            for got, dtype in ((jax.tree.map(lambda x, i=i: x[i], lanes), np.float32), (alone, np.float64)):
                assert {x.dtype for x in jax.tree.leaves(got)} == {np.dtype(dtype)}
                require_equal(got, dense, errors_allowed(W[i], V[i], group.table, square, dtype))


@some_groups
def test_feature_moments_are_those_of_the_dense_features(group):
    W, _, polynomial = draw(group)
    F, y = dense_features(W, group.table, polynomial)
    Y = np.eye(group.order)[y]
    # The moments add up powers of W apart, whose terms do not cancel as they do in F.
    terms, _ = dense_features(np.abs(W), group.table, np.abs(polynomial))
    error = rounding(terms.max() ** 2, len(F))
    with jax.enable_x64(True):
        W = jnp.asarray(W)
        for centred in (False, True):
            gram = feature_gram(W, polynomial, centred=centred)
            target = feature_target(W, group, polynomial, centred=centred)
            np.testing.assert_allclose(gram, F.T @ F, rtol=0, atol=error)
            np.testing.assert_allclose(target, F.T @ Y, rtol=0, atol=error)
            F, Y = F - F.mean(0), Y - Y.mean(0)


def test_ridge_from_moments_minimises_the_sample_centred_loss():
    group, eta = alternating(4), 0.1
    W, _, polynomial = draw(group, K=20)
    loss = Loss(projection="samples", reduction="sum", factor=0.5)
    with jax.enable_x64(True):
        W = jnp.asarray(W)
        H, FY = feature_gram(W, polynomial), feature_target(W, group, polynomial)
        V = np.linalg.solve(H + eta * np.eye(20), FY)
        _, (_, dV) = population_value_and_grad(W, jnp.asarray(V), group, polynomial, loss)
        np.testing.assert_allclose(dV, -eta * V, rtol=0, atol=1e-11)


@some_groups
def test_correlations_are_the_adjoints_of_convolution(group):
    a, b, u = np.random.default_rng(3).normal(size=(3, group.order, 4))
    t = np.zeros_like(a)
    np.add.at(t, group.table, a[:, None] * b[None])
    inner = np.sum(u * t, axis=0)

    @jax.jit
    def ours(a, b, u):
        return convolve(group, a, b), correlate_left(group, b, u), correlate_right(group, a, u)

    with jax.enable_x64(True):
        convolved, left, right = ours(a, b, u)
        term = np.abs(a).max() * np.abs(b).max()
        np.testing.assert_allclose(convolved, t, rtol=0, atol=rounding(term, group.order))
        error = rounding(np.abs(u).max() * term, group.order**2)
        np.testing.assert_allclose(np.sum(a * left, axis=0), inner, rtol=0, atol=error)
        np.testing.assert_allclose(np.sum(b * right, axis=0), inner, rtol=0, atol=error)


def test_cost_model_refuses_what_is_not_the_full_table():
    assert population_is_cheaper(127, 512, n=127**2)
    assert not population_is_cheaper(127, 512, n=127**2 - 1)
