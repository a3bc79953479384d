"""What CoGO's checks measure changes when the code under them is wrong; its largest figure is a sweep."""

import pytest

from firstlight import groups
from firstlight.claims import Check, Setting, verdict
from firstlight.claims.cogo.checks import (
    characters,
    connecting,
    crafting,
    dynamics,
    loss,
    order_three,
    orders,
    potentials_in_training,
    ring,
)


def judged(check: Check, seeds: tuple[int, ...] = (0,)) -> str:
    return verdict(check.judge(check.measure(Setting(seeds=seeds)).data))


def test_paper_scale_of_figure_5_is_a_sweep_of_ninety_runs():
    specs = orders.sweep(Setting("paper"), ("Z23", "Z71", "Z127"), orders.DECAYS, range(5)).expand()
    assert len(specs) == 3 * 6 * 5
    assert {spec.steps for spec in specs} == {10_000}
    assert {spec.optimizer.schedule.shape for spec in specs} == {"constant"}


def test_figure_5_adds_decays_until_every_network_collapses(monkeypatch):
    asked = []

    def trained(setting, names, decays, seeds):
        asked.append((tuple(names), tuple(decays)))
        return orders.sweep(setting, names, decays, seeds).expand()

    def read(specs):
        return [[0 if spec.optimizer.weight_decay > 4e-2 else 4] * 5 for spec in specs]

    monkeypatch.setattr(orders, "trained", trained)
    monkeypatch.setattr(orders, "orders_of", read)
    monkeypatch.setattr(orders, "_group", lambda spec: spec.task.group)
    monkeypatch.setattr(orders, "_decay", lambda spec: spec.optimizer.weight_decay)
    monkeypatch.setattr(orders, "HEAVIER", (4e-2, 5e-2, 6e-2))
    rows = orders.orders_by_decay.measure(Setting(seeds=(0, 1))).data["orders"]["Z11"]
    assert list(rows)[-3:] == ["0.03", "0.04", "0.05"]
    assert asked[1:] == [(("Z11",), (4e-2,)), (("Z11",), (5e-2,))]


def test_characters_of_a_wrong_group_fail(monkeypatch):
    def twisted(group, seed):
        return groups.dihedral(group.order // 2) if group.order % 2 == 0 else group

    monkeypatch.setattr(characters, "_scrambled", twisted)
    monkeypatch.setattr(characters, "_QUICK", ("Z8",))
    assert judged(characters.character_laws) == "fails"


@pytest.mark.parametrize("factor", [1.001, 0.5])
def test_a_wrong_term_of_the_loss_fails(monkeypatch, factor):
    right = loss._from_potentials
    monkeypatch.setattr(loss, "_from_potentials", lambda *a: factor * right(*a))
    assert judged(loss.loss_from_potentials) == "fails"


def test_no_seed_of_least_norm_is_inconclusive_for_lemma_2(monkeypatch):
    right = order_three._least_norm
    monkeypatch.setattr(order_three, "_least_norm", lambda seed: right(seed) * 3)
    assert judged(order_three.orders_below_four) == "inconclusive"


def test_wrong_factors_fail(monkeypatch):
    from firstlight.theories.cogo import _factors as factors

    right = factors.order_three_profile
    monkeypatch.setattr(factors, "order_three_profile", lambda d: 1.001 * right(d))
    assert judged(crafting.crafted_six) == "fails"


def test_a_path_that_leaves_the_optimizers_fails(monkeypatch):
    from firstlight.theories import cogo
    from firstlight.theories.cogo import _path as path

    right = path._shrunk
    monkeypatch.setattr(path, "_shrunk", lambda y, pivot, s: right(y, pivot, 0.9 * s) * (1 + 0.01 * s))
    assert judged(connecting.zero_loss_paths) == "fails"
    assert cogo.ZeroLossPath is path.ZeroLossPath


def test_a_wrong_product_fails(monkeypatch):
    from firstlight.theories.cogo import Solution

    monkeypatch.setattr(Solution, "__mul__", lambda self, other: self + other)
    assert judged(ring.semi_ring_laws) == "fails"
    assert judged(ring.homomorphisms) == "fails"
    assert judged(ring.order_is_homomorphism) == "fails"


def test_a_shifted_index_is_not_the_potential_of_the_loss(monkeypatch):
    right = ring.quadratic
    monkeypatch.setattr(ring, "quadratic", lambda z: right(z)[:, ::-1])
    assert judged(ring.terms_are_potentials) == "fails"


def test_a_wrong_jacobian_fails(monkeypatch):
    right = dynamics.potential_velocity
    monkeypatch.setattr(dynamics, "potential_velocity", lambda s: [1.001 * part for part in right(s)])
    assert judged(dynamics.potential_dynamics) == "fails"


def test_untrained_networks_do_not_confirm_figure_4(monkeypatch):
    right = potentials_in_training.train
    monkeypatch.setattr(potentials_in_training, "train", lambda *a, **o: right(*a, **(o | {"steps": 20, "every": 10})))
    assert judged(potentials_in_training.potentials_along_training, (0, 1)) in ("fails", "inconclusive")
