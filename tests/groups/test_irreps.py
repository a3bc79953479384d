"""Representation theory as it must be: every group by its formula and again from its bare table."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.groups import (
    Group,
    character_table,
    cyclic,
    from_permutations,
    from_table,
    isotypic_projector,
    parse,
    product,
    symmetric,
)

DIMENSIONS = {
    "Z1": [1],
    "Z12": [1] * 12,
    "Z2xZ6": [1] * 12,
    "S3": [1, 1, 2],
    "S4": [1, 1, 2, 3, 3],
    "S5": [1, 1, 4, 4, 5, 5, 6],
    "A4": [1, 1, 1, 3],
    "A5": [1, 3, 3, 4, 5],
    "D5": [1, 1, 2, 2],
    "D8": [1, 1, 1, 1, 2, 2, 2],
    "Q8": [1, 1, 1, 1, 2],
    "Dic3": [1, 1, 1, 1, 2, 2],
    "Dic5": [1, 1, 1, 1, 2, 2, 2, 2],
    "F20": [1, 1, 1, 1, 4],
    "F21": [1, 1, 1, 3, 3],
    "SL2(3)": [1, 1, 1, 2, 2, 2, 3],
    "SL2(5)": [1, 2, 2, 3, 3, 4, 4, 5, 6],
    "Q8xQ8": [1] * 16 + [2] * 8 + [4],
    "F21xZ3": [1] * 9 + [3] * 6,
}
CASES = [(name, bare) for name in DIMENSIONS for bare in (False, True)]


def relabelled(group: Group, seed: int) -> Group:
    """The same group with its elements in another order, known by its table only."""
    order = np.random.default_rng(seed).permutation(group.order)
    table = np.empty_like(group.table)
    table[np.ix_(order, order)] = order[group.table]
    return from_table(table)


def check_irreps(group: Group) -> None:
    M, irreps = group.order, group.irreps()
    assert len(irreps) == len(group.classes)
    assert sum(rho.dim**2 for rho in irreps) == M
    assert [rho.is_trivial for rho in irreps] == [True] + [False] * (len(irreps) - 1)
    assert [rho.dim for rho in irreps] == sorted(rho.dim for rho in irreps)
    # ρ(gh) = ρ(g)ρ(h) for generators g and all h implies it for all g.
    lefts = range(M) if M <= 60 else group.generators
    for rho in irreps:
        assert M % rho.dim == 0
        for g in lefts:
            assert np.abs(rho.matrices[g] @ rho.matrices - rho.matrices[group.table[g]]).max() < 1e-12
        assert np.abs(rho.matrices @ rho.matrices.conj().swapaxes(1, 2) - np.eye(rho.dim)).max() < 1e-12
        np.testing.assert_allclose(np.trace(rho.matrices, axis1=1, axis2=2), rho.character, atol=1e-12)
    # Schur: the entries √(d/M) ρ_ij are an orthonormal basis of the functions on the group.
    entries = np.hstack([np.sqrt(rho.dim / M) * rho.matrices.reshape(M, -1) for rho in irreps])
    assert np.abs(entries.conj().T @ entries - np.eye(M)).max() < 1e-11
    assert np.abs(irreps[0].matrices - 1).max() < 1e-12


def check_kinds(group: Group) -> None:
    irreps = group.irreps()
    # Frobenius and Schur: the number of square roots of g is Σ_ρ ν_ρ χ_ρ(g).
    indicator = {"real": 1, "complex": 0, "quaternionic": -1}
    roots = np.bincount(np.diagonal(group.table), minlength=group.order)
    counted = sum(indicator[rho.kind] * rho.character for rho in irreps)
    np.testing.assert_allclose(roots, counted, atol=1e-10)
    for rho in irreps:
        partner = irreps[rho.conjugate]
        assert (rho.conjugate == rho.index) == (rho.kind != "complex")
        assert irreps[partner.conjugate] is rho
        np.testing.assert_allclose(partner.character, rho.character.conj(), atol=1e-12)
        if rho.kind == "real":
            assert not rho.matrices.imag.any()
        elif rho.kind == "complex":
            np.testing.assert_array_equal(partner.matrices, rho.matrices.conj())
        else:
            half = rho.dim // 2
            top, bottom = rho.matrices[:, :half], rho.matrices[:, half:]
            np.testing.assert_array_equal(top[:, :, :half], bottom[:, :, half:].conj())
            np.testing.assert_array_equal(top[:, :, half:], -bottom[:, :, :half].conj())
        # Real forms are orthogonal, and their commutants R, C, H have dimension ⟨χ, χ⟩ = 1, 2, 4.
        real = rho.real_form
        assert np.abs(real @ real.swapaxes(1, 2) - np.eye(real.shape[1])).max() < 1e-12
        for s in group.generators:
            assert np.abs(real[s] @ real - real[group.table[s]]).max() < 1e-12
        commutant = (np.trace(real, axis1=1, axis2=2) ** 2).mean()
        assert abs(commutant - {"real": 1, "complex": 2, "quaternionic": 4}[rho.kind]) < 1e-10


@pytest.mark.parametrize(("name", "bare"), CASES)
def test_irreps(name, bare):
    group = relabelled(parse(name), seed=1) if bare else parse(name)
    check_irreps(group)
    check_kinds(group)
    assert [rho.dim for rho in group.irreps()] == DIMENSIONS[name]


@pytest.mark.parametrize("name", [name for name in DIMENSIONS if name != "S5"])
def test_order_of_irreps_and_characters_come_from_the_table_alone(name):
    formula, bare = parse(name), from_table(parse(name).table)
    np.testing.assert_allclose(character_table(formula), character_table(bare), atol=1e-12)
    assert [rho.kind for rho in formula.irreps()] == [rho.kind for rho in bare.irreps()]


@pytest.mark.parametrize("name", ["S5", "A5", "SL2(3)", "Dic5", "Z2xZ6"])
def test_columns_of_the_character_table_are_orthogonal(name):
    group = parse(name)
    table = character_table(group)
    centralisers = group.order / np.array([len(c) for c in group.classes])
    np.testing.assert_allclose(table.conj().T @ table, np.diag(centralisers), atol=1e-10)


def test_icosahedral_characters_are_golden():
    golden = (1 + np.sqrt(5)) / 2
    values = character_table(parse("A5"))[1:3].real
    assert sorted(set(values.round(9).ravel())) == sorted({3.0, 0.0, -1.0, round(golden, 9), round(1 - golden, 9)})


def test_labels_name_the_irreps():
    assert [rho.label for rho in parse("Z2xZ3").irreps()] == [
        "(0,0)",
        "(0,1)",
        "(0,2)",
        "(1,0)",
        "(1,1)",
        "(1,2)",
    ]
    assert [rho.label for rho in parse("A5").irreps()] == ["1a", "3a", "3b", "4a", "5a"]
    assert [rho.label for rho in parse("S3xZ2").irreps()][-1] == "[2,1]⊗1"
    for name in DIMENSIONS:
        labels = [rho.label for rho in parse(name).irreps()]
        assert len(set(labels)) == len(labels)


def test_standard_representation_of_the_symmetric_group():
    """The partition [n−1,1] is the permutation representation less the trivial one."""
    group = symmetric(5)
    rho = next(r for r in group.irreps() if r.label == "[4,1]")
    words = list(permutations(range(5)))
    fixed_points = [sum(i == p for i, p in enumerate(word)) for word in words]
    np.testing.assert_allclose(rho.character, np.array(fixed_points) - 1, atol=1e-12)
    sign = next(r for r in group.irreps() if r.label == "[1,1,1,1,1]")
    signs = [round(np.linalg.det(np.eye(5)[list(word)])) for word in words]
    np.testing.assert_allclose(sign.character, signs, atol=1e-12)


@pytest.mark.parametrize("name", ["Z6", "S4", "Q8", "F21", "SL2(3)"])
def test_isotypic_projectors(name):
    group = parse(name)
    M = group.order
    projectors = [isotypic_projector(rho) for rho in group.irreps()]
    quotient = group.table[:, group.inverse]
    for rho, P in zip(group.irreps(), projectors, strict=True):
        np.testing.assert_allclose(P, rho.dim / M * rho.character[quotient], atol=1e-12)
        assert abs(np.trace(P) - rho.dim**2) < 1e-11
        for s in group.generators:
            for moved in (group.table[s], group.table[:, s]):
                np.testing.assert_allclose(P[np.ix_(moved, moved)], P, atol=1e-12)
        for sigma, Q in zip(group.irreps(), projectors, strict=True):
            np.testing.assert_allclose(P @ Q, P if sigma is rho else 0 * P, atol=1e-12)
    np.testing.assert_allclose(sum(projectors), np.eye(M), atol=1e-12)


@given(st.lists(st.permutations(range(5)), min_size=1, max_size=2))
def test_any_permutation_group(generators):
    group = from_permutations(generators)
    check_irreps(group)
    check_kinds(group)


@settings(max_examples=12)
@given(
    st.lists(st.sampled_from(["Z2", "Z3", "Z4", "S3", "Q8", "D4", "Dic3", "A4", "F20"]), max_size=2),
    st.integers(0, 99),
)
def test_products_of_groups_have_products_of_irreps(names, seed):
    group = product(cyclic(1), *map(parse, names))
    check_irreps(group)
    check_kinds(group)
    bare = relabelled(group, seed)
    check_irreps(bare)
    kinds = [sorted((rho.dim, rho.kind) for rho in g.irreps()) for g in (group, bare)]
    assert kinds[0] == kinds[1]
