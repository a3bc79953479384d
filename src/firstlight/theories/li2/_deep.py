"""Deeper networks: how the backpropagated gradient reaches lower layers (Section 7)."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from firstlight.features import centred, cosine

Matrix = Float[np.ndarray, "n K"]
Elementwise = Callable[[np.ndarray], np.ndarray]


def forward(
    X: Float[np.ndarray, "n d"], weights: Sequence[np.ndarray], sigma: Elementwise, *, residual: bool = False
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the activations F_1, …, F_L and the pre-activations H_1, …, H_L of the hidden layers.

    **Arguments:**

    - `X`: (n, d) inputs.
    - `weights`: W_1, …, W_L.
    - `sigma`: σ, elementwise.
    - `residual`: whether layers between equal widths compute F_l = σ(F_{l−1} + F_{l−1}W_l), as in Figure 7.

    >>> F, H = forward(np.eye(2), [np.eye(2), np.eye(2)], lambda x: np.maximum(x, 0), residual=True)
    >>> F[1]
    array([[2., 0.],
           [0., 2.]])
    """
    F, H, x = [], [], X
    for layer, W in enumerate(weights):
        h = x @ W + (x if _skips(layer, W, residual) else 0.0)
        x = sigma(h)
        H.append(h)
        F.append(x)
    return F, H


def _skips(layer: int, W: np.ndarray, residual: bool) -> bool:
    return residual and layer > 0 and W.shape[0] == W.shape[1]


def backward(
    G: Matrix, H: Sequence[np.ndarray], weights: Sequence[np.ndarray], slope: Elementwise, *, residual: bool = False
) -> list[np.ndarray]:
    r"""Compute G_1, …, G_L from G_L, exactly:

    $$G_{l-1} = (G_l \circ \sigma'(H_l)) W_l^\top \quad (+\; G_l \circ \sigma'(H_l) \text{ over a skip connection}).$$

    Gates differ between hidden units, so no diagonal matrix D_l on the left gives this, as eq. 12 claims.

    **Arguments:**

    - `G`: (n, K_L) gradient at the last hidden layer.
    - `H`, `weights`, `residual`: as in `forward`.
    - `slope`: σ′, elementwise.
    """
    gradients = [G]
    for layer in range(len(weights) - 1, 0, -1):
        gated, W = gradients[0] * slope(H[layer]), weights[layer]
        gradients.insert(0, gated @ W.T + (gated if _skips(layer, W, residual) else 0.0))
    return gradients


def shared_gates(F: Matrix, H: Float[np.ndarray, "n K2"], Y: Float[np.ndarray, "n M"], slope: Elementwise) -> Matrix:
    """Compute eq. 12 as printed, DỸỸᵀDF, with one gate per sample: D = diag(mean_j σ′(h_ij)) over hidden units j.

    **Arguments:**

    - `F`: F_{L−1}, (n, K).
    - `H`: H_L, (n, K2).
    - `Y`: (n, M) labels.
    - `slope`: σ′, elementwise.
    """
    Y_tilde, gate = centred(Y), slope(H).mean(axis=1, keepdims=True)
    return gate * (Y_tilde @ (Y_tilde.T @ (gate * F)))


def relu_limit(F: Matrix, Y: Float[np.ndarray, "n M"]) -> Matrix:
    r"""Return the limit of (ỸỸᵀσ(FW) ∘ σ′(FW))Wᵀ per hidden unit, for σ = relu and many units, W of N(0, 1) entries.

    $$\left[(\tilde Y\tilde Y^\top \circ \Theta_0) + \mathrm{diag}((\tilde Y\tilde Y^\top \circ \Theta_2) 1)\right] F,$$

    Θ₀ = (π − θ_ij)/2π, Θ₂ = (‖f_j‖/‖f_i‖) sin θ_ij/2π, θ_ij the angle between the rows f_i and f_j of F.

    >>> F = np.abs(np.random.default_rng(0).normal(size=(5, 4)))
    >>> relu_limit(F, np.eye(5)).shape
    (5, 4)
    """
    A = centred(Y) @ centred(Y).T
    norms = np.linalg.norm(F, axis=1)
    if not norms.all():
        raise ValueError(f"every sample needs a nonzero activation, got {np.sum(norms == 0)} rows of zeros in F")
    theta = np.arccos(np.clip((F @ F.T) / np.outer(norms, norms), -1.0, 1.0))
    Theta0 = (np.pi - theta) / (2 * np.pi)
    Theta2 = (norms[None, :] / norms[:, None]) * np.sin(theta) / (2 * np.pi)
    return (A * Theta0) @ F + (A * Theta2).sum(1, keepdims=True) * F


def label_signal(G: Matrix, F: Matrix, Y: Float[np.ndarray, "n M"]) -> float:
    """Return the cosine between a gradient and ỸỸᵀF, the direction that the first stages of learning need.

    >>> F, Y = np.random.default_rng(0).normal(size=(6, 4)), np.eye(3)[[0, 1, 2, 0, 1, 2]]
    >>> round(label_signal(centred(Y) @ (centred(Y).T @ F), F, Y), 12)
    1.0
    """
    Y_tilde = centred(Y)
    return float(cosine(G, Y_tilde @ (Y_tilde.T @ F)))
