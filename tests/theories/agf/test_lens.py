"""The lens compares the first fall of the loss with AGF's wait, and counts active hidden units."""

import inspect
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from firstlight import models, runs
from firstlight.records import RunRecord, Table, spec_from_mapping
from firstlight.theories import agf
from firstlight.theories.agf import _lens as lens
from firstlight.theories.agf import _observe as observe
from tests.tolerances import rounding


def spec(**changes):
    base = {
        "task": {"group": "Z5", "split": {"fraction": 1.0}},
        "model": {"width": 16, "init": "normal", "scale": 0.02},
        "steps": 60,
        "lenses": ["agf"],
        "optimizer": {"name": "sgd", "learning_rate": 0.05},
    }
    return spec_from_mapping({**base, **changes})


def test_a_run_is_summarised_by_agf():
    record = runs.run(spec(), progress="off")
    summary = record.summary["agf"]
    assert summary["active_first"] == 0
    assert "All hidden units start dormant" in summary["story"]
    assert np.isfinite(record.table["agf.largest_dormant"]).all()
    assert [panels.kind for panels in agf.LENSES[0].figure_data(record)] == ["panels"]
    assert (summary["next_step"] is None) == (not np.isfinite(summary["wait"]))


def test_the_next_hidden_unit_has_no_date_if_the_learning_rate_changes():
    optimizer = {"name": "sgd", "learning_rate": 0.05, "schedule": {"shape": "cosine"}}
    summary = runs.run(spec(optimizer=optimizer), progress="off").summary["agf"]
    assert summary["next_step"] is None
    assert "constant learning rate" in summary["story"]


def test_the_wait_is_exact_for_an_aligned_neuron():
    U_star, norm = 0.4, np.array([0.1, 0.3])
    for kappa in (2, 3, 4):
        rate = kappa * U_star * norm ** (kappa - 2)
        waits = observe.waits(jnp.asarray(norm), jnp.asarray(rate), kappa)
        error = rounding(1, dtype=np.float32)
        np.testing.assert_allclose(waits, agf.lemmas.jump_bound(norm, kappa, U_star), rtol=error)
    assert np.isinf(observe.waits(jnp.array([0.1, 2.0]), jnp.array([-1.0, 1.0]), 2)).all()


def test_falls_of_a_staircase_and_of_a_slide():
    t = np.linspace(0, 100, 1001)
    stairs = 0.5 / (1 + np.exp((t - 30) * 3)) + 0.5 / (1 + np.exp((t - 70) * 3))
    jumps, motion = lens.falls(t, stairs)
    assert jumps == pytest.approx([30, 70], abs=0.2)
    assert motion < 0.1
    assert lens.falls(t, np.exp(-t / 30))[1] > 0.3


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"loss": {"kind": "cross_entropy"}}, "squared error"),
        ({"model": {"width": 8, "bias": True}}, "without bias"),
        ({"model": {"width": 8, "activation": "sigmoid"}}, "σ(0) = 0"),
        ({"model": {"width": 8, "activation": "poly(0,0)"}}, "known lowest power"),
    ],
)
def test_it_says_where_it_does_not_apply(changes, reason):
    assert reason in lens.reason_not_applicable(spec(**changes))


def test_what_is_observed_are_norms_and_their_rates_neuron_by_neuron():
    """With θ = (w, v) and θ′ = −∇L, log‖θ‖ changes by −θ·∇L/‖θ‖²; neuron 2 is awake, the others are not."""
    rng = np.random.default_rng(0)
    W, V = rng.standard_normal((4, 3)) * [0.1, 0.2, 5.0], rng.standard_normal((3, 2)) * [[0.1], [0.2], [5.0]]
    slope_W, slope_V = -W * [1.0, 3.0, 1.0], -V * [[2.0], [1.0], [1.0]]
    model = SimpleNamespace(first=jnp.asarray(W), last=jnp.asarray(V), activation=models.activation("relu"))
    gradients = SimpleNamespace(first=jnp.asarray(slope_W), last=jnp.asarray(slope_V))
    observed = inspect.unwrap(observe.observe_units)(SimpleNamespace(model=model, gradients=gradients))
    norms, waits = [], []
    for k in range(2):
        theta, slope = np.concatenate([W[:, k], V[k]]), np.concatenate([slope_W[:, k], slope_V[k]])
        norms.append(np.linalg.norm(theta))
        waits.append(-np.log(norms[-1]) / (-(theta @ slope) / norms[-1] ** 2))
    assert float(observed["agf.active"]) == 1
    allowed = rounding(1, 6, np.float32)
    assert float(observed["agf.largest_dormant"]) == pytest.approx(max(norms), rel=allowed)
    assert float(observed["agf.wait"]) == pytest.approx(min(waits), rel=allowed)
    model.activation = models.activation(jnp.sin)
    unknown = inspect.unwrap(observe.observe_units)(SimpleNamespace(model=model, gradients=gradients))
    assert np.isnan(unknown["agf.wait"])


