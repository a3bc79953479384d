"""Fourier transform, convolution and real isotypic components, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.groups import (
    convolve,
    cyclic,
    fourier,
    from_table,
    inverse_fourier,
    isotypic_energies,
    isotypic_projector,
    parse,
)
from tests.tolerances import rounding

NAMES = ["Z1", "Z7", "Z4xZ6", "S4", "Q8", "F21", "SL2(3)", "Dic3", "A5"]


def bare(name, seed=3):
    """The group with relabelled elements, known by its table only."""
    table = parse(name).table
    order = np.random.default_rng(seed).permutation(len(table))
    moved = np.empty_like(table)
    moved[np.ix_(order, order)] = order[table]
    return from_table(moved)


GROUPS = [make(name) for name in NAMES for make in (parse, bare)]


def random_functions(group, *batch, seed=0, real=False):
    rng = np.random.default_rng(seed)
    f = rng.standard_normal((*batch, group.order))
    return f if real else f + 1j * rng.standard_normal(f.shape)


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_fourier_is_its_definition_and_inverts(group):
    f = random_functions(group, 2, 3)
    blocks = fourier(group, f)
    for rho, block in zip(group.irreps(), blocks, strict=True):
        definition = np.einsum("...g,gji->...ij", f, rho.matrices.conj())
        np.testing.assert_allclose(block, definition, atol=1e-11)
    np.testing.assert_allclose(inverse_fourier(group, blocks), f, atol=1e-12)
    energy = sum(rho.dim * (np.abs(b) ** 2).sum((-1, -2)) for rho, b in zip(group.irreps(), blocks, strict=True))
    np.testing.assert_allclose(energy / group.order, (np.abs(f) ** 2).sum(-1), rtol=1e-12)


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_convolution_is_its_definition_and_becomes_a_product(group):
    a, b = random_functions(group, 3, 1), random_functions(group, 2, seed=1)
    result = convolve(group, a, b)
    assert result.shape == (3, 2, group.order)
    brute = np.zeros(result.shape, dtype=complex)
    for g in range(group.order):
        brute += a[..., g, None] * b[..., group.table[group.inverse[g]]]
    np.testing.assert_allclose(result, brute, atol=1e-11)
    for ab, a_hat, b_hat in zip(fourier(group, result), fourier(group, a), fourier(group, b), strict=True):
        np.testing.assert_allclose(ab, b_hat @ a_hat, atol=1e-10)
    real = convolve(group, a.real, b.real)
    assert real.dtype == np.float64


@pytest.mark.parametrize("moduli", [(8,), (2, 3), (4, 1, 6), (3, 3, 2)])
def test_products_of_cyclic_groups_use_the_order_of_fft(moduli):
    group = parse("x".join(f"Z{n}" for n in moduli))
    assert group.moduli == moduli
    f = random_functions(group, 5)
    spectrum = np.stack(fourier(group, f), axis=1)[..., 0, 0]
    expected = np.fft.fftn(f.reshape(5, *moduli), axes=range(1, len(moduli) + 1)).reshape(5, -1)
    np.testing.assert_allclose(spectrum, expected, atol=1e-12)


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_real_components(group):
    U, components = group.real_basis(), group.real_components()
    np.testing.assert_allclose(U.T @ U, np.eye(group.order), atol=1e-12)
    assert sorted(i for c in components for i in c.irreps) == list(range(len(group.irreps())))
    for c in components:
        projector = sum(isotypic_projector(group.irreps()[i]) for i in c.irreps)
        np.testing.assert_allclose(c.projector, projector, atol=1e-12)
        assert c.size == c.dim**2 * len(c.irreps) == round(np.trace(c.projector))
        np.testing.assert_array_equal(U[:, c.columns], c.basis)
        assert c.is_trivial == (c.irreps == (0,))
    f = random_functions(group, 4, real=True)
    np.testing.assert_allclose(sum(c.project(f) for c in components), f, atol=1e-12)
    energies = isotypic_energies(group, f)
    np.testing.assert_allclose(energies, np.stack([c.energy(f) for c in components], -1), atol=1e-11)
    np.testing.assert_allclose(
        energies, [[(f[i] @ c.projector @ f[i]) for c in components] for i in range(4)], atol=1e-11
    )
    np.testing.assert_allclose(energies.sum(-1), (f**2).sum(-1))
    np.testing.assert_allclose(isotypic_energies(group, f, normalised=True).sum(-1), 1)
    assert not isotypic_energies(group, np.zeros(group.order), normalised=True).any()


@pytest.mark.parametrize("name", ["S4", "Q8", "F21", "Z4xZ6"])
def test_entries_of_a_real_form_lie_in_one_component(name):
    group = parse(name)
    for k, c in enumerate(group.real_components()):
        entries = group.irreps()[c.irreps[0]].real_form.reshape(group.order, -1).T
        purity = isotypic_energies(group, entries[np.abs(entries).max(1) > 1e-9], normalised=True)
        np.testing.assert_allclose(purity[:, k], 1)


@given(st.sampled_from(GROUPS), st.integers(0, 1000))
def test_convolution_is_associative_with_the_identity_as_unit(group, seed):
    a, b, c = random_functions(group, 3, seed=seed)
    left, right = convolve(group, convolve(group, a, b), c), convolve(group, a, convolve(group, b, c))
    np.testing.assert_allclose(left, right, atol=1e-9)
    unit = np.zeros(group.order)
    unit[group.identity] = 1
    np.testing.assert_allclose(convolve(group, a, unit), a, atol=1e-11)


def test_wrong_shapes_say_what_is_wanted():
    group = cyclic(5)
    for call in (lambda f: fourier(group, f), lambda f: isotypic_energies(group, f)):
        with pytest.raises(ValueError, match=r"Z5 have 5 values in the last axis, got shape \(5, 3\); transpose"):
            call(np.ones((5, 3)))
    with pytest.raises(ValueError, match=r"Z5 is one block per irrep"):
        inverse_fourier(group, [np.ones((1, 1))] * 4)


@pytest.mark.parametrize("make", [parse, bare])
def test_real_bases_of_quaternionic_irreps_of_any_dimension(make):
    """SL(2,5) has quaternionic irreps with d = 2, 4 and 6; P(g, h) = (d/M) χ(gh⁻¹) needs no matrices."""
    group = make("SL2(5)")
    quaternionic = [c for c in group.real_components() if c.kind == "quaternionic"]
    assert [c.dim for c in quaternionic] == [2, 2, 4, 6]
    quotient = group.table[:, group.inverse]
    for c in quaternionic:
        character = group.irreps()[c.irreps[0]].character
        expected = c.dim / group.order * character[quotient]
        # BᵀB adds M products to 1 on its diagonal: of one sign, so that the partial sums round, not the products.
        allowed = rounding(1, group.order)
        np.testing.assert_allclose(c.basis @ c.basis.T, expected, rtol=0, atol=allowed)
        np.testing.assert_allclose(c.basis.T @ c.basis, np.eye(c.dim**2), rtol=0, atol=allowed)
