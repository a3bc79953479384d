"""How two layers share the norm where it is least: closed form, numerical minima, trained networks."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from firstlight import runs
from firstlight.records import Optimizer, Table, spec_from_mapping
from firstlight.theories.manifold import LENSES
from firstlight.theories.manifold._balance import COLUMN, SPARE, least_share, spare
from tests.tolerances import rounding


@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 2 / 3, 0.9])
def test_the_spare_norm_is_what_a_numerical_search_saves(q, share):
    def norm(t):
        return share * np.exp(2 * t) + (1 - share) * np.exp(-2 * q * t)

    found = minimize_scalar(norm, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10})
    # The search stops within 1e-10 of the minimum, where the norm is flat.
    assert spare(share, q) == pytest.approx(1 - found.fun, abs=1e-9)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_nothing_is_spared_at_the_least_share_only(q):
    assert spare(least_share(q), q) == pytest.approx(0, abs=rounding(1.0))
    assert spare(least_share(q) + 0.1, q) > SPARE
    assert spare(least_share(q) - 0.1, q) > SPARE
    assert spare(0.0, q) == spare(1.0, q) == 1.0


def trained(activation, *, steps=3000, seed=0, **optimizer):
    spec = {
        "task": {"group": "Z5", "split": {"fraction": 0.8}},
        "model": {"width": 64, "activation": activation},
        "optimizer": {"name": "adam", "learning_rate": 0.01, "weight_decay": 3e-3, **optimizer},
        "steps": steps,
        "recording": {"every": 50},
        "lenses": ["manifold"],
        "seed": seed,
    }
    return runs.run(spec_from_mapping(spec), progress="off")


@pytest.mark.parametrize(("activation", "share"), [("quadratic", 2 / 3), ("relu", 1 / 2), ("power3", 3 / 4)])
def test_adam_with_decay_in_the_loss_ends_with_balanced_layers(activation, share):
    record = trained(activation)
    (verdict,) = record.verdicts
    assert verdict.agrees == "yes"
    assert f"{share:.3f} of the squared norm" in verdict.predicted
    assert record.table["manifold.first_share"][-1] == pytest.approx(share, abs=0.03)


def test_a_short_run_is_not_judged_and_shows_both_numbers():
    (verdict,) = trained("quadratic", steps=50).verdicts
    assert verdict.agrees == "does not apply"
    assert "has not ended there yet" in verdict.sentence
    assert "0.667" in verdict.predicted
    assert "at the start" in verdict.measured


@pytest.mark.parametrize(
    ("activation", "optimizer"),
    [
        ("silu", {}),
        ("quadratic", {"name": "adamw"}),
        ("quadratic", {"weight_decay": 0.0}),
        ("quadratic", {"batch_size": 4}),
    ],
)
def test_nothing_is_predicted_where_units_cannot_be_rescaled_or_minima_differ(activation, optimizer):
    (verdict,) = trained(activation, steps=50, **optimizer).verdicts
    assert verdict.predicted == ""
    assert verdict.agrees == "does not apply"


def still_run(**optimizer):
    """A run that came to rest without weight decay, under the name of another optimizer."""
    record = trained("quadratic", name="sgd", learning_rate=0.5, weight_decay=0.0)
    named = {"name": "adam", "learning_rate": 0.01, "weight_decay": 3e-3, **optimizer}
    return record.model_copy(
        update={"spec": record.spec.model_copy(update={"optimizer": Optimizer.model_validate(named)})}
    )


def test_a_network_at_rest_elsewhere_contradicts_the_theory():
    """Gradient descent without decay rests where it first fits; called Adam with decay, it must say no."""
    record = still_run()
    verdict = LENSES[0].verdict(record)
    assert verdict.agrees == "no"
    assert "has come to rest" in verdict.sentence
    assert "0.667" in verdict.predicted
    share = record.table["manifold.first_share"][-1]
    assert f"{share:.3f}" in verdict.measured
    assert spare(share, 2) > SPARE


@pytest.mark.parametrize(
    "optimizer",
    [
        {"learning_rate": 1e-6},  # too slow to get anywhere
        {"weight_decay": 1e-8},  # too weak for Adam's steps
        {"epsilon": 1e-2},
        {"name": "sgd", "layer_rates": {"V": 0.5}, "learning_rate": 0.1},  # decay alone moves by 0.2 of the weights
        {"layer_rates": {"V": 0.0}},  # a layer that stands still by order
    ],
)
def test_a_network_at_rest_is_not_judged_if_decay_could_not_have_moved_it(optimizer):
    assert LENSES[0].verdict(still_run(**optimizer)).agrees == "does not apply"


def test_the_reach_of_adam_follows_the_schedule():
    unit = np.sqrt(still_run().table["manifold.norm"][-1] / 64)
    enough = 1.5 * unit / 1500  # over the second half of 3000 steps
    assert LENSES[0].verdict(still_run(learning_rate=enough)).agrees == "no"
    falling = still_run(learning_rate=enough, schedule={"shape": "cosine"})
    assert LENSES[0].verdict(falling).agrees == "does not apply"


def test_a_network_that_still_moves_or_has_no_weights_left_is_not_judged():
    record = still_run()
    columns = dict(record.table.columns)
    count = len(record.table)
    cases = {
        "moving": {COLUMN: np.linspace(0.95, 0.9, count)},
        "vanished": {"manifold.norm": np.append(np.full(count - 1, 1.0), 1e-9)},
        "resting": {COLUMN: np.full(count, 0.9)},
    }
    verdicts = {
        name: LENSES[0].verdict(record.model_copy(update={"table": Table(record.table.step, columns | changed)})).agrees
        for name, changed in cases.items()
    }
    assert verdicts == {"moving": "does not apply", "vanished": "does not apply", "resting": "no"}
