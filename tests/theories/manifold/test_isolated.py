"""The isolated first layer: errors, other groups, deeper networks, and what Section 7 shows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from firstlight import models, tasks
from firstlight.claims.manifold.checks._networks import random_problem
from firstlight.theories import manifold


def test_a_simulation_step_is_eq_21_as_printed():
    split = tasks.group_task("Z7", encoding="summed").split(fraction=0.7, seed=0)
    E = manifold.embedding(0, 7, 40).astype(np.float64)
    run = manifold.simulate(split, E, eta=0.1, steps=1, every=1)
    X, Y = split.train_inputs.dense(), np.eye(7)[split.train_targets]
    Z = X @ E
    H = np.maximum(Z, 0)
    A = np.linalg.inv(H @ H.T)
    expected = E + 0.1 * (X.T @ ((A @ Y @ Y.T @ A @ H) * (Z > 0)) - E)
    np.testing.assert_allclose(run.W, expected, rtol=1e-9)
    assert run.frame["train_error"].max() < 1e-9


def test_euler_steps_converge_to_eq_21_at_first_order():
    split = tasks.group_task("Z5", encoding="summed").split(fraction=0.7, seed=0)
    X, Y = split.train_inputs.dense(), np.eye(5)[split.train_targets]
    E = np.random.default_rng(0).standard_normal((5, 24))

    def printed(_, flat):
        W = flat.reshape(E.shape)
        H = np.tanh(X @ W)
        A = np.linalg.inv(H @ H.T + 0.1 * np.eye(len(X)))
        return (X.T @ ((A @ Y @ Y.T @ A @ H) * (1 - H**2)) - W).ravel()

    exact = solve_ivp(printed, (0, 0.5), E.ravel(), method="DOP853", rtol=1e-9).y[:, -1].reshape(E.shape)
    errors = []
    for steps in (50, 100):
        run = manifold.simulate(split, E, sigma="tanh", lam=0.1, eta=0.5 / steps, steps=steps, every=steps)
        errors.append(np.abs(run.W - exact).max())
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


def test_any_group_can_be_simulated_and_its_irreps_measured():
    # Inputs of a non-Abelian group must keep the order of the factors.
    split = tasks.group_task("S3").split(fraction=0.7, seed=0)
    W = manifold.embedding(0, 12, 64)
    run = manifold.simulate(split, W, eta=0.02, steps=40, every=20)
    assert run.status == "finished"
    measures = manifold.measure_embedding(run.W[:6], "S3")
    assert np.isnan(measures.log_ratio)
    assert 0 < measures.aspect < 1
    with pytest.raises(ValueError, match="the embedding must have 6 rows"):
        manifold.measure_embedding(run.W, "S3")


def test_irreps_and_frequencies_see_the_same_circles():
    E = np.random.default_rng(0).standard_normal((7, 30))
    ours, theirs = manifold.measure_embedding(E), manifold.measure_embedding(E, "Z7")
    assert theirs.aspect == pytest.approx(ours.aspect)
    assert theirs.spread == pytest.approx(ours.spread)


def test_the_last_layer_of_a_deep_network_can_be_isolated_away():
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        inputs, Y = tasks.DenseInputs(rng.standard_normal((6, 3))), rng.standard_normal((6, 2))
        model = models.Deep.init(jax.random.key(0), inputs=3, widths=(5, 8), outputs=2, activation="tanh")
        theta_1, features = manifold.lemmas.deep_features(model, inputs)
        inner = manifold.lemmas.ridge_inner(features, Y, lam=0.1)

        def loss(below, V):
            norms = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves((below, V)))
            return jnp.sum((features(below) @ V - Y) ** 2) + 0.1 * norms

        both = jax.jit(lambda below: manifold.lemmas.isolated_value_and_grad(loss, inner, below))
        (first, second), _ = theta_1
        X, U, h = inputs.dense(), rng.standard_normal(first.shape), 1e-6
        H = np.tanh(np.tanh(X @ first) @ second)
        best = np.linalg.solve(H.T @ H + 0.1 * np.eye(8), H.T @ Y)
        value, slope = both(theta_1)
        ahead, behind = (both(((first + s * U, second), None))[0] for s in (h, -h))
    least = np.sum((H @ best - Y) ** 2) + 0.1 * sum(np.sum(part**2) for part in (first, second, best))
    assert float(value) == pytest.approx(least, rel=1e-6)
    assert float(np.sum(np.asarray(slope[0][0]) * U)) == pytest.approx(float(ahead - behind) / (2 * h), rel=1e-5)


def test_the_isolated_flow_ends_at_the_minimum_over_both_parts():
    def loss(a, b):
        return (a * b - 1.0) ** 2 + 0.1 * (a**2 + b**2)

    path = manifold.isolated_flow(loss, lambda a: a / (a**2 + 0.1), np.float64(3.0), [0.0, 10.0, 100.0])
    assert (np.diff(path.loss) < 0).all()
    assert path.final == pytest.approx(0.9**0.5, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 10}, r"full row rank of H \(eq. 20\): the hidden features of 19 samples have rank 10"),
        ({"lam": -0.1}, "λ must be a finite number ≥ 0, got -0.1"),
    ],
)
def test_errors_name_the_assumption_that_fails(change, message):
    split = tasks.group_task("Z7", encoding="summed").split(fraction=0.7, seed=0)
    width = change.pop("width", 40)
    with pytest.raises(manifold.AssumptionFails, match=message):
        manifold.simulate(split, manifold.embedding(0, 7, width), steps=1, **change)


def test_two_rates_need_decay_and_a_positive_ratio():
    split = tasks.group_task("Z5", encoding="summed").split(fraction=0.7, seed=0)
    problem = manifold.isolate(split, "tanh", lam=0.0)
    with pytest.raises(manifold.AssumptionFails, match="λ must be a finite number > 0"):
        manifold.lemmas.two_rate_flow(problem, {}, 1.0, 1.0)
    with pytest.raises(ValueError, match="ratio must be positive, got 0"):
        manifold.lemmas.two_rate_flow(manifold.isolate(split, "tanh", lam=0.1), {}, 0.0, 1.0)


def test_two_rates_are_the_equations_of_both_layers_solved_by_another_method():
    problem, W = random_problem(0, "tanh", lam=0.1, bias=False, sizes=(4, 2, 5, 1))
    X, Y, start = problem.inputs.dense(), np.asarray(problem.Y), manifold.lemmas.best_layers(problem, W)

    def both(_, flat):
        W, V = flat[:10].reshape(2, 5), flat[10:].reshape(5, 1)
        H = np.tanh(X @ W)
        left = H @ V - Y
        slopes = X.T @ ((left @ V.T) * (1 - H**2)) + 0.1 * W, 100.0 * (H.T @ left + 0.1 * V)
        return -np.concatenate([part.ravel() for part in slopes]) / 0.1

    missed = np.sum((np.tanh(X @ W) @ start["V"] - Y) ** 2)
    exact = solve_ivp(
        both, (0, 1), np.r_[start["W"].ravel(), start["V"].ravel()], method="Radau", rtol=1e-8, atol=1e-10
    )
    for solver in ("tsit5", "radau"):
        ours = manifold.lemmas.two_rate_flow(problem, start, 100.0, [0.0, 1.0], solver=solver, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(ours.final["W"].ravel(), exact.y[:10, -1], rtol=1e-5)
        np.testing.assert_allclose(ours.final["V"].ravel(), exact.y[10:, -1], rtol=1e-5)
        np.testing.assert_allclose(ours.loss[0], np.sum(W**2) / 2 + np.sum(start["V"] ** 2) / 2 + missed / 0.2)
    with pytest.raises(ValueError, match="needs a list of at least two times, got 1"):
        manifold.lemmas.two_rate_flow(problem, start, 100.0, 1.0)
    with pytest.raises(ValueError, match=r"needs a list of at least two times, got \[0\.\]"):
        manifold.lemmas.two_rate_flow(problem, start, 100.0, [0.0])


def test_repeated_inputs_make_the_zero_loss_limit_undefined():
    # Ordered pairs of an Abelian group, summed, would appear twice; made here by hand.
    X = np.repeat(np.random.default_rng(0).standard_normal((3, 4)), 2, axis=0)
    problem = manifold.Isolated(tasks.DenseInputs(X), np.ones((6, 1)), "relu")  # type: ignore[arg-type]
    with pytest.raises(manifold.AssumptionFails, match="rank 3 with 12 hidden units"):
        problem.require_start(np.random.default_rng(1).standard_normal((4, 12)))


@pytest.mark.parametrize(
    ("W", "options", "message"),
    [
        (np.ones((6, 40)), {}, r"W must be \(7, K\), one row per input of this split, got \(6, 40\)"),
        (np.ones(7), {}, r"W must be \(7, K\).*got \(7,\)"),
        (np.ones((7, 40), int), {}, "W must be float32 or float64.*got int64"),
        (np.full((7, 40), np.nan), {}, "W must be finite, got 280 entries"),
        (None, {"steps": 0}, "steps must be at least 1, got 0"),
        (None, {"every": 0}, "every must be at least 1, got 0"),
        (None, {"eta": float("nan")}, "eta must be a finite number > 0, got nan"),
        (None, {"steps": 5, "snapshots": (0, 6)}, r"between 0 and steps = 5, got \[6\]"),
    ],
)
def test_a_simulation_refuses_what_it_cannot_start_from(W, options, message):
    split = tasks.group_task("Z7", encoding="summed").split(fraction=0.7, seed=0)
    with pytest.raises(ValueError, match=message):
        manifold.simulate(split, manifold.embedding(0, 7, 40) if W is None else W, **options)


def test_steps_too_long_diverge_and_a_lost_rank_is_singular():
    split = tasks.group_task("Z5", encoding="summed").split(fraction=0.7, seed=0)
    W = manifold.embedding(0, 5, 40)
    far = manifold.simulate(split, W, eta=1e6, steps=40, every=20)
    assert far.status == "diverged"
    assert np.isfinite(far.W).all()
    assert far.frame["step"].tolist() == [0]
    # All but the first units are tiny: H has its rank in exact arithmetic, HHᵀ has not in single precision.
    flat = np.concatenate([np.ones((5, 1)), 1e-5 * W], axis=1).astype(np.float32)
    stuck = manifold.simulate(split, flat, steps=5, every=5)
    assert stuck.status == "singular"
    assert "singular" in repr(stuck)
    assert manifold.simulate(split, flat.astype(np.float64), eta=1e-9, steps=1, every=1).status == "finished"


def test_measures_of_what_has_no_circles():
    with pytest.raises(ValueError, match="at least 3 elements, one per row; got 2"):
        manifold.measure_embedding(np.ones((2, 5)))
    with pytest.raises(ValueError, match="every feature of the embedding is zero"):
        manifold.measure_embedding(np.ones((7, 5)))
    with pytest.raises(ValueError, match="must be finite"):
        manifold.measure_embedding(np.full((7, 5), np.nan))
    # Equal values at j and −j have no imaginary part: what is not there has no direction and does not count.
    even = manifold.measure_embedding(np.cos(2 * np.pi * np.outer(np.arange(8), [1, 2]) / 8).round(12))
    assert np.isfinite([even.aspect, even.cosine, even.other]).all()


def test_the_closed_form_of_the_hyperbola_is_for_points_on_it():
    with pytest.raises(ValueError, match=r"starts on w₁w₂ = 1, got w₁w₂ = 1\.5; project it first"):
        manifold.lemmas.hyperbola(np.array([3.0, 0.5]), np.zeros(1))
