"""Algorithm 1 on problems with known answers, its options, its ways to end, and its errors."""

import numpy as np
import pytest

from firstlight.theories import agf
from firstlight.theories.agf import _predict as engine


@pytest.fixture(scope="module")
def sparse():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4)) / np.sqrt(np.arange(1, 5))
    return X, X @ np.array([4.0, -6.0, 5.0, 3.0])


@pytest.fixture(scope="module")
def diagonal(sparse):
    X, y = sparse
    return agf.neurons(lambda t, x: t[0] * t[1] * x, X.T, y, parameters=2, specific=True)


def tiny():
    return agf.network(np.eye(2), np.ones(2), "linear", kappa=2), np.full((2, 3), 0.1)


def start(alpha):
    return np.tile([np.sqrt(2) * alpha, 0.0], (4, 1))


@pytest.mark.parametrize("alpha", [1e-2, 1e-5])
def test_the_engine_finds_the_closed_form_of_diagonal_networks(sparse, diagonal, alpha):
    exact, steps = agf.predict_diagonal(*sparse, alpha), agf.predict(diagonal, start(alpha))
    assert [e.neurons for e in steps.events] == [e.neurons for e in exact.events]
    np.testing.assert_allclose(steps.flow_times, exact.flow_times, rtol=1e-4)
    np.testing.assert_allclose(steps.levels, exact.levels, atol=1e-6 * exact.levels[0])


def test_times_scale_with_the_clock_and_events_do_not(diagonal):
    steps, fast = (agf.predict(diagonal, start(1e-3), eta=eta) for eta in (1.0, "accelerated"))
    assert fast.eta == pytest.approx(-np.log(np.sqrt(2) * 1e-3))
    np.testing.assert_allclose(fast.flow_times, steps.flow_times, rtol=1e-6)
    assert [e.neurons for e in fast.events] == [e.neurons for e in steps.events]


def test_gradient_flow_approaches_the_staircase(diagonal):
    scores = []
    for alpha in (1e-2, 1e-8):
        steps = agf.predict(diagonal, start(alpha), eta="accelerated")
        run = agf.follow(diagonal, start(alpha), np.linspace(0, 1.2 * steps.jump_times[-1], 800), eta=steps.eta)
        scores.append(steps.distance(run))
    assert scores[1] < 0.4 * scores[0]
    comparison = steps.compare(run)
    assert comparison.time_error < 0.1
    assert len(comparison.frame) == 4
    assert "4 of 4 jumps seen" in repr(comparison)
    shown = steps.figure_data(run)
    assert shown.kind == "staircase"
    np.testing.assert_allclose(shown.arrays["levels"], steps.levels)


def test_following_does_not_mind_how_small_the_start_is(sparse, diagonal):
    X, y = sparse
    alpha = 1e-60
    exact = agf.diagonal_flow(X, y, alpha, np.linspace(0, 0.2, 5))
    flow = agf.follow(diagonal, start(alpha), exact.times, eta=-np.log(alpha))
    beta = flow.params[..., 0] * flow.params[..., 1]
    np.testing.assert_allclose(beta[-1], exact.params[-1], rtol=1e-4, atol=1e-8)


def test_neurons_with_a_label_or_nearly_at_the_threshold_go_together(diagonal):
    everyone = agf.predict(diagonal, start(1e-3), groups=lambda theta_bar: np.zeros(len(theta_bar)))
    assert len(everyone.events) == 1
    assert everyone.events[0].neurons == (0, 1, 2, 3)
    assert len(agf.predict(diagonal, start(1e-3), tie=0.999).events) < 4
    halved = agf.predict(diagonal, start(1e-3), constraint=lambda theta, active: theta / 2, max_jumps=1)
    assert halved.levels[1] > agf.predict(diagonal, start(1e-3), max_jumps=1).levels[1]


def test_history_is_copied_and_html_shows_the_events(diagonal):
    steps = agf.predict(diagonal, start(1e-3))
    assert not np.shares_memory(steps.parameters[0], steps.parameters[1])
    assert np.abs(steps.parameters[0]).max() == 0
    assert (np.linalg.norm(steps.parameters[1], axis=1) > 0).sum() == 1
    assert "<table" in steps._repr_html_()
    assert steps.loss_at(0.0) == steps.levels[0]


