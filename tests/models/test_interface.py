"""Every model offers the same interface: first, last, features, named_parameters, for_task."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight import flow, models, tasks
from firstlight.models import Deep, Diagonal, LinearAttention, Model, TwoLayer, activation
from tests.tolerances import rounding

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 4)).astype(np.float32)
KEY = jax.random.key(0)

MODELS = {
    "two-layer": TwoLayer.init(KEY, 4, 5, 3),
    "two-layer with biases": TwoLayer.init(KEY, 4, 5, 3, activation="tanh", bias=True),
    "deep": Deep.init(KEY, 4, (6, 5), 3),
    "deep and residual with biases": Deep.init(KEY, 4, (5, 5), 3, activation="silu", residual=True, bias=True),
    "one hidden layer written as deep": Deep.init(KEY, 4, (5,), 3),
    "diagonal": Diagonal(jnp.asarray(X[0]), jnp.asarray(X[1])),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def close(actual, expected, terms: int = 4 * 7):
    error = rounding(max(1, np.abs(expected).max()), terms, np.float32)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=error)


def output_bias(model: Model) -> np.ndarray:
    names = model.named_parameters()
    return np.asarray(names.get("c", names.get(f"biases.{len(names) // 2 - 1}", 0.0)))


@every_model
def test_the_outputs_are_the_features_times_the_last_weights(model: Model):
    F = model.features(X)
    assert isinstance(model, Model)
    assert (F.shape[1], model(X).shape[1]) == model.last.shape
    close(F @ model.last + output_bias(model), model(X))


@every_model
def test_features_and_outputs_see_the_input_through_the_first_weights_alone(model: Model):
    seen = []

    def project(W):
        seen.append(W.shape)
        return X @ W

    assert model.first.shape[0] == X.shape[1]
    close(model.features(project), model.features(X))
    assert seen == [model.first.shape]
    close(model.apply(lambda W: X @ W), model(X))


@every_model
def test_named_parameters_are_the_arrays_of_the_model(model: Model):
    names = model.named_parameters()
    assert list(names) == list(models.named_parameters(model))
    for array, leaf in zip(names.values(), jax.tree.leaves(model), strict=True):
        assert array is leaf


@every_model
def test_hidden_units_are_offered_only_where_the_outputs_are_a_sum_over_them(model: Model):
    units = model.hidden_units
    assert (units is not None) == (type(model) is TwoLayer)
    if units is not None:
        total = sum(
            np.outer(units.activation(X @ units.W[:, j] + (0 if units.b is None else units.b[j])), units.V[j])
            for j in range(units.W.shape[1])
        )
        close(total + (0 if units.c is None else units.c), model(X))


@pytest.mark.parametrize("name", [name for name in MODELS if name != "diagonal"])
def test_a_shift_adds_a_bias_to_each_layer_and_may_differ_between_samples(name: str):
    model = MODELS[name]
    matrices = [array for array in model.named_parameters().values() if array.ndim == 2]
    rows = [RNG.normal(size=(len(X), W.shape[1])).astype(np.float32) for W in matrices]
    together = model.shifted(rows)(X)
    for i in range(len(X)):
        close(together[i], model.shifted([shift[i] for shift in rows])(X[i]))
    same = model.shifted([np.zeros(W.shape[1], np.float32) for W in matrices])
    np.testing.assert_array_equal(same(X), model(X))


def test_a_diagonal_network_has_no_biases_to_shift():
    with pytest.raises(ValueError, match="no biases to shift"):
        MODELS["diagonal"].shifted([np.zeros(4)])


def test_attention_is_a_sum_over_heads_of_its_features():
    V, K, Q = (RNG.normal(size=shape).astype(np.float32) for shape in ((3,), (3, 2), (3, 2)))
    model = LinearAttention(V, K, Q)
    contexts = tuple(RNG.normal(size=shape).astype(np.float32) for shape in ((7, 5, 2), (7, 5), (7, 2)))
    x, y, query = contexts
    close((model.features(contexts) @ model.last)[:, 0], model(*contexts), 3 * 5 * 2 * 2)
    correlation = np.einsum("bn,bni->bi", y, x)
    seen = [correlation @ model.first[:2], query @ model.first[2:]]
    close(model.features(contexts), np.multiply(*seen), 5 * 2 * 2)
    assert list(model.named_parameters()) == ["V", "K", "Q"]


def test_for_task_draws_the_network_that_init_draws_at_the_sizes_of_the_task():
    task = tasks.group_task("S3")
    pairs = [
        (
            TwoLayer.for_task(task, KEY, width=8, activation="relu", init="normal", scale=0.5, bias=True),
            TwoLayer.init(KEY, 12, 8, 6, activation="relu", init="normal", scale=0.5, bias=True),
        ),
        (
            Deep.for_task(task, KEY, widths=(8, 8), activation="tanh", init="normal", scale=0.5, residual=True),
            Deep.init(KEY, 12, (8, 8), 6, activation="tanh", init="normal", scale=0.5, residual=True),
        ),
    ]
    for built, drawn in pairs:
        assert jax.tree.structure(built) == jax.tree.structure(drawn)
        for a, b in zip(jax.tree.leaves(built), jax.tree.leaves(drawn), strict=True):
            np.testing.assert_array_equal(a, b)


def test_for_task_of_a_diagonal_network_needs_one_output():
    task = tasks.from_arrays(X, X[:, :1], name="regression")
    np.testing.assert_array_equal(Diagonal.for_task(task, KEY, alpha=0.5).u, Diagonal.init(4, 0.5).u)
    with pytest.raises(ValueError, match="1 output, the task 6"):
        Diagonal.for_task(tasks.group_task("S3"), alpha=0.5)


@pytest.mark.parametrize(
    "make",
    [functools.partial(TwoLayer.for_task, width=8), functools.partial(Deep.for_task, widths=(8, 8))],
    ids=["two-layer", "deep"],
)
def test_a_network_for_a_task_trains_on_it(make):
    task = tasks.group_task("Z5")
    run = flow.train(functools.partial(make, task), task.split(fraction=0.6), steps=2, progress="off")
    assert run.status == "finished"


@pytest.mark.parametrize(
    ("name", "homogeneity", "at_zero"),
    [
        ("linear", 1, 1),
        ("quadratic", 2, 2),
        ("power3", 3, 3),
        ("poly(0,2)", 2, 2),
        ("poly(3,0)", 1, 1),
        ("poly(1,0.5)", None, 1),
        ("relu", 1, 1),
        ("leaky_relu(0.1)", 1, 1),
        ("silu", None, 1),
        ("tanh", None, 1),
        ("sigmoid", None, 0),
    ],
)
def test_homogeneity_is_the_power_by_which_a_scale_leaves_the_activation(name, homogeneity, at_zero):
    sigma = activation(name)
    assert (sigma.homogeneity, sigma.homogeneity_at_zero) == (homogeneity, at_zero)
    if homogeneity is None:
        assert not np.allclose(sigma(3 * X), 3**at_zero * sigma(X))
    else:
        close(sigma(3 * X), 3**homogeneity * sigma(X))
    small = np.float32(2.0**-12) * X
    np.testing.assert_allclose(sigma(2 * small), 2**at_zero * sigma(small), rtol=2.0**-9)


@pytest.mark.parametrize("sigma", [jnp.square, jnp.cos, "poly(0,0)"])
def test_the_lowest_power_of_a_callable_is_not_known(sigma):
    """cos has 0 and a wrapped square has 2; a function that is zero has none."""
    assert activation(sigma).homogeneity_at_zero is None
