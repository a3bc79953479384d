"""A check that cannot fail shows nothing: each is given something false and must say so."""

import numpy as np
import pandas as pd
import pytest

from firstlight import groups, models
from firstlight.claims import Setting
from firstlight.claims.cogo.checks import characters, loss
from firstlight.claims.fact.checks import separation
from firstlight.claims.li2.checks import energy, grokking
from firstlight.claims.manifold.checks import stability
from firstlight.claims.manifold.checks._networks import tanh_network
from firstlight.theories import fact, manifold


def test_characters_of_a_wrong_group_fail(monkeypatch):
    def twisted(group, seed):
        return groups.dihedral(group.order // 2) if group.order % 2 == 0 else group

    monkeypatch.setattr(characters, "_scrambled", twisted)
    monkeypatch.setattr(characters, "_QUICK", ("Z8",))
    assert characters.character_laws(Setting()).status == "fails"


@pytest.mark.parametrize("factor", [1.001, 0.5])
def test_a_wrong_term_of_the_loss_fails(monkeypatch, factor):
    right = loss._from_potentials
    monkeypatch.setattr(loss, "_from_potentials", lambda *a: factor * right(*a))
    assert loss.loss_from_potentials(Setting()).status == "fails"


def test_a_wrong_derivative_fails(monkeypatch):
    half = models.Activation("half", lambda x: x**4, lambda x: 2 * x**3)
    monkeypatch.setattr(models, "activation", lambda name: half)
    monkeypatch.setattr(energy, "activation", lambda name: half)
    assert energy.gradient_of_energy(Setting()).status == "fails"


def test_an_ascent_that_stops_early_fails(monkeypatch):
    right = energy._ascend
    monkeypatch.setattr(energy, "_ascend", lambda *a: (0.99 * right(*a)[0], *right(*a)[1:]))
    assert energy.maxima_for_modular_addition(Setting()).status == "fails"


def test_the_printed_cost_of_the_cheapest_network_fails(monkeypatch):
    right = fact.lemmas.minimum_norm_cost
    monkeypatch.setattr(fact.lemmas, "minimum_norm_cost", lambda Q: 2 / (3 * 2 ** (-2 / 3)) * right(Q))
    assert separation.cheapest_network(Setting(seeds=(0,))).status == "fails"


def test_a_tangent_that_leaves_the_zero_loss_set_at_first_order_fails(monkeypatch):
    right = manifold.distance
    # A part 1e-3 of the step across the set adds a distance of first order.
    monkeypatch.setattr(
        manifold,
        "distance",
        lambda zero_set, theta: (
            right(zero_set, theta) + 1e-3 * np.linalg.norm(theta - manifold.project(zero_set, tanh_network(0)[1]).theta)
        ),
    )
    assert stability.tangent_space(Setting(seeds=(0,))).status == "fails"


def history(*, groks: bool, G_F: float, V_first: bool = True) -> list[pd.DataFrame]:
    steps = [0, 4, 100, 200]
    updates = {"step_V": [0.0, 4.0, 1.0, 1.0], "step_W": [0.0, 1.0, 2.0, 2.0]}
    if not V_first:
        updates = {"step_V": updates["step_W"], "step_W": updates["step_V"]}
    columns = {
        "step": steps,
        "train_accuracy": [0.0, 0.5, 1.0, 1.0],
        "test_accuracy": [0.0, 0.0, 0.2, 1.0 if groks else 0.2],
        "G_F": [1.0, 1.0, G_F, G_F],
        "off_nodes": [0.02] * 4,
        "off_samples": [0.04] * 4,
        **updates,
    }
    return [pd.DataFrame(columns)] * 2


@pytest.mark.parametrize(
    ("changes", "without", "status"),
    [
        ({"groks": True, "G_F": 3.0}, {"groks": False, "G_F": 2.0}, "holds"),
        ({"groks": False, "G_F": 3.0}, {"groks": False, "G_F": 2.0}, "fails"),
        ({"groks": True, "G_F": 3.0}, {"groks": True, "G_F": 2.0}, "fails"),
        ({"groks": True, "G_F": 1.0}, {"groks": False, "G_F": 2.0}, "fails"),
        ({"groks": True, "G_F": 3.0, "V_first": False}, {"groks": False, "G_F": 2.0}, "fails"),
    ],
)
def test_each_part_of_the_caption_counts(monkeypatch, changes, without, status):
    histories = (history(**changes), history(**without))
    monkeypatch.setattr(grokking, "_train", lambda s, seeds, decays: dict(zip(decays, histories, strict=True)))
    assert grokking.grokking(Setting()).status == status
