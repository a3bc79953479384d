"""Covariances of the forecasts' processes, at the maximum of their likelihood."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import minimize

from firstlight.theories.li2._process import Kernel

RUNS, ROUNDS, SEED = 2000, 60, 0
"""Number of runs, drawn by seed, whose likelihood is maximised, and of rounds of L-BFGS."""

LENGTH, RATIO = 1.2, 0.3
"""Centres of the priors, Gaussians with deviation 1, of the logarithms of a length and of `Kernel.ratio`."""


@dataclass(frozen=True)
class Shape:
    """What a process is before any run is known.

    **Attributes:**

    - `kernel`: its covariance in the scaled inputs.
    - `sharpness`: (p,) factors of the standardised inputs, one over the lengths.
    - `noise`: variances of what the inputs leave open, for Adam and for AdamW.
    """

    kernel: Kernel
    sharpness: tuple[float, ...]
    noise: tuple[float, float]


def most_likely(X: Float[np.ndarray, "N p"], y: Float[np.ndarray, " N"], decoupled: Bool[np.ndarray, " N"]) -> Shape:
    """Return the covariance that maximises the likelihood of some targets, times the priors.

    **Arguments:**

    - `X`: (N, p) standardised inputs.
    - `y`: (N,) targets.
    - `decoupled`: (N,) whether the optimizer is AdamW, which has a noise of its own.
    """
    chosen = np.random.default_rng(SEED).permutation(len(y))[:RUNS]
    p = X.shape[1]
    with jax.enable_x64(True):
        points, targets = jnp.asarray(X[chosen]), jnp.asarray(y[chosen] - y.mean())
        own = jnp.asarray(decoupled[chosen].astype(int))
        loss = jax.jit(jax.value_and_grad(lambda theta: _loss(theta, points, targets, own)))

        def evaluate(theta: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = loss(jnp.asarray(theta))
            finite = bool(jnp.isfinite(value) & jnp.isfinite(slope).all())
            return (float(value), np.asarray(slope)) if finite else (1e10, np.zeros_like(theta))

        start = np.concatenate([[0.0, -1.0, 0.0, -1.0, RATIO, -1.5, -1.5], np.full(p, LENGTH)])
        limits = [(-8.0, 5.0)] * len(start)
        optimum = minimize(evaluate, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": ROUNDS})
    return _shape(optimum.x)


def _shape(theta: Float[np.ndarray, " parameters"]) -> Shape:
    constant, line, bend, fine, ratio, adam, adamw, *lengths = (_rounded(np.exp(x)) for x in theta)
    return Shape(
        Kernel(constant, line, bend, fine, ratio),
        tuple(_rounded(1 / length) for length in lengths),
        (_rounded(adam**2), _rounded(adamw**2)),
    )


def _rounded(x: float) -> float:
    return float(f"{x:.3g}")


def _loss(theta: jax.Array, X: jax.Array, y: jax.Array, own: jax.Array) -> jax.Array:
    """Return −ln p(y) − ln p(lengths), up to a constant."""
    constant, line, bend, fine, ratio = jnp.exp(theta[:5])
    noise, lengths = theta[5:7], theta[7:]
    Z = X / jnp.exp(lengths)
    products = Z @ Z.T
    norms = jnp.diag(products)
    half = jnp.maximum((norms[:, None] + norms[None]) / 2 - products, 0)
    K = constant + line * products + bend * jnp.exp(-half) + fine * jnp.exp(-(ratio**2) * half)
    L = jnp.linalg.cholesky(K + jnp.diag(jnp.exp(2 * noise)[own] + 1e-6))
    likelihood = y @ jax.scipy.linalg.cho_solve((L, True), y) / 2 + jnp.log(jnp.diag(L)).sum()
    return likelihood + ((lengths - LENGTH) ** 2).sum() / 2 + (theta[4] - RATIO) ** 2 / 2
