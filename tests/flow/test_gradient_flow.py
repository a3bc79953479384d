"""Gradient flow against closed forms, conserved quantities and the order of its solvers."""

import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from firstlight.flow._gradient_flow import FlowOptions, gradient_flow
from firstlight.flow.population import population_loss, population_value_and_grad
from firstlight.groups import cyclic
from firstlight.records._spec import Loss

RNG = np.random.default_rng(0)


def saddle(p):
    return (p["u"] * p["v"] - 1) ** 2 / 2


def logistic(t, x0):
    """x = uv with u = v obeys x′ = 2x(1 − x)."""
    return 1 / (1 + (1 / x0 - 1) * np.exp(-2 * t))


def test_linear_regression_relaxes_exponentially_at_the_given_rates_after_one_compilation():
    X, y, w0 = RNG.normal(size=(12, 4)), RNG.normal(size=12), RNG.normal(size=4)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    traces, traced = [], []

    def regression(w):
        traces.append(1)
        return jnp.mean((X @ w - y) ** 2) / 2

    for rates, last in ((np.ones(4), 4.0), (np.array([1.0, 0.5, 2.0, 0.1]), 9.0)):
        times = np.array([0.0, 0.3, 1.0, last])
        flow = gradient_flow(regression, w0, times, rates=rates)
        traced.append(len(traces))
        exact = np.array([best + expm(-t * rates[:, None] * X.T @ X / len(y)) @ (w0 - best) for t in times])
        assert flow.status == "finished"
        assert flow.event_time is None
        np.testing.assert_array_equal(flow.times, times)
        np.testing.assert_allclose(flow.params, exact, rtol=0, atol=1e-9)
        np.testing.assert_allclose(flow.loss, ((exact @ X.T - y) ** 2).mean(1) / 2, rtol=0, atol=1e-9)
    assert traced[0] == traced[1]


@pytest.mark.parametrize(("solver", "order"), [("dopri8", 8), ("tsit5", 5), ("kvaerno5", 5)])
def test_steps_grow_as_the_tolerance_to_the_power_of_minus_one_over_the_order(solver, order):
    x0, last = 1e-3, 6.0
    tolerances = 10.0 ** -np.arange(7, 13)
    steps = []
    for rtol in tolerances:
        start = {"u": np.sqrt(x0), "v": np.sqrt(x0)}
        flow = gradient_flow(saddle, start, [0, last], solver=solver, rtol=rtol, atol=1e-3 * rtol)
        assert abs(flow.final["u"] * flow.final["v"] / logistic(last, x0) - 1) < rtol
        steps.append(flow.steps)
    slope = np.polyfit(np.log(tolerances), np.log(steps), 1)[0]
    assert -slope * order == pytest.approx(1, abs=0.15)


def test_the_escape_from_a_saddle_is_timed_by_an_event():
    def half(p, t):
        return p["u"] * p["v"] - 0.5

    for x0 in (1e-12, 1e-4):
        exact = np.log(1 / x0 - 1) / 2
        start = {"u": np.sqrt(x0), "v": np.sqrt(x0)}
        for times in ([0, 100], [0, 50]):
            flow = gradient_flow(saddle, start, times, event=half)
            assert flow.status == "event"
            assert flow.event_time == flow.times[-1] == pytest.approx(exact, abs=1e-6)
            assert flow.final["u"] * flow.final["v"] == pytest.approx(0.5, abs=1e-9)
            assert (np.diff(flow.times) > 0).all()
        np.testing.assert_allclose(flow.loss, saddle(flow.params), rtol=1e-12)
    missed = gradient_flow(saddle, start, [0, 1], event=half)
    assert (missed.status, missed.event_time) == ("finished", None)


def test_loss_below_stops_at_the_level_or_at_once():
    level = 0.32  # (1 − x)² / 2 at x = 0.2
    start = {"u": 0.1, "v": 0.1}
    flow = gradient_flow(saddle, start, 10.0, loss_below=level)
    exact = np.log((1 / 0.01 - 1) / (1 / 0.2 - 1)) / 2
    assert flow.status == "event"
    assert flow.event_time == pytest.approx(exact, abs=1e-9)
    at_once = gradient_flow(saddle, start, 10.0, loss_below=0.5)
    assert (at_once.status, at_once.event_time, len(at_once.times)) == ("event", 0.0, 1)


def test_a_two_layer_linear_net_conserves_its_imbalance():
    W, V = 0.3 * RNG.normal(size=(4, 3)), 0.3 * RNG.normal(size=(3, 2))
    target = RNG.normal(size=(4, 2))

    def loss(p):
        return jnp.sum((p["W"] @ p["V"] - target) ** 2) / 2

    flow = gradient_flow(loss, {"W": W, "V": V}, 30.0)
    W_t, V_t = flow.params["W"], flow.params["V"]
    imbalance = W_t.transpose(0, 2, 1) @ W_t - V_t @ V_t.transpose(0, 2, 1)
    np.testing.assert_allclose(imbalance, np.broadcast_to(W.T @ W - V @ V.T, imbalance.shape), rtol=0, atol=1e-9)
    assert (np.diff(flow.loss) < 1e-15).all()
    assert flow.loss[-1] < 1e-8
    assert list(flow.frame.columns) == ["time", "loss", "V_norm", "W_norm"]
    assert "finished" in flow._repr_html_()


