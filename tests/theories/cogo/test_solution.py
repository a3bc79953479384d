"""The semi-ring laws and the homomorphisms over random solutions and random index sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.groups import from_table, parse, symmetric
from firstlight.theories.cogo import Solution, balanced, craft, table_loss
from firstlight.theories.cogo.lemmas import convolved, cubic, potential, quadratic, residuals

NAMES = ("Z2", "Z5", "Z6", "Z2xZ4", "Z3xZ3")


def random_solution(name, order, seed):
    rng, group = np.random.default_rng(seed), parse(name)
    d = group.order
    return Solution.from_weights(rng.standard_normal((2 * d, order)), rng.standard_normal((order, d)), group)


def triple(case):
    name, seed, orders = case
    return [random_solution(name, order, (seed, i)) for i, order in enumerate(orders)]


cases = st.tuples(st.sampled_from(NAMES), st.integers(0, 2**20), st.tuples(*[st.integers(0, 3)] * 3))


@given(cases)
def test_semi_ring_laws(case):
    x, y, w = triple(case)
    identity, zero = Solution.one(x.group), Solution.zero(x.group)
    assert x + y == y + x
    assert (x + y) + w == x + (y + w)
    assert x + zero == x
    assert x * y == y * x
    assert (x * y) * w == x * (y * w)
    assert x * identity == x
    assert x * zero == zero
    assert x * (y + w) == x * y + x * w
    assert (x + y).order == x.order + y.order
    assert (x * y).order == x.order * y.order


@given(cases, st.data())
def test_potentials_are_homomorphisms(case, data):
    x, y, _ = triple(case)
    entry = st.tuples(st.sampled_from("abc"), st.integers(0, x.group.order - 1))
    index = data.draw(st.lists(entry, min_size=1, max_size=6))
    r_x, r_y = potential(x, index), potential(y, index)
    assert potential(Solution.one(x.group), index) == 1
    np.testing.assert_allclose(potential(x + y, index), r_x + r_y, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(potential(x * y, index), r_x * r_y, rtol=1e-11, atol=1e-12)


@given(cases)
def test_equality_is_up_to_permutation_and_sees_differences(case):
    first = triple(case)[0]
    x = first + Solution.one(first.group)
    shuffled = x.select(np.random.default_rng(0).permutation(x.order))
    assert shuffled == x
    changed = Solution(x.group, x.z * np.array([1, 1, 1.001])[:, None, None])
    assert changed != x
    assert x != "a solution"


@pytest.mark.parametrize("name", NAMES)
def test_weights_round_trip_and_families_agree_with_single_potentials(name):
    x = random_solution(name, 3, 0)
    f = x.frequencies
    again = Solution.from_weights(*x.weights, x.group)
    assert again == x
    a, m, k = f.d - 1, f.d // 2, 1 % f.d
    assert np.isclose(cubic(x)[a, m, k], potential(x, [("a", a), ("b", m), ("c", k)]))
    assert np.isclose(quadratic(x)[1, m, a, k], potential(x, [("b", a), ("b", int(f.minus[m, a])), ("c", k)]))
    np.testing.assert_allclose(convolved(x), quadratic(x).sum(axis=2), atol=1e-12)


def test_characters_are_those_of_the_convention():
    x = random_solution("Z5", 1, 0)
    W, V = x.weights
    np.testing.assert_allclose(x.z[0], np.fft.fft(W[:5], axis=0) / 5, atol=1e-14)
    np.testing.assert_allclose(x.z[2], np.conj(np.fft.fft(V.T, axis=0)) / 5, atol=1e-14)


def test_a_group_given_by_its_table_only():
    p = np.random.default_rng(1).permutation(12)
    product = parse("Z2xZ6").table
    table = np.empty_like(product)
    table[p[:, None], p] = p[product]
    group = from_table(table)
    for kind in ("F6", "F4+repair", "F4+F6", "memorise"):
        assert table_loss(*craft(group, kind, seed=0).weights, group) < 1e-26


@pytest.mark.parametrize("name", ["Z5", "Z6"])
def test_residuals_against_the_whole_tensors(name):
    x = random_solution(name, 2, 1)
    d, f = x.group.order, x.frequencies
    r, q = np.abs(cubic(x)), np.abs(quadratic(x))
    places = np.arange(1, d)
    main = np.abs(cubic(x)[places, places, places] - 1 / (2 * d)).max()
    r[places, places, places] = 0
    measured = residuals(x)
    np.testing.assert_allclose(
        [measured.R_plus, measured.R_c, measured.R_n, measured.R_conv],
        [main, r[:, :, 1:].max(), q[:, 0, :, 1:].max(), q[:, 1:, :, 1:].max()],
        rtol=1e-12,
    )
    assert f.d == d


def test_balancing_keeps_the_network_and_minimises_the_norm():
    x = random_solution("Z5", 4, 2)
    y = balanced(x)
    assert np.isclose(table_loss(*x.weights, x.group), table_loss(*y.weights, y.group), rtol=1e-12)
    for s in (0.99, 1.01):
        scaled = Solution(y.group, y.z * np.array([s, s, s**-2])[:, None, None])
        assert scaled.norm2 > y.norm2


def test_nodes_are_selected_by_number_or_by_mask():
    x = random_solution("Z5", 3, 0)
    assert x.select([2, 0]) == x.select([True, False, True]) == x.select(np.array([True, False, True]))
    assert x.select([]).order == 0
    with pytest.raises(ValueError, match=r"an entry for each of the 3 hidden units; got \(2,\)"):
        x.select([True, False])
    with pytest.raises(ValueError, match="this solution has hidden units 0 to 2; got 1 to 3"):
        x.select([1, 3])
    with pytest.raises(ValueError, match="by a list of numbers or by a mask; got float64"):
        x.select(np.array([0.5]))


def test_html_says_which_constraints_hold():
    text = craft(parse("Z7"), "F4")._repr_html_()
    assert text.count("<td>holds</td>") == 3
    assert text.count("<td>does not hold</td>") == 1
    assert "order 12 over Z7" in text


def test_errors_name_what_is_needed():
    group = parse("Z5")
    W, V = np.ones((10, 3)), np.ones((3, 5))
    with pytest.raises(ValueError, match=r"needs W \(10, q\) and V \(q, 5\) with one q; got \(3, 10\)"):
        Solution.from_weights(W.T, V, group)
    with pytest.raises(ValueError, match="weights must be finite; V has 1 entries that are not"):
        Solution.from_weights(W, np.where(np.arange(15).reshape(3, 5) == 2, np.nan, V), group)
    with pytest.raises(ValueError, match="frequencies need an Abelian group; S3 is not one"):
        Solution.from_weights(np.ones((12, 3)), np.ones((3, 6)), symmetric(3))
    with pytest.raises(ValueError, match=r"z must be Hermitian.*it is off by 2"):
        Solution(group, 1j * np.ones((3, 5, 1)))
    with pytest.raises(ValueError, match="z must be finite; 15 of its 15 entries"):
        Solution(group, np.full((3, 5, 1), np.nan + 0j))
    with pytest.raises(ValueError, match=r"z must be \(3, 5, order\)"):
        Solution(group, np.ones((3, 4, 1), complex))
    with pytest.raises(ValueError, match="both solutions need the same group; got Z5 and Z6"):
        Solution.one(group) + Solution.one(parse("Z6"))
    with pytest.raises(TypeError, match="unsupported operand"):
        Solution.one(group) + 3  # type: ignore[operator]
    with pytest.raises(TypeError, match="unsupported operand"):
        2 * Solution.one(group)  # type: ignore[operator]
    with pytest.raises(ValueError, match="weights must be real; W is complex128"):
        Solution.from_weights(W + 0j, V, group)
    with pytest.raises(ValueError, match="p one of a, b, c; got p = d"):
        potential(Solution.one(group), [("d", 1)])
    with pytest.raises(ValueError, match="a frequency lies between -4 and 4; got 7"):
        potential(Solution.one(group), [("a", 7)])
    with pytest.raises(ValueError, match=r"has 1 coordinates; got \(1, 2\)"):
        potential(Solution.one(group), [("a", (1, 2))])
