r"""Deep linear networks x ↦ xW₁…W_L under weight decay (Appendix C): layers are balanced, so AGOP's power is 1/L.

At *any* critical point with λ > 0, W_lᵀW_l = W_{l+1}W_{l+1}ᵀ exactly. It follows that W₁W₁ᵀ = AGOP^{1/L} and
W_lW_lᵀ = AGOP_l^{1/(L−l+1)}. The paper states this approximately, near the minimum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from firstlight import _canonical as canonical
from firstlight import features

Weights = list[Float[np.ndarray, "_ _"]]


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
