"""Exact results of the theory against brute force, and the moving-average law against a solved flow."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight import features, models, runs, tasks
from firstlight.records import Table, spec_from_mapping
from firstlight.theories import fact
from firstlight.theories.fact import _lens as lens
from firstlight.theories.fact import _observe as observe
from firstlight.theories.fact import _separation as separation
from firstlight.theories.fact import _thin as thin
from tests.tolerances import rounding


def test_layer_features_are_sums_over_samples_of_automatic_derivatives():
    split = tasks.group_task("Z3").split(fraction=0.9, seed=0)
    model = models.Deep.init(jax.random.key(0), inputs=6, widths=(5, 5), outputs=3, residual=True, bias=True)
    layers = fact.layer_features(model, split.train_inputs, split.train_targets, weight_decay=0.2)
    with jax.enable_x64(True):
        weights = [np.asarray(W, float) for W in model.weights]
        biases = [np.asarray(b, float) for b in model.biases]
        X, Y = jnp.asarray(split.train_inputs.dense(), float), jnp.eye(3)[split.train_targets]

        def output(x, W, shift):
            """The network of one sample with the middle layer's matrix and a shift of its outputs written out."""
            h = jax.nn.relu(x @ weights[0] + biases[0])
            h2 = jax.nn.relu(h + h @ W + biases[1] + shift)
            return h2 @ weights[2] + biases[2]

        def loss(x, y, W, shift):
            miss = output(x, W, shift) - y
            return jnp.sum((miss - miss.mean()) ** 2)

        W, zero = jnp.asarray(weights[1]), jnp.zeros(5)
        G = np.mean([jax.grad(loss, 2)(x, y, W, zero) for x, y in zip(X, Y, strict=True)], axis=0)
        deltas = np.stack([W @ jax.grad(loss, 3)(x, y, W, zero) for x, y in zip(X, Y, strict=True)])
        slopes = np.stack([jax.jacobian(output, 2)(x, W, zero) @ W.T for x in X])
    layer = layers["weights.1"]
    # Weights, activations and derivatives are at most of order 1; sums run over samples, units and outputs.
    error = rounding(1, len(Y) * 5 * 3)
    np.testing.assert_allclose(layer.gradient, G, rtol=0, atol=error)
    np.testing.assert_allclose(layer.fact, -weights[1] @ G.T / 0.2, rtol=0, atol=error / 0.2)
    np.testing.assert_allclose(layer.enfa, features.average_outer_product(deltas), rtol=0, atol=error)
    np.testing.assert_allclose(layer.agop, features.average_outer_product(slopes), rtol=0, atol=error)


def test_the_moving_average_law_predicts_the_features_of_a_flow():
    """Solve gradient flow, keep FACT along it, and get WWᵀ back from the law alone."""
    rng = np.random.default_rng(0)
    lam, times = 0.1, np.linspace(0.0, 10.0, 401)
    with jax.enable_x64(True):
        X, Y = jnp.asarray(rng.standard_normal((20, 4))), jnp.asarray(rng.standard_normal((20, 2)))

        def loss(theta):
            return jnp.mean(jnp.sum((jnp.tanh(X @ theta[0]) @ theta[1] - Y) ** 2, axis=1))

        def field(t, theta, args):
            return jax.tree.map(lambda w, g: -g - lam * w, theta, jax.grad(loss)(theta))

        start = (jnp.asarray(rng.standard_normal((4, 6))), jnp.asarray(rng.standard_normal((6, 2))))
        solved = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Tsit5(), 0.0, 10.0, 0.01, start,
            saveat=diffrax.SaveAt(ts=jnp.asarray(times)), stepsize_controller=diffrax.PIDController(1e-9, 1e-9),
        )  # fmt: skip
        G = np.asarray(jax.vmap(jax.grad(loss))(solved.ys)[0])
        W = np.asarray(solved.ys[0])
    facts = np.stack([features.fact(w, g, lam) for w, g in zip(W, G, strict=True)])
    predicted = features.averaged_nfm(features.nfm(W[0]), facts, times, lam)
    exact = np.stack([features.nfm(w) for w in W])
    assert np.abs(predicted - exact).max() < 2e-3 * np.abs(exact).max()
    # The error is that of linear interpolation: half the spacing, a quarter of it.
    coarse = features.averaged_nfm(features.nfm(W[0]), facts[::2], times[::2], lam)
    ratio = np.abs(coarse - exact[::2]).max() / np.abs(predicted - exact).max()
    assert 3 < ratio < 5


