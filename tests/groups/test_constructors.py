"""The named groups are what their names say, by their defining relations and known invariants."""

import pickle
from collections import Counter
from itertools import pairwise, permutations
from math import lcm

import numpy as np
import pytest

from firstlight.groups import (
    Group,
    alternating,
    cyclic,
    dicyclic,
    dihedral,
    frobenius,
    from_permutations,
    from_table,
    order_of,
    parse,
    product,
    quaternion,
    sl2,
    symmetric,
)


def power(group: Group, g: int, n: int) -> int:
    return int(group.multiply(*[g] * n))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8])
def test_dihedral_and_dicyclic_relations(n):
    group, r, s = dihedral(n), 1 % n, n
    assert group.order == 2 * n
    assert power(group, r, n) == power(group, s, 2) == group.identity
    assert group.multiply(s, r, group.inverse[s]) == group.inverse[r]
    group, a, x = dicyclic(n), 1, 2 * n
    assert group.order == 4 * n
    assert power(group, x, 2) == power(group, a, n) != group.identity
    assert group.multiply(x, a, group.inverse[x]) == group.inverse[a]


@pytest.mark.parametrize(("p", "q"), [(3, 2), (7, 3), (7, 6), (5, 4), (13, 3)])
def test_frobenius_complements_meet_trivially(p, q):
    """Conjugates of the complement ⟨x⟩ meet in the identity only, and cover all but Z_p."""
    group = frobenius(p, q)
    complement = np.arange(q) * p
    conjugates = [{int(group.multiply(g, h, group.inverse[g])) for h in complement if h} for g in range(p)]
    assert len(set().union(*conjugates)) == p * (q - 1) == sum(map(len, conjugates))


def test_quaternion_units_multiply_as_hamilton_wrote():
    group = quaternion()
    at = {label: g for g, label in enumerate(group.labels or ())}
    assert power(group, at["i"], 2) == power(group, at["j"], 2) == power(group, at["k"], 2) == at["-1"]
    assert group.multiply(at["i"], at["j"], at["k"]) == at["-1"]
    assert group.multiply(at["i"], at["j"]) == at["k"]


def test_permutations_compose_from_the_right():
    group, elements = symmetric(4), list(permutations(range(4)))
    for g, p in enumerate(elements):
        for h, q in enumerate(elements):
            assert elements[group.table[g, h]] == tuple(p[q[i]] for i in range(4))


def test_alternating_is_the_even_half_of_symmetric():
    even = [p for p in permutations(range(5)) if np.linalg.det(np.eye(5)[list(p)]) > 0]
    group = alternating(5)
    assert group.order == 60
    assert group == from_permutations(even)
    assert len(group.classes[0]) == 1
    assert sorted(len(c) for c in group.classes) == [1, 12, 12, 15, 20]


@pytest.mark.parametrize("p", [2, 3, 5])
def test_sl2_multiplies_like_matrices(p):
    group = sl2(p)
    matrices = [np.array([row.split() for row in label[1:-1].split(";")], dtype=int) for label in group.labels or ()]
    assert group.order == p * (p * p - 1) == len({m.tobytes() for m in matrices})
    assert all((m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]) % p == 1 for m in matrices)
    rng = np.random.default_rng(0)
    for g, h in rng.integers(0, group.order, (50, 2)):
        np.testing.assert_array_equal(matrices[group.table[g, h]], matrices[g] @ matrices[h] % p)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("S3", "D3"),
        ("S3", "SL2(2)"),
        ("F6", "D3"),
        ("Z6", "Z2xZ3"),
        ("D6", "D3xZ2"),
        ("Q8", "Dic2"),
        ("Dic1", "Z4"),
    ],
)
def test_small_isomorphisms_by_element_orders_and_class_sizes(left, right):
    a, b = parse(left), parse(right)
    invariants = [Counter((int(g.element_orders[c[0]]), len(c)) for c in g.classes) for g in (a, b)]
    assert invariants[0] == invariants[1]