def test_precision_of_the_caller_neither_matters_nor_changes():
    start = {"u": 0.125, "v": 0.25}  # exact in every precision
    flows = [
        gradient_flow(saddle, jax.tree.map(convert, start), [0, 3])
        for convert in (float, np.float32, jnp.float32, lambda a: np.array(a, np.float16))
    ]
    for flow in flows:
        leaves = [flow.times, flow.loss, *jax.tree.leaves(flow.params)]
        assert all(isinstance(leaf, np.ndarray) and leaf.dtype == np.float64 for leaf in leaves)
        np.testing.assert_array_equal(flow.loss, flows[0].loss)
    assert not jax.config.jax_enable_x64
    assert jnp.ones(1).dtype == jnp.float32


def test_failures_on_the_way_are_a_status():
    blow_up = gradient_flow(lambda x: -jnp.sum(x**4), np.array([1.0]), np.linspace(0, 1, 11))  # x = (1 − 8t)^(−½)
    assert blow_up.status == "diverged"
    assert blow_up.times[-1] == pytest.approx(1 / 8, abs=1e-6)
    assert np.isfinite(blow_up.loss).all()
    short = gradient_flow(saddle, {"u": 0.1, "v": 0.2}, np.linspace(0, 10, 11), max_steps=4)
    assert short.status == "max_steps"
    assert 0 < short.times[-1] < 10
    assert np.isfinite(short.loss).all()


def test_a_given_gradient_and_a_module_as_parameters():
    group, loss = cyclic(5), Loss(reduction="sum")

    class Net(eqx.Module):
        W: jax.Array
        V: jax.Array
        name: str = "net"

    def value(net):
        return population_loss(net.W, net.V, group, (0.0, 0.0, 1.0), loss)

    def gradient(net):
        dW, dV = population_value_and_grad(net.W, net.V, group, (0.0, 0.0, 1.0), loss)[1]
        return Net(dW, dV)

    W, V = 0.3 * RNG.normal(size=(10, 6)), 0.3 * RNG.normal(size=(6, 5))
    flow = gradient_flow(value, Net(jnp.asarray(W), jnp.asarray(V)), [0, 0.5], gradient=gradient)
    assert flow.final.name == "net"

    def field(t, theta):
        theta = jnp.asarray(theta)
        grads = gradient(Net(theta[:60].reshape(10, 6), theta[60:].reshape(6, 5)))
        return -np.concatenate([np.ravel(grads.W), np.ravel(grads.V)])

    with jax.enable_x64(True):
        start = np.concatenate([W.astype(np.float32).ravel(), V.astype(np.float32).ravel()]).astype(float)
        other = solve_ivp(field, (0, 0.5), start, method="DOP853", rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(flow.final.W.ravel(), other.y[:60, -1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(flow.final.V.ravel(), other.y[60:, -1], rtol=0, atol=1e-8)


def test_what_cannot_start_says_why():
    with pytest.raises(ValueError, match="start at a finite loss, got inf"):
        gradient_flow(saddle, {"u": 1e200, "v": 1.0}, [0, 1])
    with pytest.raises(ValueError, match=r"single number, got shape \(2,\)"):
        gradient_flow(lambda x: x, np.ones(2), 1.0)
    start = {"u": 0.1, "v": 0.2}
    for message, bad in {
        "times must be a positive number": {"times": [0, 1, 1]},
        "unknown solver 'euler'; use one of dopri8": {"solver": "euler"},
        "either event or loss_below": {"event": lambda p, t: t, "loss_below": 0.1},
        "rates must be a number or a prefix": {"rates": {"w": 1.0}},
        "must be positive, got rtol=0": {"rtol": 0.0},
    }.items():
        with pytest.raises(ValueError, match=message):
            gradient_flow(saddle, start, **({"times": 1.0} | bad))
    with pytest.raises(ValueError, match="params must be real"):
        gradient_flow(saddle, {"u": 1j, "v": 1.0}, 1.0)
    with pytest.raises(ValueError, match="at least one floating-point array"):
        gradient_flow(saddle, {"u": 1}, 1.0)


def test_the_options_that_callers_pass_on_are_keywords_of_gradient_flow():
    keywords = {
        name: parameter.annotation
        for name, parameter in inspect.signature(gradient_flow).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    options = FlowOptions.__annotations__
    assert options
    assert options == {name: keywords.get(name) for name in options}
