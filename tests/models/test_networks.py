"""The networks against NumPy and PyTorch, and under jit, vmap and grad."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from firstlight.models import Deep, TwoLayer
from tests.tolerances import rounding

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 4)).astype(np.float32)
NUMPY = {"quadratic": np.square, "relu": lambda x: np.maximum(x, 0), "tanh": np.tanh}


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [RNG.normal(size=shape).astype(np.float32) for shape in shapes]


def close(actual, expected):
    """Equal up to the rounding of four layers of float32 with at most six terms and a bias each."""
    error = rounding(max(1, np.abs(expected).max()), 4 * 7, np.float32)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=error)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", NUMPY)
def test_two_layer_is_the_formula(name: str, bias: bool):
    W, V, b, c = arrays((4, 5), (5, 3), (5,), (3,))
    model = TwoLayer(W, V, b if bias else None, c if bias else None, name)
    F = NUMPY[name](X @ W + bias * b)
    close(model.features(X), F)
    close(model(X), F @ V + bias * c)
    close(model(X[0]), model(X)[0])


def test_apply_uses_only_the_projection_of_the_first_layer():
    rows = np.array([0, 3, 3, 1])
    onehot = np.eye(4, dtype=np.float32)[rows]
    two = TwoLayer(*arrays((4, 5), (5, 3), (5,), (3,)))
    deep = Deep(arrays((4, 5), (5, 5), (5, 3)), arrays((5,), (5,), (3,)), residual=True)
    for model in (two, deep):
        close(model.apply(lambda W: W[rows]), model(onehot))
    close(two.features(lambda W: W[rows]), two.features(onehot))
    states = deep.hidden_states(onehot)
    for gathered, dense in zip(deep.hidden_states(lambda W: W[rows]), states, strict=True):
        close(gathered, dense)


def test_a_deep_network_with_one_hidden_layer_is_a_two_layer_network():
    W, V, b, c = arrays((4, 5), (5, 3), (5,), (3,))
    assert np.array_equal(TwoLayer(W, V, b, c, "silu")(X), Deep((W, V), (b, c), "silu", residual=True)(X))


def test_plain_deep_network_is_a_torch_sequential():
    model = Deep(arrays((4, 5), (5, 5), (5, 6), (6, 3)), arrays((5,), (5,), (6,), (3,)), "relu")
    layers = []
    for W, b in zip(model.weights, model.biases, strict=True):
        layer = torch.nn.Linear(*W.shape)
        layer.load_state_dict({"weight": torch.tensor(np.array(W.T)), "bias": torch.tensor(np.array(b))})
        layers += [layer, torch.nn.ReLU()]
    close(model(X), torch.nn.Sequential(*layers[:-1])(torch.tensor(X)).detach().numpy())


def test_residual_layers_skip_only_between_equal_hidden_widths():
    L0, L1, L2, L3 = arrays((4, 4), (4, 4), (4, 5), (5, 5))
    model = Deep((L0, L1, L2, L3), activation="tanh", residual=True)
    x1 = np.tanh(X @ L0)
    x2 = np.tanh(x1 + x1 @ L1)
    x3 = np.tanh(x2 @ L2)
    for state, expected in zip(model.hidden_states(X), (x1, x2, x3), strict=True):
        close(state, expected)
    close(model(X), x3 @ L3)


@pytest.mark.parametrize(
    "build",
    [
        lambda key: TwoLayer.init(key, 4, 5, 3, bias=True),
        lambda key: Deep.init(key, 4, (5, 5), 3, activation="silu", residual=True, bias=True),
    ],
    ids=["two_layer", "deep"],
)
def test_jit_and_vmap_over_keys_agree_with_single_networks(build):
    keys = jax.random.split(jax.random.key(0), 2)
    outputs = eqx.filter_jit(eqx.filter_vmap(lambda key: build(key)(X)))(keys)
    assert not np.allclose(outputs[0], outputs[1])
    single = eqx.filter_jit(lambda key: build(key)(X))
    for lane, key in enumerate(keys):
        close(outputs[lane], single(key))


def test_gradient_of_a_residual_network_is_the_limit_of_differences():
    with jax.enable_x64(True):
        shapes = ((4, 5), (5, 5), (5, 3)), ((5,), (5,), (3,))
        draws = [[[RNG.normal(size=s) for s in part] for part in shapes] for _ in range(2)]
        model, step = (Deep(weights, biases, "silu", residual=True) for weights, biases in draws)

        @eqx.filter_jit
        def loss(t):
            return jnp.sum(jax.tree.map(lambda a, b: a + t * b, model, step)(X) ** 2)

        h = 1e-5
        assert float(jax.grad(loss)(0.0)) == pytest.approx(float(loss(h) - loss(-h)) / (2 * h), rel=1e-7)


ONES = np.ones((4, 5)), np.ones((5, 3))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TwoLayer(np.ones((4, 5)), np.ones((4, 3))), r"V \(K, M\).*\(4, 5\) and \(4, 3\)"),
        (lambda: TwoLayer(np.ones(4), np.ones((4, 3))), r"W must be \(d, K\)"),
        (lambda: TwoLayer(*ONES, b=np.ones(3)), r"bias b must have shape \(5,\)"),
        (lambda: TwoLayer(*ONES, c=np.ones(5)), r"bias c must have shape \(3,\)"),
        (lambda: TwoLayer(*ONES)(np.ones((2, 3))), r"inputs must have 4 columns.*got shape \(2, 3\)"),
        (lambda: TwoLayer(*ONES, activation="rleu"), r"did you mean 'relu'\?"),
        (lambda: Deep([np.ones((4, 5))]), r"at least two matrices"),
        (lambda: Deep([np.ones((4, 5)), np.ones((4, 3))]), r"got shapes \[\(4, 5\), \(4, 3\)\]"),
        (lambda: Deep(ONES, [np.ones(5)]), r"biases must have shapes \[\(5,\), \(3,\)\]"),
    ],
)
def test_wrong_shapes_are_refused_with_the_shapes(build, message):
    with pytest.raises(ValueError, match=message):
        build()