def test_balanced_minimisers_are_where_training_ends():
    rng = np.random.default_rng(1)
    problem = fact.LinearProblem(np.eye(4), rng.standard_normal((4, 2)), weight_decay=0.05, kappa=0.5)
    exact = fact.lemmas.balanced_minimiser(problem, depth=3, width=5)
    start = fact.lemmas.linear_init(0, 4, 2, width=5, depth=3)
    trained = fact.train_linear(problem, start, rate=0.05, momentum=0.9, steps=4000)
    assert problem.loss(trained) == pytest.approx(problem.loss(exact), rel=1e-9)
    assert fact.lemmas.imbalance(trained) < 1e-6
    eps, G = 1e-6, problem.gradients(start)[1]
    moved = [W.copy() for W in start]
    moved[1][2, 3] += eps
    slope = (problem.loss(moved) - problem.loss(start)) / eps
    assert slope == pytest.approx(G[2, 3] + 0.05 * start[1][2, 3], rel=1e-4)
    with pytest.raises(ValueError, match="needs whitened inputs"):
        fact.lemmas.balanced_minimiser(fact.LinearProblem(2 * np.eye(4), problem.T, 0.05, 0.5), 3, 5)
    with pytest.raises(ValueError, match="width must be at least 2"):
        fact.lemmas.balanced_minimiser(problem, 3, 1)
    with pytest.raises(ValueError, match="width must be at least 4"):
        fact.minimise(fact.Separation.of(0.1, 1e-3, 1e-5), width=2)


@pytest.fixture(scope="module")
def record():
    return runs.run(
        spec_from_mapping(
            {
                "task": {"group": "Z5", "split": {"fraction": 0.9}},
                "model": {"width": 32},
                "steps": 2000,
                "recording": {"every": 500},
                "lenses": ["fact"],
                "optimizer": {"name": "sgd", "learning_rate": 0.2, "weight_decay": 0.01, "momentum": 0.9},
            }
        )
    )


def test_the_lens_sees_features_become_fact(record):
    values = record.summary["fact"]
    assert values["budget"] == pytest.approx(0.01 * 0.2 * 2000 / 0.1, rel=1e-5)
    for layer in ("W", "V"):
        assert values["alignments"][layer]["FACT"] > 0.999
        assert values["size"][layer] == pytest.approx(1, abs=0.02)
        assert record.table[f"fact.{layer}.fact"][0] < 0.9
    assert "long enough" in values["story"]
    assert lens.figure_data(record)[0].kind == "panels"


@pytest.mark.parametrize("shape", [(3, 7), (7, 3), (5, 5)])
def test_layers_are_aligned_in_their_smaller_side_as_they_are_written_out(shape):
    rng = np.random.default_rng(0)
    W, G = rng.standard_normal(shape), rng.standard_normal(shape)
    delta, slope = rng.standard_normal((2, 20, shape[1]))
    with jax.enable_x64(True):
        measured = {
            key: float(value) for key, value in observe.aligned(*map(jnp.asarray, (W, G, delta, slope))).items()
        }
    nfm, unit = features.nfm(W), features.fact(W, G, 1.0)
    written = {
        "fact": unit,
        "symmetrised": features.symmetrised(unit),
        "agop": features.matrix_power(features.agop(W, slope), 0.5),
        "enfa": features.matrix_power(features.enfa(W, delta), 0.5),
    }
    expected = {key: float(features.pearson(matrix, nfm)) for key, matrix in written.items()}
    assert measured == pytest.approx(expected | {"size": float(np.sum(unit * nfm) / np.sum(nfm * nfm))}, abs=1e-7)


def test_the_lens_says_when_fact_cannot_hold(record):
    def summary(**changes):
        optimizer = record.spec.optimizer.model_copy(update=changes)
        return lens.summarise(
            record.model_copy(update={"spec": record.spec.model_copy(update={"optimizer": optimizer})})
        )

    assert "Without weight decay" in summary(weight_decay=0.0)["story"]
    assert "decoupled decay of AdamW" in summary(name="adamw", momentum=None)["story"]
    assert "below 1: too short" in summary(learning_rate=1e-3)["story"]
    assert "no decay budget says" in summary(name="adam", momentum=None)["story"]