STAIRS = 0.5 / (1 + np.exp((np.arange(101) - 30) * 3.0)) + 0.5 / (1 + np.exp((np.arange(101) - 70) * 3.0))
RATE = 0.05


def judged(loss, *, due=30.0, largest=0.02, rows=slice(None), **changes):
    """The verdict on a made-up run whose next jump is forecast for `due` (a number, or one for each row)."""
    steps = np.arange(len(loss))[rows]
    columns = {
        "train_loss": np.asarray(loss, float)[rows],
        "agf.active": np.zeros(len(steps)),
        "agf.largest_dormant": np.full(len(steps), largest),
        "agf.wait": RATE * np.maximum(np.broadcast_to(due, len(loss))[rows] - steps, 0),
    }
    return lens.verdict(RunRecord(spec=spec(**changes), status="finished", table=Table(steps, columns)))


def test_a_fall_at_the_predicted_time_agrees():
    verdict = judged(STAIRS)
    assert verdict.agrees == "yes"
    assert verdict.predicted == "first fall near epoch 30 (forecast at epoch 15)"
    assert verdict.measured == "first fall at epoch 30"
    assert verdict.look_at == lens.TITLE == lens.figure_data(runs.run(spec(), progress="off"))[0].title


def test_adam_is_shown_beside_the_time_of_plain_gradient_descent():
    optimizer = {"name": "adam", "learning_rate": RATE / 1000}
    verdict = judged(STAIRS, optimizer=optimizer)
    assert verdict.agrees == "does not apply"
    # The wait of 30 steps at RATE is a thousand times as many steps at a thousandth of the rate.
    assert verdict.predicted == "first fall before epoch 30,000 under plain gradient descent"
    assert verdict.measured == "first fall at epoch 30, under Adam"
    assert "Adam is not gradient flow" in verdict.sentence


@pytest.mark.parametrize("length", [12, 20, 50, 100, 200, 400, 2000])
@pytest.mark.parametrize("due", [10, 30, 1000])
def test_an_exponential_decay_disagrees_at_every_length(length, due):
    """exp(−t/20) has no plateau before its fall, however long the run goes on."""
    verdict = judged(np.exp(-np.arange(length) / 20), due=due)
    assert verdict.agrees == "no"
    assert "but the loss fell at epoch 2 already" in verdict.sentence


@pytest.mark.parametrize("length", [60, 100, 400, 4000])
def test_a_slide_that_passes_the_level_on_time_disagrees_too(length):
    """exp(−t/600) is 5 % lower at epoch 31, but has made half of its way at epoch 15."""
    for slide in (np.exp(-np.arange(length) / 600), 1 - np.arange(length) / 620):
        verdict = judged(slide)
        assert verdict.agrees == "no"
        assert "slides down from the start" in verdict.sentence


def test_a_fall_that_comes_too_late_or_never_disagrees():
    late = judged(STAIRS, due=12)
    assert late.agrees == "no"
    assert "near epoch 12, but the loss fell only at epoch 30" in late.sentence
    never = judged(np.full(80, 0.8))
    assert never.agrees == "no"
    assert never.measured == "no fall until epoch 79"
    unforeseen = judged(STAIRS, due=np.inf)
    assert unforeseen.agrees == "no"
    assert unforeseen.predicted == "first fall never"


