"""Survival of maxima: certain with all the data, gone with little, later for the plain energy than residualised."""

import numpy as np
import pandas as pd
import pytest

from firstlight import groups
from firstlight.theories import li2
from firstlight.theories.li2 import _boundary as boundary
from firstlight.theories.li2 import _predict as prediction


@pytest.mark.parametrize("residualised", [False, True])
def test_all_maxima_survive_on_the_whole_table_and_few_on_a_tenth(residualised):
    for name in ("Z11", "D5"):
        table = li2.energy_boundary(groups.parse(name), [0.12, 1.0], [0, 1], residualised, nodes=6)
        rates = table.groupby("fraction")["survives"].mean()
        assert rates[1.0] == 1
        assert rates[0.12] < 0.3
        assert set(table["dim"]) == {c.dim for c in groups.parse(name).real_components()[1:]}


def test_the_plain_energy_needs_more_data():
    """The table of the residualised energy is recomputed by the doctest of `measured_constant`."""
    fractions = li2.lemmas.locate_boundary(groups.cyclic(17), (0, 1), nodes=6)
    assert fractions.mean() * 17 / np.log(17) > 1.2 * prediction.MEASURED_CONSTANTS[17]


@pytest.mark.parametrize("name", ["A4", "S3", "Q8"])
def test_a_component_that_holds_most_weights_does_not_survive_by_chance(name):
    """Half of the weights are less than chance for A4's 3a; ascents on few pairs must lose it."""
    group = groups.parse(name)
    table = li2.energy_boundary(group, [0.2, 1.0], range(3), residualised=True, nodes=6)
    largest = table[table["dim"] == table["dim"].max()]
    rates = largest.groupby("fraction")["survives"].mean()
    assert rates[0.2] < 0.35
    assert rates[1.0] == 1


def test_where_all_samples_have_one_label_nothing_survives():
    group = groups.cyclic(5)
    one_label = np.flatnonzero(group.table.ravel() == 2)
    for rows in (np.array([7]), one_label):
        table = li2.lemmas.survival(group, rows, nodes=4)
        assert not table["survives"].any()
        assert table["energy"].max() < 1e-20
    for name in ("Z2", "Z3", "S3"):
        assert li2.lemmas.locate_boundary(groups.parse(name), [0], residualised=True, nodes=4)[0] > 0.2


@pytest.mark.parametrize("fraction", [1.5, -1.0, 0.0])
def test_fractions_are_checked(fraction):
    with pytest.raises(ValueError, match=r"fraction must lie in \(0, 1\]"):
        li2.energy_boundary(groups.cyclic(5), [fraction], [0])


def test_samples_are_counted_as_a_split_counts_them():
    """0.29 · 100 is 28.999999999999996 in binary, and a split of 100 rows has 29."""
    assert li2.energy_boundary(groups.parse("Z10"), [0.29], [0], nodes=1)["n"].tolist() == [29]


def test_half_points_and_fits():
    p = np.array([0.1, 0.2, 0.3, 0.4])
    assert np.isclose(li2.lemmas.half_point(p, np.array([0.0, 0.6, 0.4, 1.0])), 0.2)
    assert np.isnan(li2.lemmas.half_point(p, np.array([0.0, 0.1, 0.1, 0.2])))
    assert np.isnan(li2.lemmas.half_point(p, np.array([0.9, 1.0, 1.0, 1.0])))
    M = np.array([11.0, 31.0, 101.0])
    fit = li2.lemmas.fit_boundary(M, 2 * M**-0.34)
    assert np.isclose(fit.power, 1.66)
    assert fit.power_error < 1e-12
    with pytest.raises(ValueError, match="at least 3 group orders, got 2"):
        li2.lemmas.fit_boundary(M[:2], M[:2])


def test_boundaries_by_dimension_use_their_own_rows():
    table = pd.DataFrame(
        {"fraction": [0.1, 0.2, 0.1, 0.2], "dim": [1, 1, 2, 2], "survives": [False, True, False, False]}
    )
    assert np.isclose(li2.critical_fraction(table, 1), 0.15)
    assert np.isnan(li2.critical_fraction(table, 2))


def test_a_rate_of_exactly_one_half_is_at_the_boundary():
    p = np.array([0.1, 0.2, 0.3, 0.4])
    assert li2.lemmas.half_point(p, np.array([0.5, 0.5, 0.75, 1.0])) == 0.1
    assert li2.lemmas.half_point(p, np.array([0.0, 0.25, 0.5, 1.0])) == 0.3
    assert li2.lemmas.half_point(p[::-1], np.array([1.0, 0.5, 0.0, 0.0])) == 0.3


@pytest.mark.parametrize("alive", [2, 4])
def test_bisection_counts_one_half_as_surviving(monkeypatch, alive):
    """Where 2 or 4 of 4 maxima survive from p = 0.3 on, the boundary is 0.3, to the width of the last bracket."""

    def survives_from(group, fractions, seeds, residualised, nodes):
        return pd.DataFrame({"survives": np.arange(nodes) < (alive if fractions[0] >= 0.3 else 0)})

    monkeypatch.setattr(boundary, "energy_boundary", survives_from)
    p50 = li2.lemmas.locate_boundary(groups.cyclic(5), [0, 1], nodes=4, evaluations=20)
    np.testing.assert_allclose(p50, 0.3, rtol=2.0**-17)
