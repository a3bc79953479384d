"""The solved cases against brute force, limits and gradient flow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight import groups, models, tasks
from firstlight.theories import agf
from tests.tolerances import rounding


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_diagonal_networks_have_the_events_of_pesme_and_flammarion(seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(2, 8)), int(rng.integers(2, 12))
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)
    limit, near = agf.lemmas.pesme_flammarion(X, y), agf.predict_diagonal(X, y, eta=500.0)
    assert [(e.neurons, e.fallen) for e in near.events] == [(e.neurons, e.fallen) for e in limit.events]
    np.testing.assert_allclose(near.jump_times, limit.jump_times * agf.lemmas.acosh_exp(1000.0) / 1000.0, rtol=1e-9)
    # The end is a least-squares solution, of all samples if n < d.
    beta = near.parameters[-1, :, 0]
    assert np.abs(X.T @ (X @ beta - y)).max() < 1e-6 * np.abs(X.T @ y).max()


def test_the_exact_flow_is_that_of_the_network():
    rng = np.random.default_rng(1)
    X, alpha = rng.standard_normal((10, 3)), 0.05
    y = X @ np.array([2.0, 0.0, -1.0])
    problem = agf.neurons(lambda t, x: t[0] * t[1] * x, X.T, y, parameters=2, specific=True, kappa=2)
    theta = np.tile([np.sqrt(2) * alpha, 0.0], (3, 1))
    exact = agf.diagonal_flow(X, y, alpha, np.linspace(0.0, 0.5, 4))
    run = agf.follow(problem, theta, exact.times, eta=-np.log(alpha), rtol=1e-9)
    np.testing.assert_allclose(run.params.prod(-1), exact.params, atol=1e-6)
    np.testing.assert_allclose(run.loss, exact.loss, atol=1e-6)
    model = models.Diagonal(*exact_uv(exact.params[-1], alpha))
    np.testing.assert_allclose(np.asarray(model(X))[:, 0], X @ exact.params[-1], rtol=1e-4)


def test_the_exact_flow_ends_at_large_coefficients_too():
    run = agf.diagonal_flow(np.eye(2), np.array([40.0, -9.0]), 0.1, 20.0)
    np.testing.assert_allclose(run.final, [40.0, -9.0], rtol=1e-6)


def exact_uv(beta, alpha):
    x = np.arcsinh(beta / alpha**2) / 2
    return np.sqrt(2) * alpha * np.cosh(x), np.sqrt(2) * alpha * np.sinh(x)


def test_in_context_loss_and_gradient():
    task = agf.InContext(np.array([[1.0, 0.2], [0.2, 0.5]]), 6)
    theta = 0.3 * np.random.default_rng(0).standard_normal((3, 5))
    value, slope = task.problem.cost(theta)
    batch = tasks.in_context_regression(task.covariance, 6, 200_000, seed=1)
    y_hat = np.asarray(models.LinearAttention(*task.heads(theta))(*batch.inputs))
    errors = (batch.targets - y_hat) ** 2 / 2
    assert abs(errors.mean() - value) < 4 * errors.std() / np.sqrt(len(errors))
    numeric = np.zeros_like(theta)
    for at in np.ndindex(*theta.shape):
        e = np.zeros_like(theta)
        e[at] = 1e-6
        numeric[at] = (task.problem.cost(theta + e)[0] - task.problem.cost(theta - e)[0]) / 2e-6
    np.testing.assert_allclose(slope, numeric, atol=1e-6)


def test_heads_learn_principal_components_when_agf_says():
    task = agf.InContext(agf.power_law_covariance(3), 16)
    theta = task.initial(3, 1e-3, 0)
    steps = agf.predict(task.problem, theta, max_jumps=1)
    np.testing.assert_allclose(steps.levels, task.levels[:2], atol=1e-5)
    end = 1.1 * steps.jump_times[-1]
    run = agf.follow(task.problem, theta, np.concatenate([[0.0], np.geomspace(end / 100, end, 400)]), rtol=1e-6)
    assert steps.compare(run).time_error < 0.02
    assert np.all(
        steps.jump_times[:1] >= agf.lemmas.jump_bound(np.linalg.norm(theta, axis=1).max(), 3, task.largest_utility[0])
    )


def test_linear_networks_learn_by_sigma_not_by_mu():
    network = agf.LinearNetwork(np.diag([1.0, 0.01]), np.diag([1.0, 20.0]), 2)
    np.testing.assert_allclose(network.predict().levels, [2.5, 2.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(network.conjecture().levels, [2.5, 0.5, 0.0], atol=1e-12)
    run = network.flow(1e-12, np.linspace(0, 4.0, 50))
    assert run.loss[-1] == pytest.approx(2.0, rel=1e-3)
    assert len(agf.LinearNetwork(np.eye(2), np.diag([1.0, 0.0]), 2).predict().events) == 1


@pytest.mark.parametrize("name", ["Z6", "S3", "Q8", "D5"])
def test_template_costs_are_sums_over_all_pairs(name):
    group, rng = groups.parse(name), np.random.default_rng(0)
    task = agf.Template(group, rng.standard_normal(group.order))
    theta = rng.standard_normal((4, task.problem.parameters))
    u, v, w = task.weights(theta)
    A, B = task.orbit @ u.T, task.orbit @ v.T
    each = (A[:, None, :] + B[None, :, :]) ** 2
    y = task.orbit[group.table]
    value, slope = task.problem.cost(theta)
    assert value == pytest.approx(np.mean(((y - each @ w) ** 2).sum(-1)) / 2, rel=1e-10)
    active = theta.copy()
    active[2:] = 0
    r = y - each[..., :2] @ w[:2]
    U = np.einsum("abk,ks,abs->k", each, w, r) / group.order**2
    np.testing.assert_allclose(task.problem.utility(theta, task.problem.residual(active))[0], U, rtol=1e-9)
    e = np.zeros_like(theta)
    e[1, 3] = 1e-5
    numeric = (task.problem.cost(theta + e)[0] - task.problem.cost(theta - e)[0]) / 2e-5
    assert slope[1, 3] == pytest.approx(numeric, rel=1e-5, abs=rounding(value) / 1e-5)
    np.testing.assert_allclose(task.theta(u, v, w), theta, atol=1e-12)
    ahead, behind = (task.problem.cost(theta + sign * e)[1] for sign in (1, -1))
    np.testing.assert_allclose(task.hessian(theta)[1, 3], (ahead - behind) / 2e-5, rtol=1e-6, atol=1e-6)


def test_implicit_and_explicit_flows_agree():
    task = agf.Template("Z5", agf.harmonic_template(5, {1: 3.0, 2: 1.5}))
    theta = task.problem.initial(width=8, alpha=0.1, seed=0)
    stiff, plain = (
        agf.follow(task.problem, theta, np.linspace(0.0, 12.0, 5), solver=s, rtol=1e-8) for s in ("lsoda", "dop853")
    )
    assert stiff.loss[-1] < 0.5 * stiff.loss[0]
    np.testing.assert_allclose(stiff.params, plain.params, atol=1e-4)


@pytest.mark.parametrize("name", ["Z7", "S3", "Q8", "A4"])
def test_no_ascent_of_the_utility_passes_the_best_irrep(name):
    group, rng = groups.parse(name), np.random.default_rng(1)
    task = agf.Template(group, rng.standard_normal(group.order))
    theta = rng.standard_normal((60, task.problem.parameters))
    best = task.order[0].utility
    for _ in range(1500):
        theta /= np.linalg.norm(theta, axis=1, keepdims=True)
        theta = theta + 0.1 / best * task.first_utility(theta)[1]
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    U = task.first_utility(theta)[0]
    assert U.max() == pytest.approx(best, rel=1e-4)
    at = task.dominant(theta[[U.argmax()]])[0]
    assert task.components[at].label == task.order[0].label


def test_modular_utilities_agree_with_the_template_and_with_three_summands():
    rng = np.random.default_rng(2)
    x = agf.harmonic_template(9, {1: 4.0, 2: 2.0 + 1j})
    task = agf.Template("Z9", x)
    theta = rng.standard_normal((2, task.problem.parameters))
    weights = np.stack(task.weights(theta), axis=1)
    np.testing.assert_allclose(
        task.first_utility(theta)[0], [agf.lemmas.utility(neuron, x) for neuron in weights], rtol=1e-10
    )
    for k in (2, 3, 4):
        best = agf.lemmas.maximiser(x, 1, (0.2, 0.5), summands=k)
        assert np.sum(best**2) == pytest.approx(1.0)
        assert agf.lemmas.utility(best, x) == pytest.approx(agf.lemmas.utility_at(x, k)[1])


def test_three_summands_learn_the_larger_frequency_first():
    x = agf.harmonic_template(5, {1: 2.0, 2: 4.0})
    problem = agf.summands_problem(x, 3)
    theta = problem.initial(width=6, alpha=0.2, seed=0)
    steps = agf.predict(problem, theta, max_jumps=1)
    spectrum = np.abs(np.fft.fft(steps.events[0].directions.reshape(4, 5), axis=1))
    assert problem.kappa == 4
    assert (spectrum[:, 2] ** 2).sum() > 5 * (spectrum[:, 1] ** 2).sum()


def test_images_come_grey_and_white(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "few.npz", X=rng.integers(0, 255, (40, 4, 4, 3), np.uint8), y=np.arange(40) % 3)
    task = tasks.grey_images(tmp_path)
    X = task.inputs.dense()
    np.testing.assert_allclose(X.T @ X / 40, np.eye(X.shape[1]), atol=1e-9)
    np.testing.assert_allclose(task.targets.sum(1), 0.0, atol=1e-12)
    with pytest.raises(FileNotFoundError, match=r"give an \.npz file with X and y"):
        tasks.grey_images(tmp_path / "nothing")


def test_regression_tasks():
    task = tasks.linear_regression(np.array([1.0, 2.0]), samples=500, covariance=np.diag([4.0, 0.0]))
    X = task.inputs.dense()
    np.testing.assert_allclose(task.targets[:, 0], X @ [1.0, 2.0])
    assert np.std(X[:, 0]) == pytest.approx(2.0, rel=0.1)
    assert np.abs(X[:, 1]).max() < 1e-12
    with pytest.raises(ValueError, match="must have shape"):
        tasks.linear_regression(np.ones(2), 3, covariance=np.eye(3))


@pytest.mark.parametrize("form", ["predict", "conjecture"])
def test_modes_of_a_linear_network_accumulate_through_every_stage(form):
    """With Σ_xx and B diagonal, and one order of σ and μ, S_i = σ_i t from the start on: mode i jumps at 1/σ_i."""
    network = agf.LinearNetwork(np.diag([1.0, 2.0, 0.5, 1.0]), np.diag([3.0, 1.25, 2.2, 0.5]), 4)
    steps = getattr(network, form)()
    sigma = np.array([3.0, 2.5, 1.1, 0.5])
    # A stage of `predict` ends at gradients of 1e-10, which moves the next σ by a few times as much.
    np.testing.assert_allclose(steps.jump_times, 1 / sigma, rtol=1e-7)


@pytest.mark.parametrize(("summands", "learned"), [(2, ()), (2, (1,)), (2, (1, 3)), (3, (2,))])
def test_learned_frequencies_leave_the_utility_with_both_signs(summands, learned):
    """Brute force over the table: the residual is the orbit of the template without its harmonics ±ξ."""
    rng = np.random.default_rng(3)
    p, k = 7, summands
    x = agf.harmonic_template(p, {1: 2.0 + 1j, 2: 1.5, 3: -1.0 + 0.5j})
    hat = np.fft.fft(x)
    hat[[xi for frequency in learned for xi in (frequency, p - frequency)]] = 0
    rest = np.fft.ifft(hat).real
    weights = rng.standard_normal((k + 1, p))
    terms = []
    for elements in np.ndindex(*(p,) * k):
        z = sum(weights[s] @ np.roll(x, a) for s, a in enumerate(elements))
        terms.append(z**k * (weights[-1] @ np.roll(rest, sum(elements))))
    allowed = rounding(np.abs(terms).max(), 1)
    assert agf.lemmas.utility(weights, x, learned) == pytest.approx(np.mean(terms), rel=0, abs=allowed)


@pytest.mark.parametrize("k", [0, 3, 6, -3])
def test_a_harmonic_needs_two_conjugate_frequencies(k):
    with pytest.raises(ValueError, match=rf"must lie in 1…2, without 6/2, got {k} for p = 6"):
        agf.harmonic_template(6, {k: 1.0})


def _flows():
    X, y = np.eye(3), np.array([3.0, -2.0, 1.0])
    network = agf.LinearNetwork(np.eye(2), np.diag([2.0, 1.0]), 2)
    task = agf.InContext(np.diag([1.0, 0.5]), 8)
    theta = task.initial(2, 0.05)
    return {
        "diagonal": lambda watch: agf.diagonal_flow(X, y, 1e-4, 3.0, watch=watch),
        "linear": lambda watch: network.flow(1e-3, 2.0, watch=watch),
        "general": lambda watch: agf.follow(task.problem, theta, 40.0, watch=watch),
    }


@pytest.mark.parametrize("name", ["diagonal", "linear", "general"])
def test_a_watched_flow_reports_each_saved_time_with_its_loss(name):
    reports = []
    run = _flows()[name](lambda t, loss: reports.append((t, loss)))
    times, losses = np.array(reports).T
    assert times.tolist() == run.times.tolist()
    # The same formula is evaluated twice on the same states.
    np.testing.assert_allclose(losses, run.loss, rtol=64 * np.finfo(float).eps, atol=rounding(run.loss[0], 10))


@pytest.mark.parametrize("name", ["diagonal", "linear", "general"])
def test_an_error_of_the_watcher_ends_the_flow(name):
    def watch(t, loss):
        if t > 0:
            raise StopIteration

    with pytest.raises(StopIteration):
        _flows()[name](watch)
