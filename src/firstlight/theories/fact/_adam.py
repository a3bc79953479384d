"""The training of Figure 4: Adam on the population loss of the separation problem."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from firstlight.theories.fact._separation import Minimiser, Separation, described


def train_separation(
    problem: Separation, *, width: int = 10, rate: float = 0.01, iterations: int = 10**6, seed: int = 0
) -> Minimiser:
    """Train f = Σ_k a_k(w_k·x)² by Adam on the population loss from PyTorch's initialisation, in double precision.

    The result is the point of least loss: at a constant rate Adam leaves the minimum now and then.

    **Arguments:**

    - `problem`: the data and the loss.
    - `width`: number of hidden units.
    - `rate`: learning rate.
    - `iterations`: number of steps.
    - `seed`: of the initial weights.

    >>> point = train_separation(Separation.of(0.02, 1e-5, 1e-5), iterations=10)
    >>> point.W.shape
    (4, 10)
    """
    d = problem.X.shape[1]
    rng = np.random.default_rng(seed)
    start = {
        "W": rng.uniform(-(d**-0.5), d**-0.5, (d, width)),
        "a": rng.uniform(-(width**-0.5), width**-0.5, width),
    }
    with jax.enable_x64(True):
        final = _trained(problem, jax.tree.map(jnp.asarray, start), rate, iterations)
        a, W = np.asarray(final["a"]), np.asarray(final["W"])
    return described(problem, np.concatenate([a[:, None], W.T], axis=1))


def _trained(problem: Separation, parameters: dict, rate: float, iterations: int) -> dict:
    X, y, weights = (jnp.asarray(array) for array in (problem.X, problem.y, problem.weights))

    def loss(parameters):
        miss = (X @ parameters["W"]) ** 2 @ parameters["a"] - y
        penalty = sum(jnp.sum(value**2) for value in parameters.values())
        return jnp.sum(weights * miss**2) + problem.weight_decay / 2 * penalty

    optimizer = optax.adam(rate)

    def step(_, state):
        parameters, moments, best, least = state
        value, slope = jax.value_and_grad(loss)(parameters)
        best = jax.tree.map(lambda new, old: jnp.where(value < least, new, old), parameters, best)
        updates, moments = optimizer.update(slope, moments)
        return optax.apply_updates(parameters, updates), moments, best, jnp.minimum(value, least)

    state = (parameters, optimizer.init(parameters), parameters, jnp.inf)
    return jax.jit(lambda state: jax.lax.fori_loop(0, iterations, step, state))(state)[2]