def judged(record, columns=None, **changes):
    """The verdict on a record with other last alignments or another optimizer."""
    optimizer = record.spec.optimizer.model_copy(update=changes)
    spec = record.spec.model_copy(update={"optimizer": optimizer})
    table = Table(record.table.step, {name: record.table[name] for name in record.table.columns} | (columns or {}))
    return lens.verdict(record.model_copy(update={"spec": spec, "table": table}))


def test_the_verdict_compares_every_layer_with_one(record):
    verdict = judged(record)
    assert verdict.agrees == "yes"
    assert verdict.measured.count("in layer") == 2
    assert verdict.look_at == lens.figure_data(record)[0].title
    assert verdict.sentence.startswith("The run is at rest, and every layer's features")
    rows = len(record.table)
    false = judged(record, {"fact.V.fact": np.full(rows, 0.4)})
    assert false.agrees == "no"
    assert "The run is at rest, but layer V is not what its loss asks for" in false.sentence
    assert "0.400 in layer V" in false.measured
    half = judged(record, {"fact.V.fact": np.full(rows, np.nan)})
    assert half.agrees == "yes"
    assert half.measured.endswith("in layer W")


@pytest.mark.parametrize("column", ["train_loss", "fact.W.size"])
@pytest.mark.parametrize("alignment", [0.4, 1.0])
def test_weights_that_still_move_are_not_judged(record, column, alignment):
    """WWᵀ − FACT = W∇Lᵀ/λ, so a misalignment of moving weights says nothing about Theorem 3.1."""
    moving = record.table[column] * np.linspace(1.5, 1.0, len(record.table))
    columns = {column: moving, "fact.V.fact": np.full(len(record.table), alignment)}
    verdict = judged(record, columns)
    assert verdict.agrees == "does not apply"
    assert "The weights were still moving" in verdict.sentence
    assert verdict.measured.count("in layer") == 2


def test_rest_is_measured_over_a_decay_budget_of_one(record):
    """The rows are a budget of 10 apart: the last two decide, and one row alone shows no rest."""
    early = record.table["train_loss"] * np.array([5.0, 5.0, 5.0, 1.0, 1.0])
    assert judged(record, {"train_loss": early}).agrees == "yes"
    last = Table(record.table.step[-1:], {name: record.table[name][-1:] for name in record.table.columns})
    verdict = lens.verdict(record.model_copy(update={"table": last}))
    assert verdict.agrees == "does not apply"
    assert "Too few steps were recorded" in verdict.sentence


@pytest.mark.parametrize(("activation", "kink"), [("relu", True), ("leaky_relu(0.1)", True), ("tanh", False)])
def test_a_network_with_a_kink_cannot_contradict_the_theorem(record, activation, kink):
    model = record.spec.model.model_copy(update={"activation": activation})
    other = record.model_copy(update={"spec": record.spec.model_copy(update={"model": model})})
    assert judged(other).agrees == "yes"
    verdict = judged(other, {"fact.V.fact": np.full(len(record.table), 0.4)})
    assert verdict.agrees == ("does not apply" if kink else "no")
    assert ("may rest on its kink" in verdict.sentence) == kink


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"weight_decay": 0.0}, "Without weight decay"),
        ({"name": "adamw", "momentum": None}, "decoupled decay of AdamW"),
        ({"name": "adam", "momentum": None}, "its own learning rate"),
        ({"learning_rate": 1e-3}, "below 1: too short"),
        ({"learning_rate": 1e-2}, "only from 3 on"),
        ({"batch_size": 4}, "keep the weights moving"),
        ({"layer_rates": {"W": 0.0}}, "rates of their own"),
    ],
)
def test_without_a_budget_of_coupled_decay_there_is_no_prediction(record, changes, reason):
    verdict = judged(record, **changes)
    assert verdict.agrees == "does not apply"
    assert reason in verdict.sentence


def test_weights_that_decayed_to_zero_have_no_features_to_judge(record):
    undefined = {f"fact.{layer}.fact": np.full(len(record.table), np.nan) for layer in ("W", "V")}
    assert judged(record, undefined).agrees == "does not apply"
    empty = record.model_copy(update={"table": Table([0], {"train_loss": [1.0]})})
    assert lens.verdict(empty) is None


