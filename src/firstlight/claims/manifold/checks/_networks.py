"""Small networks for the checks of statements on the zero-loss set."""

import functools
from typing import Any

import jax
import numpy as np

from firstlight import models, tasks
from firstlight.theories import manifold


@functools.cache
def tanh_network(seed: int, *, samples: int = 5, width: int = 8) -> tuple[Any, Any]:
    """Return the zero-loss set of a tanh network with 3 inputs and one output on random data, and random parameters.

    With the default sizes there are 5 constraints and 32 parameters. Cached, so that checks share compiled programs.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((samples, 3)), rng.uniform(-1, 1, (samples, 1))
    with jax.enable_x64(True):
        model = models.TwoLayer(rng.standard_normal((3, width)), rng.standard_normal((width, 1)) / 2, activation="tanh")
    return manifold.ZeroLossSet.of(model, tasks.DenseInputs(X), y), model


def random_problem(
    seed: int, sigma: str, *, lam: float, bias: bool, sizes: tuple[int, int, int, int]
) -> tuple[Any, Any]:
    """Return an isolated first layer on random data of sizes (n, d, K, M), and random weights W (d, K)."""
    rng, (n, d, K, M) = np.random.default_rng(seed), sizes
    X, Y, W = rng.standard_normal((n, d)), rng.standard_normal((n, M)), rng.standard_normal((d, K))
    return manifold.Isolated(tasks.DenseInputs(X), Y, sigma, lam, bias), W  # type: ignore[arg-type]