def test_dead_neurons_end_the_run_and_do_not_hang():
    problem = agf.network(-np.ones((3, 1)), np.ones(3), "relu")
    steps = agf.predict(problem, np.array([[0.01, 0.01]]))
    assert steps.status == "stalled"
    assert "cannot be learned" in repr(steps)
    assert agf.predict(problem, np.array([[-0.01, 0.01]]), max_time=1e-3).status == "max_time"
    assert agf.predict(problem, np.array([[-0.01, 0.01]])).levels[-1] < 1e-9


@pytest.mark.parametrize(
    ("activation", "kappa"),
    [("tanh", 2), ("relu", 2), ("quadratic", 3), ("power3", 4), (lambda z: z * abs(z) ** 0.5, 2.5)],
)
def test_kappa_is_found_by_scaling(activation, kappa):
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((30, 3)))
    problem = agf.network(X, X.sum(1) ** 2, activation)
    assert problem.kappa == pytest.approx(kappa, abs=0.02)


def test_the_rate_per_neuron_aligns_first_and_keeps_the_levels():
    task = agf.InContext(np.diag([1.0, 0.4]), 8)
    theta = task.initial(3, 1e-2, 0)
    plain, adaptive = (agf.predict(task.problem, theta, adaptive=flag, max_jumps=2) for flag in (False, True))
    np.testing.assert_allclose(adaptive.levels, plain.levels, atol=1e-5)
    assert adaptive.jump_times[0] < plain.jump_times[0]


def test_single_precision_gives_the_same_staircase():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = np.maximum(X[:, 0], 0.0)
    exact, single = (agf.network(X, y, "relu", kappa=2, single=flag) for flag in (False, True))
    theta = exact.initial(width=1, alpha=1e-8, seed=2)
    double, other = (agf.predict(problem, theta) for problem in (exact, single))
    np.testing.assert_allclose(other.jump_times, double.jump_times, rtol=1e-2)
    np.testing.assert_allclose(other.levels, double.levels, atol=1e-3 * double.levels[0])


def test_cascades_are_seen_as_one_jump():
    steps = agf.lemmas.from_levels([10.0, 11.0, 12.0, 100.0], [1.0, 0.9, 0.4, 0.3, 0.0], [0, 1, 2, 3], eta=1.0, kappa=3)
    seen = steps.visible()
    np.testing.assert_allclose(seen.jump_times, [11.0, 100.0])
    np.testing.assert_allclose(seen.levels, [1.0, 0.3, 0.0])


def test_a_cost_phase_keeps_what_gradient_flow_keeps_and_passes_saddles():
    # Four neurons on Z7: the flow conserves 2‖w‖² − ‖u‖² − ‖v‖² of each and dwells at a saddle at 2.39 before 1.895.
    task = agf.Template("Z7", agf.harmonic_template(7, {1: 6.0, 3: 3.0}))
    theta = task.problem.initial(width=21, alpha=1e-3, seed=0)
    steps = agf.predict(task.problem, theta, max_jumps=4)
    np.testing.assert_allclose(steps.levels[1:], [5.8464, 3.8993, 2.6917, 1.8945], rtol=1e-3)
    u, v, w = task.weights(steps.parameters[-1])
    conserved = 2 * (w**2).sum(1) - (u**2).sum(1) - (v**2).sum(1)
    woken = {e.neurons[0]: e.directions for e in steps.events}
    for neuron, direction in woken.items():
        u, v, w = (part[0] for part in task.weights(direction))
        assert conserved[neuron] == pytest.approx(2 * w @ w - u @ u - v @ v, abs=0.02)


def test_a_neuron_that_returns_to_the_origin_sleeps_and_wakes_with_the_other_sign():
    # Figure 8's problem: β₁ wakes, falls asleep when β₂ wakes, and wakes again negative.
    X = np.sqrt(2) * np.linalg.cholesky(np.array([[7.0, 10.392304845], [10.392304845, 19.0]]))
    y = X @ np.array([-0.2, 2.0])
    problem = agf.neurons(lambda t, x: t[0] * t[1] * x, X.T, y, parameters=2, specific=True, kappa=2)
    for alpha in (1e-2, 1e-6):
        exact = agf.predict_diagonal(X, y, alpha)
        steps = agf.predict(problem, np.tile([np.sqrt(2) * alpha, 0.0], (2, 1)))
        assert [(e.neurons, e.fallen) for e in steps.events] == [(e.neurons, e.fallen) for e in exact.events]
        np.testing.assert_allclose(steps.levels, exact.levels, atol=1e-5 * exact.levels[0])
        # The last wait starts from the 2α² by which u² and v² differ, which the solvers keep to a few per cent of it.
        np.testing.assert_allclose(steps.flow_times, exact.flow_times, rtol=1e-2)
        assert steps.parameters[1, 0].prod() > 0 > steps.parameters[-1, 0].prod()