def test_agops_of_linear_layers_are_sums_of_gradients_at_their_inputs():
    """∇_h f_c by pushing unit vectors through the layers that follow; one outer product per output."""
    rng = np.random.default_rng(4)
    weights = [rng.standard_normal(shape) for shape in ((5, 4), (4, 6), (6, 3))]
    for l, agop in enumerate(fact.lemmas.layer_agops(weights)):
        expected = np.zeros((len(weights[l]),) * 2)
        outputs = []
        for unit in np.eye(len(weights[l])):
            for W in weights[l:]:
                unit = unit @ W
            outputs.append(unit)
        for gradient in np.transpose(outputs):
            expected += np.outer(gradient, gradient)
        np.testing.assert_allclose(agop, expected, rtol=0, atol=rounding(np.abs(expected).max(), 5 * 6))


@pytest.mark.parametrize("size", [1e-25, 1.0, 1e25])
def test_correlations_of_thin_matrices_do_not_depend_on_their_size(size):
    """Squares of 1e-25 and 1e25 have no place in single precision; NumPy in double precision has the value."""
    rng = np.random.default_rng(5)
    A, B = rng.standard_normal((2, 4, 4)).astype(np.float32)
    expected = np.corrcoef(A.astype(float).ravel(), B.astype(float).ravel())[0, 1]
    got = thin.Thin(jnp.asarray(size * A, jnp.float32)).pearson(thin.Thin(jnp.asarray(B)))
    assert float(got) == pytest.approx(expected, rel=0, abs=rounding(1, 16, np.float32))


def test_damped_steps_lower_the_loss_from_every_random_start():
    """Undamped Gauss–Newton steps overshoot from here and leave a hundredth of the loss or more at most starts."""
    problem = fact.Separation.of(tau=0.5, p=0.5, weight_decay=1e-3)
    start = np.random.default_rng(0).standard_normal((6, 6, 5))
    end = separation._levenberg_marquardt(problem, start, 60)

    def loss(theta):
        a, W = theta[:, 0], theta[:, 1:]
        misses = [sum(a_k * (w @ x) ** 2 for a_k, w in zip(a, W, strict=True)) - x @ problem.Q @ x for x in problem.X]
        return problem.weights @ np.square(misses) + problem.weight_decay / 2 * np.sum(theta**2)

    for before, after in zip(start, end, strict=True):
        assert loss(after) < 1e-3 * loss(before)


def test_batches_enter_a_step_only_by_their_second_moment():
    rng = np.random.default_rng(2)
    X, T = rng.standard_normal((20, 4)), rng.standard_normal((4, 2))
    start = fact.lemmas.linear_init(0, 4, 2, width=5, depth=3)
    options = {"weight_decay": 0.1, "rate": 0.05, "batch": 8, "epochs": 2, "seed": 3}
    trained = fact.train_linear_in_batches(X, T, start, **options)
    order, expected = np.random.default_rng(3), [W.copy() for W in start]
    for _ in range(2):
        rows = order.permutation(20)
        for part in (rows[:8], rows[8:16], rows[16:]):
            A, B, C = expected
            miss = 2 * (X[part] @ A @ B @ C - X[part] @ T) / (len(part) * 2)
            H = X[part] @ A
            slopes = (X[part].T @ miss @ C.T @ B.T, H.T @ miss @ C.T, (H @ B).T @ miss)
            expected = [W - 0.05 * (G + 0.1 * W) for W, G in zip(expected, slopes, strict=True)]
    # Single precision, six steps of sums of at most 8 terms of order one: 16 × 6 × 8 × 2⁻²⁴.
    assert max(np.abs(W - V).max() for W, V in zip(trained, expected, strict=True)) < 5e-5


def test_adam_on_the_population_loss_ends_at_the_minimiser():
    problem = fact.Separation.of(0.02, 1e-5, 1e-5)
    trained, exact = fact.train_separation(problem, iterations=50_000, seed=1), fact.minimise(problem)
    assert trained.loss == pytest.approx(exact.loss, rel=1e-3)
    assert trained.agop_cosine() > 0.99
