"""The lens measures what the dense geometry says, and tells optimizers apart."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight import models, runs, tasks
from firstlight.records import RunRecord, Table, spec_from_mapping
from firstlight.theories import manifold
from firstlight.theories.manifold import _lens as lens
from firstlight.theories.manifold import _observe as observe


def spec(**changes):
    base = {
        "task": {"group": "Z5", "split": {"fraction": 0.6}},
        "model": {"width": 64},
        "steps": 40,
        "lenses": ["manifold"],
        "optimizer": {"name": "adamw", "learning_rate": 0.01, "weight_decay": 0.1},
    }
    return spec_from_mapping({**base, **changes})


def test_by_last_layer_is_the_geometry_of_v_alone():
    split = tasks.group_task("Z5").split(fraction=0.6, seed=0)
    with jax.enable_x64(True):
        new, old = (
            models.TwoLayer(*(np.random.default_rng(s).standard_normal(shape) for shape in ((10, 32), (32, 5))))
            for s in (0, 1)
        )
        old = models.TwoLayer(new.W, new.V + 0.1 * old.V)
        H, V = new.features(split.train_inputs.project), new.last
        Y = np.eye(5)[split.train_targets]
        got = jax.jit(observe.by_last_layer, static_argnums=4)(H, V, old.V, jnp.asarray(Y - H @ V), "none")
    H, V = np.asarray(H), np.asarray(V)
    zero_set = manifold.ZeroLossSet(lambda v: H @ v - Y, V)
    assert float(got["manifold.distance"]) == pytest.approx(manifold.distance(zero_set, V), rel=1e-3)
    step = V - np.asarray(old.V)
    assert float(got["manifold.tangential"]) == pytest.approx(
        manifold.lemmas.tangential_fraction(zero_set, V, step), rel=1e-3
    )
    at = manifold.Tangent(zero_set, V.ravel())
    along, down = at.tangential(step.ravel()), -at.tangential(V.ravel())
    cosine = along @ down / np.linalg.norm(along) / np.linalg.norm(down)
    assert float(got["manifold.descent"]) == pytest.approx(cosine, abs=1e-3)


def test_by_all_weights_is_the_geometry_of_everything():
    split = tasks.group_task("Z3").split(fraction=0.8, seed=0)
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        new = models.TwoLayer(rng.standard_normal((6, 6)), rng.standard_normal((6, 3)), activation="tanh")
        old = models.TwoLayer(new.W + 0.1, new.V - 0.1, activation="tanh")
        Y = np.eye(3)[split.train_targets]

        @eqx.filter_jit
        def measured(new, old):
            outputs = lambda m: m.apply(split.train_inputs.project)  # noqa: E731
            return observe.by_all_weights(new, old, outputs, jnp.asarray(Y) - outputs(new))

        got = measured(new, old)
    zero_set = manifold.ZeroLossSet.of(new, split.train_inputs, split.train_targets)
    theta = zero_set.vector(new)
    at = manifold.Tangent(zero_set, theta)
    linear = np.linalg.norm(at.jacobian_inverse(zero_set.evaluate(theta)))
    assert float(got["manifold.distance"]) == pytest.approx(linear, rel=1e-2)
    fraction = manifold.lemmas.tangential_fraction(zero_set, theta, theta - zero_set.vector(old))
    assert float(got["manifold.tangential"]) == pytest.approx(fraction, rel=1e-2)


def test_a_run_tells_its_norm_distance_and_that_adamw_does_not_minimise_the_norm():
    record = runs.run(spec(), progress="off")
    summary = record.summary["manifold"]
    assert summary["weights"] == "V"
    assert np.isfinite([summary["distance"], summary["tangential"], summary["descent"]]).all()
    assert 0 <= summary["tangential"] <= 1
    assert "decoupled decay of adamw does not minimise the norm" in summary["story"]
    figures = manifold.LENSES[0].figure_data(record)
    assert [figure.kind for figure in figures] == ["panels"]
    measured = np.isfinite(record.table["manifold.distance"])
    assert 3 <= measured.sum() < len(measured) or len(measured) <= 5


def test_cross_entropy_is_refused_with_the_way_out():
    assert "train with loss.kind = 'mse'" in lens.reason_not_applicable(spec(loss={"kind": "cross_entropy"}))


def _record(norm, **optimizer):
    n = len(norm)
    columns = {"manifold.norm": norm, "manifold.by_V": np.ones(n), "train_accuracy": [0.2, *[1.0] * (n - 1)]}
    columns |= dict.fromkeys(observe.MEASURED_COLUMNS, np.full(n, np.nan))
    changed = spec(steps=1000, optimizer={"name": "sgd", "learning_rate": 0.1, "weight_decay": 0.01, **optimizer})
    return RunRecord(spec=changed, status="finished", table=Table(100 * np.arange(n), columns))


@pytest.mark.parametrize(
    ("norm", "agrees", "words"),
    [
        ([5.0, 10.0, 9.0, 8.0], "yes", "fell from 10 at memorisation to 8"),
        ([5.0, 10.0, 11.0, 12.0], "no", "did not fall after memorisation at epoch 100"),
        ([5.0, 10.0, 7.0, 4.0], "no", "faster than weight decay alone"),
        ([5.0, 10.0], "does not apply", "ended too soon after memorisation"),
    ],
)
def test_the_verdict_holds_the_norm_between_its_start_and_decay_alone(norm, agrees, words):
    verdict = lens.verdict(_record(norm))
    assert verdict.agrees == agrees
    assert words in verdict.sentence
    if agrees == "yes":
        assert verdict.predicted == f"squared norm falls from 10, to no less than {10 * np.exp(-0.4):.4g}"
        assert verdict.measured == "squared norm 10, then 8"


@pytest.mark.parametrize(
    ("optimizer", "words"),
    [
        ({"weight_decay": 0.0}, "Without weight decay"),
        ({"name": "adamw"}, "does not minimise the norm"),
        ({"name": "adam"}, "but not by which path"),
    ],
)
def test_the_verdict_claims_nothing_where_the_theory_does_not(optimizer, words):
    verdict = lens.verdict(_record([5.0, 10.0, 9.0, 8.0], **optimizer))
    assert verdict.agrees == "does not apply"
    assert words in verdict.sentence


def test_a_norm_that_is_not_finite_has_no_verdict():
    assert lens.verdict(_record([5.0, 10.0, np.nan])) is None
