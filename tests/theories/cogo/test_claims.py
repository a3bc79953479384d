"""CoGO's checks are given something false and must fail; its largest figure is a sweep."""

from types import SimpleNamespace

import pytest

from firstlight.claims import Setting
from firstlight.claims.cogo.checks import connecting, crafting, dynamics, orders, potentials_in_training, ring
from firstlight.claims.cross.checks import cogo_nodes


def test_paper_scale_of_figure_5_is_a_sweep_of_ninety_runs():
    specs = orders.sweep(Setting("paper")).expand()
    assert len(specs) == 3 * 6 * 5
    assert {spec.steps for spec in specs} == {10_000}


def test_runs_without_any_node_fail_figure_5(monkeypatch):
    spec = orders.sweep(Setting()).expand()[0]
    for numbers in ([0] * 5, []):
        record = SimpleNamespace(spec=spec, summary={"cogo": {"orders": numbers}})
        monkeypatch.setattr(orders, "_run", lambda setting, record=record: [record])
        assert orders.orders_by_decay(Setting()).status == "fails"
    monkeypatch.setattr(orders, "_run", lambda setting: [])
    assert orders.orders_by_decay(Setting()).status == "fails"


def test_no_seed_of_least_norm_fails_lemma_2(monkeypatch):
    monkeypatch.setattr(crafting, "_least_norm", lambda seed: (100.0, 0.0, 0.0))
    assert crafting.orders_below_four(Setting(seeds=(0,))).status == "fails"


@pytest.mark.parametrize("spoiled", [(7, 6, 6, 4, 4), (3, 6, 6, 4, 4)])
def test_seven_or_three_nodes_are_not_four_to_six(monkeypatch, spoiled):
    monkeypatch.setattr(cogo_nodes, "train", lambda *a, **o: SimpleNamespace(models=[None]))
    monkeypatch.setattr(cogo_nodes, "read", lambda model, d: SimpleNamespace(orders=(4, 6, 6, 4, 4)))
    assert cogo_nodes.nodes_side_by_side(Setting()).status == "holds"
    monkeypatch.setattr(cogo_nodes, "_residual", lambda *a: 1.0)
    assert cogo_nodes.nodes_side_by_side(Setting()).status == "fails"
    monkeypatch.undo()
    monkeypatch.setattr(cogo_nodes, "train", lambda *a, **o: SimpleNamespace(models=[None]))
    monkeypatch.setattr(cogo_nodes, "read", lambda model, d: SimpleNamespace(orders=spoiled))
    assert cogo_nodes.nodes_side_by_side(Setting()).status == "fails"


def test_wrong_factors_fail(monkeypatch):
    from firstlight.theories.cogo import _factors as factors

    right = factors.order_three_profile
    monkeypatch.setattr(factors, "order_three_profile", lambda d: 1.001 * right(d))
    assert crafting.crafted_six(Setting()).status == "fails"


def test_a_path_that_leaves_the_optimizers_fails(monkeypatch):
    from firstlight.theories import cogo
    from firstlight.theories.cogo import _path as path

    right = path._shrunk
    monkeypatch.setattr(path, "_shrunk", lambda y, pivot, s: right(y, pivot, 0.9 * s) * (1 + 0.01 * s))
    assert connecting.zero_loss_paths(Setting(seeds=(0,))).status == "fails"
    assert cogo.ZeroLossPath is path.ZeroLossPath


def test_a_wrong_product_fails(monkeypatch):
    from firstlight.theories.cogo import Solution

    monkeypatch.setattr(Solution, "__mul__", lambda self, other: self + other)
    assert ring.semi_ring_laws(Setting(seeds=(0,))).status == "fails"
    assert ring.homomorphisms(Setting(seeds=(0,))).status == "fails"


def test_a_wrong_jacobian_fails(monkeypatch):
    right = dynamics.potential_velocity
    monkeypatch.setattr(dynamics, "potential_velocity", lambda s: [1.001 * part for part in right(s)])
    assert dynamics.potential_dynamics(Setting(seeds=(0,))).status == "fails"


def test_untrained_networks_fail_figure_4(monkeypatch):
    right = potentials_in_training.train
    monkeypatch.setattr(potentials_in_training, "train", lambda *a, **o: right(*a, **(o | {"steps": 20, "every": 10})))
    assert potentials_in_training.potentials_along_training(Setting(seeds=(0,))).status == "fails"