@pytest.mark.parametrize(
    "name",
    ["Z1", "Z5xZ6", "Z2xZ2xZ9", "S4", "A5", "D7", "Q8", "Dic3", "F21", "F20", "SL2(3)", "Q8xS3", "D1", "D2"],
)
def test_repr_round_trips_through_parse(name):
    group = parse(name)
    assert group.name == name
    assert eval(repr(group), {"parse": parse}) == group


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("C5×Z6", "Z5xZ6"),
        ("z2^3", "Z2xZ2xZ2"),
        (" S_4 x D_5", "S4xD5"),
        ("SL(2,3)", "SL2(3)"),
        ("Q16", "Dic4"),
    ],
)
def test_other_spellings(written, canonical):
    assert parse(written).name == canonical


def test_invariants_by_brute_force():
    for group in (symmetric(4), dicyclic(3), product(cyclic(4), cyclic(6)), sl2(3)):
        m = group.order
        assert group.multiply(np.arange(m), group.inverse).tolist() == [group.identity] * m
        orders = [next(n for n in range(1, m + 1) if power(group, g, n) == group.identity) for g in range(m)]
        assert group.element_orders.tolist() == orders
        assert group.exponent == lcm(*orders)
        assert group.is_abelian == all(group.table[g, h] == group.table[h, g] for g in range(m) for h in range(m))
        for c in group.classes:
            g = int(c[0])
            assert set(c.tolist()) == {int(group.multiply(h, g, group.inverse[h])) for h in range(m)}
            assert len(set(group.class_of[c].tolist())) == 1


def test_groups_are_values():
    group = parse("D5")
    twin = from_table(group.table.tolist(), name="twin")
    assert group == twin
    assert hash(group) == hash(twin)
    assert group != parse("Z10")
    assert len({group, twin, parse("Z10")}) == 2
    assert group.irreps() is group.irreps()
    assert parse("D5") is group
    with pytest.raises(ValueError, match="read-only"):
        group.table[0, 0] = 1
    with pytest.raises(AttributeError):
        group.name = "other"  # type: ignore[misc]
    copy = pickle.loads(pickle.dumps(group))
    assert copy == group
    assert [r.label for r in copy.irreps()] == [r.label for r in group.irreps()]
    assert "<td>10</td>" in group._repr_html_()
    assert len(group) == 10


@pytest.mark.parametrize("moduli", [(1,), (5,), (2, 2), (2, 3, 4), (4, 6), (9, 3, 3), (8, 4, 2), (30,)])
def test_abelian_tables_are_decomposed(moduli):
    """From a relabelled table: the invariant factors divide each other, and the map is an isomorphism."""
    base = product(*map(cyclic, moduli))
    relabel = np.random.default_rng(0).permutation(base.order)
    table = np.empty_like(base.table)
    table[np.ix_(relabel, relabel)] = relabel[base.table]
    group = from_table(table)
    invariant_factors = group.abelian_moduli
    assert all(a % b == 0 for a, b in pairwise(invariant_factors))
    grid = product(*map(cyclic, invariant_factors))
    elements = group.abelian_elements
    np.testing.assert_array_equal(table[np.ix_(elements, elements)], elements[grid.table])


@pytest.mark.parametrize(("p", "q"), [(7, 4), (7, 1), (7, 0), (2, 1)])
def test_frobenius_groups_need_a_divisor_above_one(p, q):
    with pytest.raises(ValueError, match=rf"needs q ≥ 2 dividing p − 1 = {p - 1}, got q = {q}; choose from \["):
        frobenius(p, q)


def test_the_group_of_one_element_is_cyclic():
    group = from_table(np.zeros((1, 1), int))
    assert group.abelian_moduli == (1,)
    assert group.abelian_elements.tolist() == [0]


@pytest.mark.parametrize(
    "name", ["Z12", "S4", "A5", "A1", "D7", "Dic3", "Q16", "F21", "SL2(3)", "Z2^3", "Z5xZ6", "S3 x Z2^2"]
)
def test_the_order_is_known_without_the_table(name):
    assert order_of(name) == parse(name).order


@pytest.mark.parametrize(
    "name", ["Z0", "Z5041", "S8", "F15", "Q10", "SL2(4)", "Dik3", "Z2^13", "Z1^99", "Z2x" * 999 + "Z2"]
)
def test_a_group_without_a_table_has_no_order_either(name):
    with pytest.raises(ValueError) as parsed:
        parse(name)
    with pytest.raises(ValueError) as ordered:
        order_of(name)
    assert str(parsed.value) == str(ordered.value)
    assert len(str(parsed.value)) < 400
