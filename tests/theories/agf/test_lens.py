"""The lens tells a staircase from a slide, counts active neurons and says when the next one wakes."""

import inspect
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from firstlight import runs
from firstlight.records import spec_from_mapping
from firstlight.theories import agf
from firstlight.theories.agf import _lens as lens
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


def test_a_run_is_told_by_agf():
    record = runs.run(spec(), progress="off")
    told = runs.summarise(record)["agf"]
    assert told["active_first"] == 0
    assert "all neurons start dormant" in told["story"]
    assert np.isfinite(record.table["agf.largest_dormant"]).all()
    assert [one.kind for one in agf.LENSES[0].figure_data(record)] == ["panels"]
    assert (told["next_step"] is None) == (not np.isfinite(told["wait"]))


def test_the_wait_is_exact_for_an_aligned_neuron():
    U_star, norm = 0.4, np.array([0.1, 0.3])
    for kappa in (2, 3, 4):
        rate = kappa * U_star * norm ** (kappa - 2)
        waits = lens.waits(jnp.asarray(norm), jnp.asarray(rate), kappa)
        error = rounding(1, dtype=np.float32)
        np.testing.assert_allclose(waits, agf.lemmas.jump_bound(norm, kappa, U_star), rtol=error)
    assert np.isinf(lens.waits(jnp.array([0.1, 2.0]), jnp.array([-1.0, 1.0]), 2)).all()


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
    model = SimpleNamespace(W=jnp.asarray(W), V=jnp.asarray(V), activation="relu")
    gradients = SimpleNamespace(W=jnp.asarray(slope_W), V=jnp.asarray(slope_V))
    observed = inspect.unwrap(lens.observe)(SimpleNamespace(model=model, gradients=gradients))
    norms, waits = [], []
    for k in range(2):
        theta, slope = np.concatenate([W[:, k], V[k]]), np.concatenate([slope_W[:, k], slope_V[k]])
        norms.append(np.linalg.norm(theta))
        waits.append(-np.log(norms[-1]) / (-(theta @ slope) / norms[-1] ** 2))
    assert float(observed["agf.active"]) == 1
    allowed = rounding(1, 6, np.float32)
    assert float(observed["agf.largest_dormant"]) == pytest.approx(max(norms), rel=allowed)
    assert float(observed["agf.wait"]) == pytest.approx(min(waits), rel=allowed)
