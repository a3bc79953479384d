"""Linear regression, with given coefficients and in context."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from firstlight.tasks._inputs import DenseInputs
from firstlight.tasks._task import Task


def linear_regression(
    beta: Float[np.ndarray, " d"] | Float[np.ndarray, "d M"],
    samples: int,
    covariance: Float[np.ndarray, "_ _"] | None = None,
    noise: float = 0.0,
    seed: int = 0,
) -> Task:
    """Return a task with targets y = xᵀβ + noise and inputs x ~ N(0, Σ).

    **Arguments:**

    - `beta`: (d,) or (d, M) coefficients.
    - `samples`: number of rows n; may be smaller than d.
    - `covariance`: Σ (d, d), the identity by default.
    - `noise`: standard deviation of the noise.
    - `seed`: seed of the draw.

    >>> linear_regression(np.array([1.0, 0.0, -2.0]), samples=10)
    Task('linear regression': 10 rows, inputs of dimension 3, regression of 1 value)
    """
    beta = np.asarray(beta, float)
    d = len(beta)
    Sigma = np.eye(d) if covariance is None else np.asarray(covariance, float)
    if Sigma.shape != (d, d):
        raise ValueError(f"covariance must have shape ({d}, {d}), like the {d} coefficients, got {Sigma.shape}")
    if samples < 1:
        raise ValueError(f"samples must be at least 1, got {samples}")
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, d)) @ _root(Sigma)
    targets = X @ beta.reshape(d, -1)
    targets = targets + noise * rng.standard_normal(targets.shape)
    return Task("linear regression", DenseInputs(X), targets, outputs=targets.shape[1])


class Contexts(NamedTuple):
    """B sequences for in-context regression.

    **Attributes:**

    - `inputs`: (x (B, N, d), y (B, N), query (B, d)).
    - `targets`: (B,), the target of each query.
    """

    inputs: tuple[Float[np.ndarray, "B N d"], Float[np.ndarray, "B N"], Float[np.ndarray, "B d"]]
    targets: Float[np.ndarray, " B"]


def in_context_regression(
    covariance: Float[np.ndarray, "d d"], examples: int, sequences: int, seed: int | tuple[int, ...] = 0
) -> Contexts:
    """Return sequences of y_n = βᵀx_n with x ~ N(0, Σ) and a new β ~ N(0, I) in each (AGF, Section 4).

    **Arguments:**

    - `covariance`: Σ (d, d).
    - `examples`: number of examples N in a sequence.
    - `sequences`: number of sequences B.
    - `seed`: seed of the draw.

    >>> batch = in_context_regression(np.eye(2), examples=5, sequences=3)
    >>> [part.shape for part in batch.inputs], batch.targets.shape
    ([(3, 5, 2), (3, 5), (3, 2)], (3,))
    """
    Sigma = np.asarray(covariance, float)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((sequences, examples + 1, len(Sigma))) @ _root(Sigma)
    beta = rng.standard_normal((sequences, len(Sigma), 1))
    y = (x @ beta)[..., 0]
    return Contexts((x[:, :-1], y[:, :-1], x[:, -1]), y[:, -1])


def _root(Sigma: np.ndarray) -> np.ndarray:
    """Return Σ^½ from the eigenvectors, which also works for a singular Σ."""
    lam, v = np.linalg.eigh(Sigma)
    if lam[0] < -1e-10 * max(lam[-1], 1e-300) or not np.allclose(Sigma, Sigma.T):
        raise ValueError(
            f"covariance must be symmetric and positive semi-definite, got smallest eigenvalue {lam[0]:.3g}"
        )
    return (v * np.sqrt(np.maximum(lam, 0.0))) @ v.T
