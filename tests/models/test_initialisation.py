"""Distributions of the initialisations, over seeds and against PyTorch's default layer."""

import equinox as eqx
import jax
import numpy as np
import pytest
import torch
from scipy import stats

from firstlight.models import INITS, Deep, TwoLayer, draw_weights
from tests.tolerances import rounding

FAN_IN, FAN_OUT, SEEDS = 50, 40, 8
LAWS = {
    "uniform_fan_in": stats.uniform(-1 / np.sqrt(FAN_IN), 2 / np.sqrt(FAN_IN)),
    "normal_fan_in": stats.norm(0, 1 / np.sqrt(FAN_IN)),
    "normal": stats.norm(0, 1),
}


@pytest.mark.parametrize("init", INITS)
def test_entries_follow_the_stated_law(init: str):
    keys = jax.random.split(jax.random.key(7), SEEDS)
    lanes = jax.jit(jax.vmap(lambda key: draw_weights(key, (FAN_IN, FAN_OUT), FAN_IN, init, 0.01)))(keys)
    samples = np.asarray(lanes, float) / 0.01
    n, law = samples.size, LAWS[init]
    # Four standard errors of the mean, of the variance and of the correlation between seeds.
    assert abs(samples.mean()) < 4 * law.std() / np.sqrt(n)
    kurtosis = float(law.stats("k")) + 3
    assert abs(samples.var() / law.var() - 1) < 4 * np.sqrt((kurtosis - 1) / n)
    correlations = np.corrcoef(samples.reshape(SEEDS, -1))
    assert np.abs(correlations - np.eye(SEEDS)).max() < 4 / np.sqrt(FAN_IN * FAN_OUT)
    assert stats.kstest(samples.ravel(), law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("init", INITS)
def test_each_layer_uses_its_own_fan_in(init: str):
    @jax.jit
    def draw_both(key: jax.Array) -> tuple[TwoLayer, Deep]:
        two = TwoLayer.init(key, 40, 160, 40, init=init, bias=True)
        return two, Deep.init(key, 40, (160, 40), 160, init=init, bias=True)

    two, deep = draw_both(jax.random.key(3))
    for W in (two.W, two.V, *deep.weights):
        expected = LAWS[init].std() * (1 if init == "normal" else np.sqrt(FAN_IN / W.shape[0]))
        assert np.std(W) == pytest.approx(expected, rel=4 / np.sqrt(W.size))
    for b, fan_in in ((two.b, 40), (two.c, 160), *zip(deep.biases, (40, 160, 40), strict=True)):
        if init == "uniform_fan_in":
            assert 0.8 / np.sqrt(fan_in) < np.abs(b).max() <= 1 / np.sqrt(fan_in)
        else:
            assert not b.any()


def test_uniform_fan_in_is_the_default_of_a_torch_linear_layer():
    torch.manual_seed(0)
    theirs = torch.nn.Linear(40, 160)
    ours = TwoLayer.init(jax.random.key(0), 40, 160, 40, bias=True)
    for mine, reference in ((ours.W, theirs.weight), (ours.b, theirs.bias)):
        assert stats.ks_2samp(np.ravel(mine), reference.detach().numpy().ravel()).pvalue > 1e-3


def test_scale_multiplies_everything_and_biases_leave_the_weights_alone():
    key = jax.random.key(0)
    unit, small = (TwoLayer.init(key, 4, 5, 3, scale=scale, bias=True) for scale in (1.0, 1e-20))
    for a, b in zip(jax.tree.leaves(unit), jax.tree.leaves(small), strict=True):
        np.testing.assert_allclose(
            b, 1e-20 * np.asarray(a), rtol=0, atol=1e-20 * rounding(np.abs(a).max(), dtype=b.dtype)
        )
    plain = TwoLayer.init(key, 4, 5, 3)
    assert plain.b is None
    assert eqx.tree_equal((plain.W, plain.V), (unit.W, unit.V))


def test_float64_inside_the_context():
    with jax.enable_x64(True):
        model = jax.eval_shape(lambda key: TwoLayer.init(key, 4, 5, 3, bias=True), jax.random.key(0))
        assert all(leaf.dtype == np.float64 for leaf in jax.tree.leaves(model))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"init": "uniform_fanin"}, r"unknown init 'uniform_fanin'; did you mean 'uniform_fan_in'\? Known"),
        ({"scale": 0.0}, r"scale must be a finite number > 0, got 0.0"),
        ({"scale": float("nan")}, r"scale must be a finite number > 0, got nan"),
        ({"width": 0}, r"width must be an integer > 0, got 0"),
        ({"inputs": -3}, r"inputs must be an integer > 0, got -3"),
        ({"outputs": True}, r"outputs must be an integer > 0, got True"),
    ],
)
def test_bad_arguments_of_a_two_layer_network(arguments, message):
    with pytest.raises(ValueError, match=message):
        TwoLayer.init(jax.random.key(0), **{"inputs": 4, "width": 5, "outputs": 3, **arguments})


@pytest.mark.parametrize(
    ("widths", "message"),
    [((), r"at least one hidden layer"), ((8, -1), r"widths\[1\] must be an integer > 0, got -1")],
)
def test_bad_widths_of_a_deep_network(widths, message):
    with pytest.raises(ValueError, match=message):
        Deep.init(jax.random.key(0), inputs=4, widths=widths, outputs=3)


@pytest.mark.parametrize("init", INITS)
def test_a_draw_is_what_the_sampler_gives_for_its_shape(init: str):
    """Drawn at once or inside a traced function, whatever length was sampled behind it."""
    key, shape = jax.random.key(5), (130, 40)
    traced = jax.jit(lambda k: draw_weights(k, shape, 130, init, 0.3))(key)
    # The error of a draw is relative to the widest draw: a value near zero is the difference of larger ones.
    error = rounding(np.abs(traced).max(), dtype=np.float32)
    np.testing.assert_allclose(draw_weights(key, shape, 130, init, 0.3), traced, rtol=0, atol=error)
    bound = 1 / np.sqrt(130)
    by_shape = {
        "uniform_fan_in": lambda: jax.random.uniform(key, shape, minval=-bound, maxval=bound),
        "normal_fan_in": lambda: jax.random.normal(key, shape) * bound,
        "normal": lambda: jax.random.normal(key, shape),
    }[init]()
    np.testing.assert_allclose(traced, 0.3 * by_shape, rtol=0, atol=error)
