"""Checks of stages I and II are given something false and must say so."""

import numpy as np
import pytest

from firstlight import features
from firstlight.claims import Setting
from firstlight.claims.li2.checks import boundary, lazy, maxima, memorisation
from firstlight.theories import li2


def test_a_wrong_closed_form_of_the_gradient_fails(monkeypatch):
    right = features.ridge_gradient
    monkeypatch.setattr(features, "ridge_gradient", lambda *a, **k: 1.001 * right(*a, **k))
    assert lazy.ridge_gradient_forms(Setting()).status == "fails"


def test_a_wrong_constant_of_lemma_1_fails(monkeypatch):
    right = li2.lemmas.c1_equicorrelated
    monkeypatch.setattr(li2.lemmas, "c1_equicorrelated", lambda *a: 1.2 * right(*a))
    assert lazy.wide_layer(Setting()).status == "fails"


def test_printed_energies_fail(monkeypatch):
    monkeypatch.setattr(features.Maximum, "energy", property(lambda m: m.group.order / (8 * m.component.dim)))
    assert maxima.local_maxima(Setting()).status == "fails"


def test_a_wrong_count_of_flat_directions_fails(monkeypatch):
    monkeypatch.setattr(features.Maximum, "flat", property(lambda m: max(1, 3 * (m.component.dim - 1))))
    assert maxima.flat_directions(Setting()).status == "fails"


@pytest.mark.parametrize("change", [-1, 1])
def test_a_wrong_count_of_nodes_fails(monkeypatch, change):
    from firstlight.theories.li2 import _reconstruction as reconstruction

    right = reconstruction._PAIRS["real"]
    monkeypatch.setitem(reconstruction._PAIRS, "real", lambda d: right(d) + change)
    assert maxima.target_reconstruction(Setting()).status == "fails"


def test_a_memory_that_misses_the_optimum_fails(monkeypatch):
    right = li2.lemmas.memorise

    def off(p, name):
        memory = right(p, name)
        return li2.lemmas.Memory(memory.shape, 0.99 * memory.s, memory.lam, memory.value)

    monkeypatch.setattr(li2.lemmas, "memorise", off)
    for check in (memorisation.kkt_conditions, memorisation.focused_or_spreading, memorisation.memorisation):
        assert check(Setting()).status == "fails"


@pytest.mark.parametrize(
    ("plain", "ratio", "status"), [(0.6, 1.0, "holds-as-corrected"), (0.0, 1.0, "fails"), (0.6, 4.0, "fails")]
)
def test_both_halves_of_the_boundary_count(monkeypatch, plain, ratio, status):
    def locate(group, seeds, residualised, *_):
        M = group.order
        return np.full(len(seeds), 2 * np.log(M) / M * (1.0 if residualised else (M / 11) ** plain))

    monkeypatch.setattr(li2.lemmas, "locate_boundary", locate)
    monkeypatch.setattr(boundary, "_by_dimension", lambda *_: {1: 2.0, 2: 2.0 * ratio})
    assert boundary.survival_boundary(Setting()).status == status
