"""Backpropagation through layers against automatic differentiation, and its wide limit against wide layers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight import features, models
from firstlight.features import cosine
from firstlight.theories import li2


@pytest.mark.parametrize("residual", [False, True])
def test_gradients_of_all_layers_are_those_of_automatic_differentiation(residual):
    random = np.random.default_rng(0)
    sigma, slope = features.numpy_activation("silu")
    weights = [random.normal(size=s) for s in ((5, 6), (6, 6), (6, 6))]
    X, G = random.normal(size=(7, 5)), random.normal(size=(7, 6))
    F, H = li2.lemmas.forward(X, weights, sigma, residual=residual)
    gradients = li2.lemmas.backward(G, H, weights, slope, residual=residual)
    with jax.enable_x64(True):

        def top(x, first):
            for W in weights[first:]:
                x = jax.nn.silu(x @ W + (x if residual else 0.0))
            return jnp.sum(jnp.asarray(G) * x)

        for layer in (0, 1):
            np.testing.assert_allclose(gradients[layer], jax.grad(top)(jnp.asarray(F[layer]), layer + 1), atol=1e-12)
        net = models.Deep([*weights, np.eye(6)], activation="silu", residual=residual)
        np.testing.assert_allclose(net(X), F[-1], atol=1e-12)


def test_the_wide_limit_of_relu_holds_and_shared_gates_do_not_give_it():
    random = np.random.default_rng(1)
    F, Y = np.abs(random.normal(size=(30, 12))), np.eye(5)[random.integers(5, size=30)]
    relu, step = features.numpy_activation("relu")
    centred = Y - Y.mean(0)
    G = 0.0
    for _ in range(8):
        W = random.normal(size=(12, 25_000))
        G = G + ((centred @ (centred.T @ relu(F @ W))) * step(F @ W)) @ W.T / 200_000
    limit = li2.lemmas.relu_limit(F, Y)
    assert cosine(G, limit) > 0.998
    assert np.linalg.norm(G) / np.linalg.norm(limit) == pytest.approx(1, abs=0.02)
    assert li2.lemmas.label_signal(G, F, Y) < cosine(G, limit) - 0.005
    assert cosine(G, li2.lemmas.shared_gates(F, F @ W, Y, step)) < cosine(G, limit) - 0.005
    with pytest.raises(ValueError, match="1 rows of zeros"):
        li2.lemmas.relu_limit(np.vstack([F, np.zeros(12)]), np.vstack([Y, Y[:1]]))
