"""The blocked loss and gradient against plain autodiff of the dense network."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight import models, tasks
from firstlight.flow import Loss, _dense, objective, outputs, value_and_grad


def _plain(model, inputs, targets, loss):
    X = jnp.asarray(inputs.dense())
    params, static = eqx.partition(model, eqx.is_inexact_array)
    return jax.jit(jax.value_and_grad(lambda p: objective(eqx.combine(p, static)(X), targets, loss)))(params)


def _compare(model, task, loss) -> None:
    targets = jnp.asarray(task.targets)
    value, grads = eqx.filter_jit(value_and_grad)(model, task.inputs, targets, loss)
    expected, expected_grads = _plain(model, task.inputs, targets, loss)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    assert jax.tree.structure(grads) == jax.tree.structure(expected_grads)
    for got, want in zip(jax.tree.leaves(grads), jax.tree.leaves(expected_grads), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-10 * float(jnp.abs(want).max() + 1))


@pytest.mark.parametrize(("width", "activation"), [(1, "relu"), (40, "quadratic"), (97, "silu"), (64, "poly(1,0.5)")])
def test_any_width_in_blocks_equals_one_piece(width: int, activation: str) -> None:
    with jax.enable_x64(True), pytest.MonkeyPatch.context() as patch:
        patch.setattr(_dense, "_BLOCK_UNITS", 16)
        task = tasks.group_task("Z7")
        model = models.TwoLayer.init(jax.random.key(width), 14, width, 7, activation=activation, bias=width % 2 == 0)
        np.testing.assert_allclose(outputs(model, task.inputs), model(jnp.asarray(task.inputs.dense())), atol=1e-12)
        _compare(model, task, Loss(projection="samples", reduction="sum", factor=0.5))


@pytest.mark.parametrize("encoding", ["onehot", "summed", "template"])
def test_every_encoding_and_depth(encoding: str) -> None:
    with jax.enable_x64(True):
        template = np.random.default_rng(0).normal(size=6) if encoding == "template" else None
        task = tasks.group_task("Z6", encoding=encoding, template=template)
        losses = (Loss(), Loss(kind="cross_entropy")) if task.is_classification else (Loss(),)
        for loss in losses:
            dim = task.inputs.dim
            _compare(models.TwoLayer.init(jax.random.key(0), dim, 20, 6, activation="tanh"), task, loss)
            deep = models.Deep.init(jax.random.key(1), dim, (10, 10, 10), 6, activation="silu", residual=True)
            _compare(deep, task, loss)


def test_blocks_are_of_sixteens_and_waste_little() -> None:
    for samples in (10, 500, 2016, 10**6):
        for width in (1, 63, 64, 2048, 4099):
            block = _dense.block_width(samples, width)
            assert 1 <= block <= width
            assert block == width or block % 16 == 0
            assert block <= 2 * _dense._BLOCK_UNITS
            assert -(-width // block) * block - width < block
