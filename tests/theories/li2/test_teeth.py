"""Checks are run with a wrong formula behind the measurement and must say so."""

import numpy as np
import pytest

from firstlight import features
from firstlight.claims import Check, Setting, verdict
from firstlight.claims.li2.checks import lazy, maxima, memorisation, reconstruction
from firstlight.theories import li2


def verdict_of(check: Check) -> str:
    return verdict(check.judge(check.measure(Setting()).data))


def test_a_wrong_closed_form_of_the_gradient_fails(monkeypatch):
    right = features.ridge_gradient
    monkeypatch.setattr(features, "ridge_gradient", lambda *a, **k: 1.001 * right(*a, **k))
    assert verdict_of(lazy.ridge_gradient_forms) == "fails"


def test_a_wrong_constant_of_lemma_1_fails(monkeypatch):
    right = li2.lemmas.c1_equicorrelated
    monkeypatch.setattr(li2.lemmas, "c1_equicorrelated", lambda *a: 1.2 * right(*a))
    assert verdict_of(lazy.wide_layer) == "fails"


def test_ascents_that_stop_early_decide_nothing(monkeypatch):
    right = features.ascend
    monkeypatch.setattr(features, "ascend", lambda *a, **k: right(*a, **{**k, "steps": 3}))
    assert verdict_of(maxima.local_maxima) == "inconclusive"
    assert verdict_of(maxima.linear_part) == "inconclusive"


def test_nodes_that_are_no_maxima_fail(monkeypatch):
    def mirrored(family, count, seed):
        u = family.component.basis @ np.random.default_rng(seed).standard_normal(
            (family.component.basis.shape[1], count)
        )
        return np.concatenate([u, u[family.group.inverse]])

    monkeypatch.setattr(features.Maximum, "random_nodes", mirrored)
    assert verdict_of(maxima.flat_directions) == "fails"


@pytest.mark.parametrize("change", [-1, 1])
def test_a_wrong_count_of_nodes_fails(monkeypatch, change):
    from firstlight.theories.li2 import _reconstruction as counts

    right = counts._PAIRS["real"]
    monkeypatch.setitem(counts._PAIRS, "real", lambda d: right(d) + change)
    assert verdict_of(reconstruction.target_reconstruction) == "fails"


def test_a_memory_that_misses_the_optimum_fails(monkeypatch):
    right = li2.lemmas.memorise

    def off(p, name):
        memory = right(p, name)
        return li2.lemmas.Memory(memory.shape, 0.99 * memory.s, memory.lam, memory.value)

    monkeypatch.setattr(li2.lemmas, "memorise", off)
    for check in (memorisation.kkt_conditions, memorisation.focused_or_spreading, memorisation.memorisation):
        assert verdict_of(check) == "fails"
