"""Optimizers against PyTorch's and against optax composed by hand."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from optax.contrib import muon

from firstlight import models
from firstlight.flow import Optimizer, Schedule, schedule
from firstlight.flow import _optimizer as opt
from tests.tolerances import rounding

torch = pytest.importorskip("torch")


def _ours(optimizer: Optimizer, steps: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    A = jnp.asarray(rng.normal(size=(6, 4)))
    params = {"W": jnp.asarray(rng.normal(size=(4, 3)))}
    loss = lambda p: jnp.sum((A @ p["W"] - 1.0) ** 2)  # noqa: E731
    state, numbers = opt.init(optimizer, params), opt.rates(optimizer, jnp.float64)
    for step in range(steps):
        params, state = opt.update(optimizer, numbers, params, jax.grad(loss)(params), state, step, steps)
    return np.asarray(params["W"])


def _torch(make, steps: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    A = torch.tensor(rng.normal(size=(6, 4)))
    W = torch.tensor(rng.normal(size=(4, 3)), requires_grad=True)
    optimizer = make([W])
    for _ in range(steps):
        optimizer.zero_grad()
        ((A @ W - 1.0) ** 2).sum().backward()
        optimizer.step()
    return W.detach().numpy()


CASES = {
    "sgd": (
        Optimizer(name="sgd", learning_rate=1e-2, weight_decay=0.1),
        functools.partial(torch.optim.SGD, lr=1e-2, weight_decay=0.1),
    ),
    "momentum": (
        Optimizer(name="sgd", learning_rate=1e-2, momentum=0.9),
        functools.partial(torch.optim.SGD, lr=1e-2, momentum=0.9),
    ),
    "adam": (
        Optimizer(name="adam", learning_rate=1e-2, weight_decay=0.1),
        functools.partial(torch.optim.Adam, lr=1e-2, weight_decay=0.1),
    ),
    "adamw": (
        Optimizer(name="adamw", learning_rate=1e-2, weight_decay=0.1),
        functools.partial(torch.optim.AdamW, lr=1e-2, weight_decay=0.1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_torch(name: str) -> None:
    ours, theirs = CASES[name]
    with jax.enable_x64(True):
        np.testing.assert_allclose(_ours(ours, 30), _torch(theirs, 30), rtol=1e-9)


def test_muon_is_optax_muon_with_decoupled_decay() -> None:
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        A, W = jnp.asarray(rng.normal(size=(6, 4))), jnp.asarray(rng.normal(size=(4, 3)))
        reference = muon(1e-2, weight_decay=0.1)
        state = reference.init(W)
        for _ in range(5):
            grads = jax.grad(lambda W: jnp.sum((A @ W - 1.0) ** 2))(W)
            updates, state = reference.update(grads, state, W)
            W = optax.apply_updates(W, updates)
        ours = _ours(Optimizer(name="muon", learning_rate=1e-2, weight_decay=0.1), 5)
        np.testing.assert_allclose(ours, W, rtol=1e-9)


def test_layer_rates_scale_one_parameter_and_unknown_names_are_refused() -> None:
    params = models.Deep.init(jax.random.key(0), inputs=2, widths=(3,), outputs=2)
    slow = Optimizer(name="sgd", learning_rate=1.0, layer_rates={"weights.0": 0.0})
    after, _ = opt.update(slow, opt.rates(slow, jnp.float32), params, params, opt.init(slow, params), 0, 1)
    np.testing.assert_array_equal(after.weights[0], params.weights[0])
    np.testing.assert_array_equal(after.weights[1], 0.0)
    with pytest.raises(ValueError, match=r"layer_rates names \['U'\], but this model has"):
        opt.init(Optimizer(layer_rates={"U": 1.0}), params)


def test_fields_without_effect_are_refused() -> None:
    with pytest.raises(ValueError, match="momentum belongs to"):
        Optimizer(name="adam", momentum=0.9)
    with pytest.raises(ValueError, match="beta1 belong to"):
        Optimizer(name="sgd", beta1=0.5)
    with pytest.raises(ValueError, match="final belongs to"):
        Schedule(final=0.5)


def test_schedules() -> None:
    cosine = [float(schedule(Schedule(shape="cosine"), s, 10)) for s in range(11)]
    error = rounding(1, dtype=np.float32)
    np.testing.assert_allclose(cosine, 0.5 * (1 + np.cos(np.pi * np.arange(11) / 10)), rtol=0, atol=error)
    warm = [float(schedule(Schedule(warmup=4), s, 10)) for s in range(6)]
    np.testing.assert_allclose(warm, [0.2, 0.4, 0.6, 0.8, 1.0, 1.0], rtol=0, atol=error)