def test_the_forecast_that_counts_is_the_first_after_half_of_its_time():
    """While the units align the forecast comes down from 200; at epoch 16 it says 31.5, and what follows is ignored."""
    due = np.where(np.arange(101) < 16, 200.0, np.where(np.arange(101) < 25, 31.5, 90.0))
    verdict = judged(STAIRS, due=due)
    assert verdict.agrees == "yes"
    assert verdict.predicted == "first fall near epoch 32 (forecast at epoch 16)"


@pytest.mark.parametrize(("loss", "due"), [(STAIRS[:20], 30.0), (np.full(50, 0.8), 30.0), (np.full(21, 0.8), 1e6)])
def test_a_run_that_ends_before_its_fall_is_not_judged(loss, due):
    verdict = judged(loss, due=due)
    assert verdict.agrees == "does not apply"
    assert "still on its first plateau" in verdict.sentence


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("momentum", "rate"), [(0.0, 0.3), (0.9, 0.03)])
def test_gradient_descent_from_small_weights_falls_when_agf_predicts(seed, momentum, rate):
    run = spec(
        model={"width": 16, "init": "normal", "scale": 0.005},
        optimizer={"name": "sgd", "learning_rate": rate, "momentum": momentum},
        recording={"every": 20},
        steps=4000,
        seed=seed,
    )
    verdict = lens.verdict(runs.run(run, progress="off"))
    assert verdict.agrees == "yes", verdict.sentence


def test_twenty_epochs_at_a_tiny_learning_rate_say_nothing():
    run = spec(
        model={"width": 16, "init": "normal", "scale": 0.005},
        optimizer={"name": "sgd", "learning_rate": 1e-6},
        recording={"every": 1},
        steps=20,
    )
    verdict = lens.verdict(runs.run(run, progress="off"))
    assert verdict.agrees == "does not apply"
    assert "the run ends at epoch 20" in verdict.sentence


@pytest.mark.parametrize(("kappa", "width"), [(2, 1), (2, 16), (3, 16), (4, 100)])
def test_the_largest_small_norm_makes_half_of_the_wait_before_the_fall(kappa, width):
    """Units that grow from α lower the loss by 5 % when their norm is ρ; the wait from ρ is half of that from α."""
    alpha, rho = lens.largest_small_norm(kappa, width), (lens.FALLEN / width) ** (1 / kappa)
    assert 0 < alpha < rho
    whole, rest = agf.lemmas.jump_bound(np.array([alpha, rho]), kappa, 1.0)
    assert rest == pytest.approx(whole / 2, rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"optimizer": {"name": "adam"}}, "Adam is not gradient flow"),
        ({"optimizer": {"name": "sgd", "batch_size": 5}}, "mini-batches"),
        ({"optimizer": {"name": "sgd", "weight_decay": 0.1}}, "without weight decay"),
        ({"optimizer": {"name": "sgd", "layer_rates": {"W": 2.0}}}, "one learning rate for all layers"),
        ({"optimizer": {"name": "sgd", "schedule": {"shape": "cosine"}}}, "constant learning rate"),
        ({"optimizer": {"name": "sgd", "schedule": {"warmup": 5}}}, "without warm-up"),
        ({"largest": 0.9}, "norm above 0.079"),
        ({"model": {"width": 16, "activation": "relu"}}, "norm above 0.0031"),
        ({"loss": [1.0, 0.5, 0.0]}, "Fewer than 10"),
        ({"rows": slice(None, None, 10)}, "Fewer than 10"),
        ({"loss": np.zeros(50)}, "zero"),
        ({"loss": np.ones(50), "due": np.inf}, "No dormant hidden unit is growing"),
        ({"loss": [1.0] * 20 + [np.nan]}, "diverged"),
    ],
)
def test_without_the_assumptions_of_agf_there_is_no_prediction(changes, reason):
    verdict = judged(**{"loss": STAIRS, **changes})
    assert verdict.agrees == "does not apply"
    assert reason in verdict.sentence


def test_a_run_without_the_columns_of_the_lens_has_no_verdict():
    table = Table([0, 10], {"train_loss": [1.0, 0.5]})
    assert lens.verdict(RunRecord(spec=spec(), status="finished", table=table)) is None
