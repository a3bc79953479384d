r"""Deep linear networks x ↦ xW₁…W_L under weight decay (Appendix C): layers are balanced, so AGOP's power is 1/L.

At *any* critical point with λ > 0, W_lᵀW_l = W_{l+1}W_{l+1}ᵀ exactly. It follows that W₁W₁ᵀ = AGOP^{1/L} and
W_lW_lᵀ = AGOP_l^{1/(L−l+1)}. The paper states this approximately, near the minimum.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import get_blas_funcs

from firstlight import _canonical as canonical
from firstlight import features

Weights = list[Float[np.ndarray, "_ _"]]

_GEMM: Any = get_blas_funcs("gemm", dtype=np.float32)


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """The loss κ tr (P − T)ᵀ S (P − T) + (λ/2)Σ‖W_l‖² of a deep linear network with product P = W₁…W_L.

    **Attributes:**

    - `S`: second moment of the inputs (d, d).
    - `T`: the teacher (d, c).
    - `weight_decay`: λ.
    - `kappa`: κ; it is 1/c for the mean-squared error of PyTorch.
    """

    S: Float[np.ndarray, "d d"]
    T: Float[np.ndarray, "d c"]
    weight_decay: float
    kappa: float

    def gradients(self, weights: Weights) -> Weights:
        """Return ∂L/∂W_l of the loss without weight decay."""
        after = [np.eye(weights[-1].shape[1])]
        for W in reversed(weights[1:]):
            after.append(W @ after[-1])
        after.reverse()
        before, slopes = np.eye(self.T.shape[0]), []
        slope = 2 * self.kappa * self.S @ (weights[0] @ after[0] - self.T)
        for W, B in zip(weights, after, strict=True):
            slopes.append((before.T @ slope) @ B.T)
            before = before @ W
        return slopes

    def loss(self, weights: Weights) -> float:
        """Return the loss with weight decay."""
        miss = product(weights) - self.T
        penalty = sum(float(np.sum(W**2)) for W in weights)
        return self.kappa * float(np.sum(miss * (self.S @ miss))) + self.weight_decay / 2 * penalty


def product(weights: Sequence[np.ndarray]) -> np.ndarray:
    """Return W₁…W_L, multiplied from the last layer, which is the thinnest."""
    P = weights[-1]
    for W in reversed(weights[:-1]):
        P = W @ P
    return P


def linear_init(seed: int, d: int, c: int, width: int, depth: int) -> Weights:
    """Draw weights by PyTorch's default: uniform within ±1/√fan_in, no bias.

    >>> [W.shape for W in linear_init(0, 10, 5, width=8, depth=3)]
    [(10, 8), (8, 8), (8, 5)]
    """
    rng, sizes = np.random.default_rng(seed), [d, *[width] * (depth - 1), c]
    return [rng.uniform(-(m**-0.5), m**-0.5, (m, n)) for m, n in pairwise(sizes)]


def train_linear(problem: LinearProblem, weights: Weights, *, rate: float, momentum: float, steps: int) -> Weights:
    """Train by full-batch gradient descent with momentum, from given weights."""
    weights = [W.copy() for W in weights]
    speed = [np.zeros_like(W) for W in weights]
    for _ in range(steps):
        for W, v, G in zip(weights, speed, problem.gradients(weights), strict=True):
            v *= momentum
            v += G + problem.weight_decay * W
            W -= rate * v
    return weights


def train_linear_in_batches(
    X: Float[np.ndarray, "n d"],
    T: Float[np.ndarray, "d c"],
    weights: Weights,
    *,
    weight_decay: float,
    rate: float,
    batch: int,
    epochs: int,
    seed: int,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Weights:
    r"""Train by plain SGD on the mean-squared error in single precision, as PyTorch does.

    A batch enters only by its second moment $S_b = X_b^\top X_b/|b|$, since targets are $X_bT$. A step therefore needs
    no products with the batch: its gradients have rank c, and they are added to the weights in place.

    **Arguments:**

    - `X`: inputs; the targets are XT.
    - `T`: the teacher.
    - `weights`: initial weights.
    - `weight_decay`: λ.
    - `rate`: learning rate.
    - `batch`: rows in a batch; the last one of an epoch may have fewer.
    - `epochs`: number of passes over the rows, each in a new order.
    - `seed`: seed of the orders.
    - `progress`: callback that receives the fraction done.

    >>> X, T = np.eye(2), np.array([[1.0], [0.0]])
    >>> [W] = train_linear_in_batches(X, T, [T], weight_decay=0.0, rate=0.1, batch=2, epochs=3, seed=0)
    >>> W.tolist()
    [[1.0], [0.0]]
    """
    rng, X32, T32 = np.random.default_rng(seed), X.astype(np.float32), T.astype(np.float32)
    # Fortran-ordered transposes, which sgemm changes in place.
    turned = [np.asfortranarray(W.T, np.float32) for W in weights]
    shrink = 1 - rate * weight_decay
    for epoch in range(epochs):
        order = rng.permutation(len(X))
        for rows in np.split(order, range(batch, len(X), batch)):
            part = X32[rows]
            _take_step(turned, part.T @ part / len(rows), T32, rate * 2 / T.shape[1], shrink)
        progress((epoch + 1) / epochs)
    return [W.T.astype(np.float64) for W in turned]


def _take_step(turned: list[np.ndarray], S: np.ndarray, T: np.ndarray, scale: float, shrink: float) -> None:
    """Replace every W by shrink·W − scale·(W₁…W_{l−1})ᵀ S(P − T) (W_{l+1}…W_L)ᵀ."""
    after = [np.eye(len(turned[-1]), dtype=np.float32)]
    for W in reversed(turned[1:]):
        after.append(W.T @ after[-1])
    after.reverse()
    slope = S @ (turned[0].T @ after[0] - T)
    before = [np.eye(len(T), dtype=np.float32)]
    for W in turned[:-1]:
        before.append(before[-1] @ W.T)
    for place, (W, A, B) in enumerate(zip(turned, before, after, strict=True)):
        turned[place] = _GEMM(-scale, B, A.T @ slope, beta=shrink, c=W, trans_b=True, overwrite_c=True)


def balanced_minimiser(problem: LinearProblem, depth: int, width: int) -> Weights:
    r"""Return the global minimiser for S = I.

    All layers share the same singular value σ for each singular value s of T, where

    $$2\kappa(\sigma^L - s)\sigma^{L-1} + \lambda\sigma = 0.$$

    >>> import numpy as np
    >>> problem = LinearProblem(np.eye(2), np.diag([2.0, 1.0]), weight_decay=0.01, kappa=0.5)
    >>> weights = balanced_minimiser(problem, depth=3, width=4)
    >>> [bool(np.allclose(G, -0.01 * W)) for G, W in zip(problem.gradients(weights), weights)]
    [True, True, True]
    """
    if not np.allclose(problem.S, np.eye(len(problem.S))):
        raise ValueError("balanced_minimiser needs whitened inputs, S = I; train with train_linear otherwise")
    if width < min(problem.T.shape):
        raise ValueError(f"width must be at least {min(problem.T.shape)}, the rank of T, got {width}")
    U, s, Vt = canonical.svd(problem.T)
    sigma = np.array([_shared(float(value), depth, problem) for value in s])
    middle = np.zeros((width, width))
    middle[: len(s), : len(s)] = np.diag(sigma)
    first = np.concatenate([U * sigma, np.zeros((len(U), width - len(s)))], axis=1)
    last = np.concatenate([sigma[:, None] * Vt, np.zeros((width - len(s), Vt.shape[1]))])
    return [first, *[middle] * (depth - 2), last]


def _shared(s: float, depth: int, problem: LinearProblem) -> float:
    kappa, lam = problem.kappa, problem.weight_decay
    coefficients = np.zeros(2 * depth)
    coefficients[0] = 2 * kappa
    coefficients[depth] -= 2 * kappa * s
    coefficients[2 * depth - 2] += lam
    roots = np.roots(coefficients)
    real = [0.0, *(float(r.real) for r in roots if abs(r.imag) < 1e-9 and r.real > 0)]
    return min(real, key=lambda x: kappa * (x**depth - s) ** 2 + lam / 2 * depth * x**2)


def layer_agops(weights: Weights) -> Weights:
    """Return AGOP at the input of every layer: (W_l…W_L)(W_l…W_L)ᵀ, the same for every input.

    >>> import numpy as np
    >>> layer_agops([np.array([[2.0]]), np.array([[3.0]])])[0]
    array([[36.]])
    """
    return [features.nfm(product(weights[l:])) for l in range(len(weights))]


def imbalance(weights: Weights) -> float:
    """Return the largest ‖W_lᵀW_l − W_{l+1}W_{l+1}ᵀ‖/‖W_lᵀW_l‖ over adjacent layers.

    >>> import numpy as np
    >>> imbalance([np.array([[2.0]]), np.array([[2.0]])])
    0.0
    """
    pairs = pairwise(weights)
    return max(
        float(np.linalg.norm(features.bnfm(A) - features.nfm(B)) / np.linalg.norm(features.bnfm(A))) for A, B in pairs
    )
