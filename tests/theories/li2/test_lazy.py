"""The lazy flow against an integrator, the constants of Lemma 1 against other formulas, wide layers against both."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from firstlight import features, groups
from firstlight.theories import li2


def problem(n, K, M=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, K)), np.eye(M)[rng.integers(M, size=n)], rng.standard_normal((K, M))


@pytest.mark.parametrize("eta", [0.0, 0.4])
@pytest.mark.parametrize(("n", "K"), [(9, 4), (4, 7)])
def test_the_lazy_flow_is_the_gradient_flow_of_the_output_layer(n, K, eta):
    F, Y, V0 = problem(n, K)
    F_tilde, Y_tilde = features.centred(F), features.centred(Y)

    def velocity(t, v):
        V = v.reshape(V0.shape)
        return (F_tilde.T @ (Y_tilde - F_tilde @ V) - eta * V).ravel()

    times = np.array([0.0, 0.1, 1.0, 3.0])
    flow = li2.LazyFlow(F, Y, V0, eta)
    exact = solve_ivp(velocity, (0, 3), V0.ravel(), t_eval=times, rtol=1e-10, atol=1e-12, method="DOP853").y.T
    np.testing.assert_allclose(flow.V(times).reshape(4, -1), exact, rtol=1e-7, atol=1e-8)
    if eta > 0:
        np.testing.assert_allclose(flow.V(np.inf), flow.limit, atol=1e-10)
    if eta == 0 and n < K:
        assert np.abs(flow.G_F(np.inf)).max() < 1e-10
        assert np.abs(flow.G_F(0.0)).max() > 0.1


def test_two_ways_to_the_kernel_agree_and_monte_carlo_does():
    for name in ("relu", "silu", "tanh", "quadratic"):
        a = li2.lemmas.hermite_coefficients(name, s=1.3, terms=120)
        for rho in (-0.6, 0.0, 0.3, 0.7):
            assert np.isclose(
                a**2 @ rho ** np.arange(120), li2.lemmas.dual_kernel(name, rho, 1.3), rtol=1e-9, atol=1e-12
            )
    theta = np.arccos(0.4)
    arc = (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (2 * np.pi)
    assert np.isclose(li2.lemmas.dual_kernel("relu", 0.4), arc, rtol=1e-12)
    z, e = np.random.default_rng(0).standard_normal((2, 200_000))
    sampled = np.tanh(z) * np.tanh(0.4 * z + np.sqrt(1 - 0.16) * e)
    assert abs(sampled.mean() - li2.lemmas.dual_kernel("tanh", 0.4)) < 5 * sampled.std() / np.sqrt(len(z))
    with pytest.raises(ValueError, match="a correlation lies in"):
        li2.lemmas.dual_kernel("relu", 1.2)


@pytest.mark.parametrize("name", ["quadratic", "relu"])
def test_lemma_1_on_a_whole_group_table(name):
    group = groups.cyclic(11)
    g, h = np.divmod(np.arange(121), 11)
    X, Y = np.hstack([np.eye(11)[g], np.eye(11)[h]]), np.eye(11)[group.table[g, h]]
    agreement = li2.lemmas.lemma_1_agreement(name, X, Y, 64 * 121, 1.0, li2.lemmas.c1_group_table(name), seed=0)
    assert agreement.cosine > 0.95
    assert abs(agreement.scale - 1) < 0.15


def test_lemma_1_does_not_converge_on_part_of_a_table():
    assert np.isclose(li2.lemmas.sampled_table_cosine("quadratic", 23, 0.4), 0.81, atol=0.02)
    assert np.isclose(li2.lemmas.sampled_table_cosine("relu", 23, 0.4), 0.49, atol=0.03)


def test_many_samples_cost_no_square_matrix_of_them():
    """A full SVD would hold a left factor of n² numbers, 3.2 GB here."""
    F, Y, V0 = problem(20_000, 4)
    np.testing.assert_allclose(li2.LazyFlow(F, Y, V0, 0.3).V(np.inf), features.ridge(F, Y, 0.3), atol=1e-10)
