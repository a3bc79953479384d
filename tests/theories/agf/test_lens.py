"""The lens tells a staircase from a slide, counts active hidden units and says when the next one wakes."""

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


STAIRS = 0.5 / (1 + np.exp((np.arange(101) - 30) * 3.0)) + 0.5 / (1 + np.exp((np.arange(101) - 70) * 3.0))
SLIDE = np.exp(-np.arange(101) / 30)


def judged(loss, *, active=2.0, largest=0.05, **changes):
    """The verdict on a made-up run: `active` hidden units at the end, the largest norm at the start."""
    rows = len(loss)
    columns = {
        "train_loss": np.asarray(loss, float),
        "agf.active": np.linspace(0, active, rows).round(),
        "agf.largest_dormant": np.full(rows, largest),
        "agf.wait": np.full(rows, np.inf),
    }
    return lens.verdict(RunRecord(spec=spec(**changes), status="finished", table=Table(np.arange(rows), columns)))


def test_a_staircase_agrees_and_a_slide_does_not():
    stairs, slide = judged(STAIRS), judged(SLIDE)
    assert (stairs.agrees, slide.agrees) == ("yes", "no")
    assert "in 2 falls, the first at epoch 30" in stairs.measured
    assert "slides down" in slide.sentence
    assert stairs.look_at == lens.TITLE == lens.figure_data(runs.run(spec(), progress="off"))[0].title


def test_a_flat_loss_agrees_while_every_hidden_unit_is_dormant():
    assert judged(np.full(50, 0.8), active=0.0).agrees == "yes"
    woken = judged(np.full(50, 0.8), active=3.0)
    assert woken.agrees == "no"
    assert "3 woke and the loss did not fall" in woken.sentence
    assert judged(np.zeros(50), active=0.0).agrees == "yes"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"optimizer": {"name": "adam"}}, "adam is not gradient flow"),
        ({"optimizer": {"name": "sgd", "batch_size": 5}}, "mini-batches"),
        ({"optimizer": {"name": "sgd", "weight_decay": 0.1}}, "without weight decay"),
        ({"optimizer": {"name": "sgd", "layer_rates": {"W": 2.0}}}, "one learning rate for all layers"),
        ({"largest": 0.9}, "norm above 0.1"),
        ({"loss": [1.0, 0.5, 0.0]}, "Fewer than 10"),
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