def test_a_staircase_without_jumps_can_be_looked_at(diagonal):
    none = agf.predict(diagonal, start(1e-3), max_jumps=0)
    assert none.status == "max_jumps"
    assert none.visible().levels == none.levels
    assert len(none.compare([0.0, 1.0], [1.0, 1.0]).frame) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: agf.network(np.eye(2), np.ones(2), "sigmoid"), r"must pass through the origin, σ\(0\) = 0.*0\.5"),
        (lambda: agf.network(np.zeros((0, 2)), np.zeros(0)), "at least one sample"),
        (lambda: agf.network(np.eye(2), np.ones(3)), "one row per sample, got 2 and 3"),
        (lambda: agf.network(np.eye(2), np.array([1.0, np.nan])), "must be finite"),
        (lambda: agf.network(np.eye(2), np.ones(2), "linear", kappa=1), "kappa.*at least 2, got 1"),
        (lambda: agf.network(np.eye(2), np.ones(2)).initial(3, alpha=0.0), "alpha must be a finite number > 0, got 0"),
        (lambda: agf.network(np.eye(2), np.zeros(2)), "kappa could not be found"),
        (lambda: agf.neurons(lambda t, X: X @ t + 1, np.eye(2), np.ones(2), 2, kappa=2), "all parameters zero"),
        (lambda: agf.neurons(lambda t, X: (X @ t)[:1], np.eye(2), np.ones(2), 2, kappa=2), "shape of y"),
        (lambda: agf.predict(agf.network(np.eye(2), np.ones(2)), np.ones((2, 5))), r"shape \(K, 3\).*got \(2, 5\)"),
        (lambda: agf.predict(agf.network(np.eye(2), np.ones(2)), np.zeros((2, 3))), "norm > 0"),
        (lambda: agf.predict(agf.network(np.eye(2), np.ones(2)), np.ones((2, 3))), "below 1"),
        (lambda: agf.predict(*tiny(), eta=0.0), "eta, the clock, must be a finite number > 0"),
        (lambda: agf.predict(*tiny(), eta="fast"), "'accelerated', got 'fast'"),
        (lambda: agf.predict(*tiny(), groups=lambda theta_bar: [0]), "one label per neuron"),
        (lambda: agf.follow(*tiny(), [0.0, 2.0, 1.0]), "increase from 0"),
        (lambda: agf.follow(*tiny(), -1.0), "one number > 0"),
        (lambda: agf.follow(tiny()[0], np.ones((2, 7)), 1.0), r"theta must be \(K, 3\).*got shape \(2, 7\)"),
        (
            lambda: agf.lemmas.pesme_flammarion(np.eye(1), np.ones(1)).compare([0.0, 1.0], [np.nan, 1.0]),
            "loss be finite",
        ),
        (lambda: agf.lemmas.threshold(0.0, 3), "norm must be > 0, got 0.0"),
        (lambda: agf.lemmas.pesme_flammarion(np.full((2, 2), np.nan), np.ones(2)), "X and y must be finite"),
        (lambda: agf.LinearNetwork(-np.eye(2), np.eye(2), 2), "without negative eigenvalues"),
        (lambda: agf.LinearNetwork(np.eye(2), np.eye(2), 2).flow(1.0, 1.0), r"alpha must lie in \(0, 1\)"),
        (lambda: agf.predict_diagonal(np.eye(2), np.ones(2), 0.9), "below 1/√2"),
        (lambda: agf.predict_diagonal(np.eye(2), np.ones(3), 0.1), r"X must be \(n, d\)"),
        (lambda: agf.Template("Z5", np.ones(4)), "must be 5 finite numbers"),
        (lambda: agf.Template("Z5", np.ones(5)), "must not be constant"),
    ],
)
def test_errors_say_what_is_wrong_and_how_to_mend_it(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_neurons_exactly_at_the_threshold_wake_with_the_first(diagonal):
    """With η = 1, S = c in every digit for neurons 0 and 2, and less for the others."""
    state = engine._State(diagonal, start(1e-3), 1.0, False)
    state.S = state.c * np.array([1.0, 0.5, 1.0, 0.5])
    assert state.wake(0, None, tie=0.0) == (0, 2)
    state.S[1] = 0.75 * state.c[1]
    assert state.wake(0, None, tie=0.25) == (1,)
