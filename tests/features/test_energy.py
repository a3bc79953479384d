"""The energy against its definition, written out pair by pair, and its gradient against differences."""

import re

import numpy as np
import pytest

from firstlight import features, groups
from firstlight.features import GroupEnergy

SIGMA = {
    "quadratic": lambda x: x**2,
    "poly(1,0.5)": lambda x: x + 0.5 * x**2,
    "power3": lambda x: x**3,
    "tanh": np.tanh,
}


def definition(w, group, sigma, rows=None, residualised=False):
    """½‖Ỹᵀσ(Xw)‖² with dense X and Y."""
    M = group.order
    rows = np.arange(M * M) if rows is None else rows
    X = np.zeros((len(rows), 2 * M))
    Y = np.zeros((len(rows), M))
    for i, row in enumerate(rows):
        g, h = divmod(int(row), M)
        X[i, g] = X[i, M + h] = 1
        Y[i, group.table[g, h]] = 1
    explained = X if residualised else np.ones((len(rows), 1))
    Y = Y - explained @ np.linalg.lstsq(explained, Y, rcond=None)[0]
    return 0.5 * np.sum((Y.T @ sigma(X @ w)) ** 2)


@pytest.mark.parametrize("residualised", [False, True])
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("name", SIGMA)
def test_energy_is_its_definition_and_the_gradient_its_derivative(name, sampled, residualised):
    rng = np.random.default_rng(0)
    for group in (groups.symmetric(3), groups.parse("Z2xZ3")):
        M = group.order
        rows = np.sort(rng.permutation(M * M)[:20]) if sampled else None
        W = rng.standard_normal((2 * M, 3))
        E = GroupEnergy(group, name, rows, residualised and sampled)
        expected = [definition(w, group, SIGMA[name], rows, residualised and sampled) for w in W.T]
        np.testing.assert_allclose(E(W), expected, rtol=1e-11)
        value, gradient = E.gradient(W)
        np.testing.assert_allclose(value, expected, rtol=1e-11)
        step = 1e-5 * rng.standard_normal(W.shape)
        difference = (E(W + step) - E(W - step)) / 2
        np.testing.assert_allclose((gradient * step).sum(0), difference, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(E.by_component(W).sum(1), expected, rtol=1e-11)
        assert np.allclose(E.by_component(W)[:, 0], 0, atol=1e-20 * max(expected) + 1e-20)


def test_the_linear_part_of_a_quadratic_cancels():
    group = groups.quaternion()
    w = np.random.default_rng(1).standard_normal(16)
    assert np.isclose(features.energy(w, group, "poly(3,0.5)"), 0.25 * features.energy(w, group))


@pytest.mark.parametrize("name", ["S3", "A4", "Q8", "Z6"])
def test_corrected_equation_21_has_a_frobenius_norm(name):
    """E_k = (M/2d)‖Σ_r Ŝ_{k,r}‖_F², with Ŝ = Q*SQ in the basis where R_h is a sum of irreps."""
    group = groups.parse(name)
    M = group.order
    u, v = np.random.default_rng(2).standard_normal((2, M))
    S = np.tanh(u[:, None] + v)
    w = np.concatenate([u, v[group.inverse]])
    shares = np.zeros(len(group.real_components()))
    for c, component in enumerate(group.real_components()):
        for i in component.irreps:
            rho = group.irreps()[i]
            Q = np.sqrt(rho.dim / M) * rho.matrices.conj()
            h = np.random.default_rng(3).integers(M)
            R_h = np.zeros((M, M))
            R_h[group.table[h], np.arange(M)] = 1
            block = np.einsum("gi,gk,kj->ij", Q[:, :, 0].conj(), R_h, Q[:, :, 0])
            np.testing.assert_allclose(block, rho.matrices[h], atol=1e-12)
            S_hat = np.einsum("gir,gh,hjr->ij", Q.conj(), S, Q)
            shares[c] += M / 2 / rho.dim * (np.abs(S_hat) ** 2).sum()
    measured = GroupEnergy(group, "tanh").by_component(w[:, None])[0]
    np.testing.assert_allclose(measured[1:], shares[1:], rtol=1e-10, atol=1e-12)


def test_residualised_labels_ignore_what_depends_on_one_factor():
    group = groups.cyclic(7)
    rows = np.sort(np.random.default_rng(4).permutation(49)[:30])
    w = np.random.default_rng(5).standard_normal(14)
    swapped = np.concatenate([w[:7], -w[7:]])
    plain, clean = ([features.energy(x, group, rows=rows, residualised=r) for x in (w, swapped)] for r in (False, True))
    assert np.isclose(*clean, rtol=1e-10)
    assert not np.isclose(*plain, rtol=1e-3)


def test_errors_name_the_shape_and_the_fix():
    shape = "hidden units on Z5 have 10 weights, one column each, got shape (5, 2)"
    with pytest.raises(ValueError, match=re.escape(shape)):
        features.energy(np.ones((5, 2)), groups.cyclic(5))
    with pytest.raises(ValueError, match="rows must be pairs gM"):
        features.energy(np.ones(10), groups.cyclic(5), rows=np.array([25]))
    with pytest.raises(ValueError, match=re.escape("turn a mask into indices with np.flatnonzero")):
        GroupEnergy(groups.cyclic(5), rows=np.ones(25, dtype=bool))
