"""How two layers share the norm where it is least: closed form, numerical minima, trained networks."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from firstlight import runs
from firstlight.records import spec_from_mapping
from firstlight.theories.manifold._balance import SPARE, least_share, spare
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
