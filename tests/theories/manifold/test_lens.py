"""The lens measures what the dense geometry says, and tells optimizers apart."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight import flow, models, runs, tasks
from firstlight.records import Optimizer, RunRecord, Table, spec_from_mapping
from firstlight.theories import manifold
from firstlight.theories.manifold import _lens as lens
from firstlight.theories.manifold import _observe as observe
from firstlight.theories.manifold import _verdict


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
    assert "decoupled decay of AdamW does not minimise the norm" in summary["story"]
    figures = manifold.LENSES[0].figure_data(record)
    assert [figure.kind for figure in figures] == ["panels"]
    measured = np.isfinite(record.table["manifold.distance"])
    assert 3 <= measured.sum() < len(measured) or len(measured) <= 5


def test_cross_entropy_is_refused_with_the_way_out():
    assert "train with loss.kind = 'mse'" in lens.reason_not_applicable(spec(loss={"kind": "cross_entropy"}))


def test_a_run_without_accuracy_does_not_claim_that_the_rows_were_not_memorised():
    record = _record([5.0, 10.0, 9.0])
    columns = {name: column for name, column in record.table.columns.items() if name != "train_accuracy"}
    without = record.model_copy(update={"table": Table(record.table.step, columns)})
    assert "no accuracy was recorded" in lens.summarise(without)["story"]
    assert "memorised" not in lens.summarise(without)["story"]
    assert lens.verdict(without) == lens.verdict(record)


def _record(norm, loss=None, **optimizer):
    """A record every 100 epochs with the given squared norms, with a loss of zero from the second row on."""
    n = len(norm)
    columns = {"manifold.norm": norm, "manifold.by_V": np.ones(n), "train_accuracy": [0.2, *[1.0] * (n - 1)]}
    columns["train_loss"] = [1.0, *[0.0] * (n - 1)] if loss is None else loss
    columns |= dict.fromkeys(observe.MEASURED_COLUMNS, np.full(n, np.nan))
    changed = spec(steps=1000, optimizer={"name": "sgd", "learning_rate": 0.1, "weight_decay": 0.01, **optimizer})
    return RunRecord(spec=changed, status="finished", table=Table(100 * np.arange(n), columns))


@pytest.mark.parametrize(
    ("norm", "agrees", "words"),
    [
        ([5.0, 10.0, 9.0, 8.0], "yes", "fell from 10 at epoch 100 to 8 at epoch 300"),
        ([5.0, 10.0, 11.0, 12.0], "no", "rose instead of falling, from 10 at epoch 100"),
        ([5.0, 10.0, 7.0, 4.0], "no", "below the 6.702 that weight decay alone would reach"),
        ([5.0, 10.0, 10.0, 9.99], "does not apply", "hardly changed"),
        ([5.0, 10.0], "does not apply", "too short to judge"),
    ],
)
def test_the_verdict_holds_the_norm_between_its_start_and_decay_alone(norm, agrees, words):
    verdict = lens.verdict(_record(norm))
    assert verdict.agrees == agrees
    assert words in verdict.sentence
    if agrees == "yes":
        assert verdict.predicted == f"squared norm falls from 10, to no less than {10 * (1 - 1e-3) ** 400:.4g}"
        assert verdict.measured == "squared norm 10, then 8"


@pytest.mark.parametrize(
    ("optimizer", "words"),
    [
        ({"weight_decay": 0.0}, "Without weight decay"),
        ({"name": "adamw"}, "does not minimise the norm"),
        ({"name": "adam"}, "but not by which path"),
        ({"batch_size": 5}, "this run used 5 at a time"),
        ({"layer_rates": {"V": 10.0}}, "rates of layers differ"),
    ],
)
def test_the_verdict_claims_nothing_where_the_theory_does_not(optimizer, words):
    verdict = lens.verdict(_record([5.0, 10.0, 9.0, 8.0], **optimizer))
    assert verdict.agrees == "does not apply"
    assert words in verdict.sentence


def test_equal_layer_rates_are_one_rate():
    assert lens.verdict(_record([5.0, 10.0, 9.0, 8.0], layer_rates={"V": 1.0})).agrees == "yes"


def test_a_norm_that_is_not_finite_has_no_verdict():
    assert lens.verdict(_record([5.0, 10.0, np.nan])) is None


def test_the_norm_is_judged_only_while_the_loss_is_small_against_the_decay_term():
    # The decay term is 0.005 times the norm: 0.05 at a norm of 10.
    norm = [5.0, 8.0, 10.0, 9.0, 8.0, 20.0]
    verdict = lens.verdict(_record(norm, loss=[1.0, 1e-3, 4e-4, 2e-3, 4e-4, 1.0]))
    assert verdict.agrees == "yes"
    assert "from 10 at epoch 200 to 8 at epoch 400" in verdict.sentence
    far = lens.verdict(_record(norm, loss=[1.0, *[2e-3] * 5]))
    assert far.agrees == "does not apply"
    assert "did not come close enough to zero loss" in far.sentence
    lost = lens.verdict(_record([5.0, 10.0, 9.0, 8.0], loss=[1.0, 0.0, 0.0, np.nan]))
    assert "from 10 at epoch 100 to 9 at epoch 200" in lost.sentence


def test_without_a_recorded_loss_the_verdict_does_not_apply():
    record = _record([5.0, 10.0, 9.0])
    columns = {name: column for name, column in record.table.columns.items() if name != "train_loss"}
    verdict = lens.verdict(record.model_copy(update={"table": Table(record.table.step, columns)}))
    assert verdict.agrees == "does not apply"
    assert "training loss was not recorded" in verdict.sentence


@pytest.mark.parametrize(
    "optimizer",
    [
        {},
        {"schedule": {"shape": "cosine"}},
        {"schedule": {"shape": "linear", "warmup": 70, "final": 0.5}},
        {"schedule": {"warmup": 70}},
        {"momentum": 0.9, "learning_rate": 0.01},
        {"momentum": 0.5, "schedule": {"shape": "linear"}},
    ],
)
def test_the_floor_is_the_norm_that_the_optimizer_reaches_without_data(optimizer):
    record = _record([5.0, 10.0], weight_decay=0.05, **optimizer)
    chosen, steps = record.spec.optimizer, record.spec.steps
    theta, momentum, squares = 1.0, 0.0, []
    for step in range(steps):
        squares.append(theta**2)
        momentum = chosen.weight_decay * theta + (chosen.momentum or 0.0) * momentum
        theta -= chosen.learning_rate * float(flow.schedule(chosen.schedule, step, steps)) * momentum
    # Between steps 50 and 450, where the velocity of momentum has settled; a schedule moves it by about 1 %.
    floor = _verdict._norm_floor(squares[50], record.spec, 50, 450)
    assert floor == pytest.approx(squares[450], rel=2e-2 if chosen.momentum else 1e-4)
    assert floor < 0.9 * squares[50]


def _z7(steps, *, activation="quadratic", seed=0, loss=None, **optimizer):
    fields = {
        "task": {"group": "Z7", "split": {"fraction": 0.6}},
        "model": {"width": 128, "activation": activation},
        "optimizer": {"name": "sgd", "learning_rate": 0.5, "weight_decay": 3e-4, **optimizer},
        "loss": loss or {},
        "seed": seed,
    }
    return runs.run(spec(steps=steps, **fields), progress="off")


@pytest.mark.parametrize(
    ("steps", "changes"),
    [
        (400, {}),
        (400, {"seed": 1}),
        (400, {"activation": "relu"}),
        (400, {"activation": "relu", "seed": 1}),
        (1000, {"schedule": {"shape": "cosine"}}),
        (1000, {"momentum": 0.9, "learning_rate": 0.05}),
    ],
)
def test_gradient_descent_on_z7_agrees_although_its_norm_rises_after_memorisation(steps, changes):
    record = _z7(steps, **changes)
    (verdict,) = record.verdicts
    assert verdict.agrees == "yes"
    assert "with cosine 1.00 to lowering the norm" in verdict.measured
    summary = record.summary["manifold"]
    assert summary["norm_last"] > 1.2 * summary["norm_at_memorisation"]


@pytest.mark.parametrize(
    "units",
    [
        {"loss": {"factor": 2.0}, "learning_rate": 0.25, "weight_decay": 6e-4},
        {"loss": {"reduction": "sum"}, "learning_rate": 0.5 / 29, "weight_decay": 29 * 3e-4},
    ],
)
def test_the_units_of_the_loss_do_not_change_the_verdict(units):
    (expected,), (verdict,) = _z7(400).verdicts, _z7(400, **units).verdicts
    assert verdict.agrees == expected.agrees == "yes"
    floors = [float(v.predicted.split()[-1]) for v in (expected, verdict)]
    assert floors[0] == pytest.approx(floors[1], rel=1e-2)


def test_runs_that_do_not_reach_the_zero_loss_set_are_not_judged():
    (verdict,) = _z7(400, activation="tanh").verdicts
    assert verdict.agrees == "does not apply"
    assert "did not come close enough to zero loss" in verdict.sentence
    (short,) = _z7(150).verdicts
    assert "too short to judge" in short.sentence


def test_the_path_of_adam_is_not_the_one_of_gradient_descent():
    """Adam lowers the norm faster than its rate times decay allows, so a run labelled as SGD contradicts the theory."""
    record = _z7(1000, name="adam", learning_rate=0.01)
    assert record.verdicts[0].predicted.startswith("first layer holds")  # where Adam ends, not by which path
    labelled = record.spec.model_copy(update={"optimizer": Optimizer(name="sgd", learning_rate=0.1, weight_decay=3e-4)})
    verdict = lens.verdict(record.model_copy(update={"spec": labelled}))
    assert verdict.agrees == "no"
    assert "that weight decay alone would reach" in verdict.sentence
