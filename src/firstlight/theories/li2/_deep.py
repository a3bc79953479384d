"""Deeper nets: how the backpropagated gradient reaches lower layers (Section 7)."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from firstlight.features import centred, cosine

Matrix = Float[np.ndarray, "n K"]
Elementwise = Callable[[np.ndarray], np.ndarray]


def forward(
    X: Float[np.ndarray, "n d"], weights: Sequence[np.ndarray], sigma: Elementwise, *, residual: bool = False
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Activations F_1, …, F_L of the hidden layers and the sums H_1, …, H_L they are made from.

    With `residual`, layers between equal widths compute F_l = σ(F_{l−1} + F_{l−1}W_l), as in Figure 7.

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
    r"""G_1, …, G_L from G_L, exactly:

    $$G_{l-1} = (G_l \circ \sigma'(H_l)) W_l^\top \quad (+\; G_l \circ \sigma'(H_l) \text{ over a skip connection}).$$

    Gates differ from node to node, so no diagonal matrix D_l on the left gives this, as eq. 12 has it.

    **Arguments:** `G` (n, K_L); `H` and `weights` as in `forward`; `slope` is σ′.
    """
    gradients = [G]
    for layer in range(len(weights) - 1, 0, -1):
        gated, W = gradients[0] * slope(H[layer]), weights[layer]
        gradients.insert(0, gated @ W.T + (gated if _skips(layer, W, residual) else 0.0))
    return gradients


def shared_gates(F: Matrix, H: Float[np.ndarray, "n K2"], Y: Float[np.ndarray, "n M"], slope: Elementwise) -> Matrix:
    """Eq. 12 as printed, DỸỸᵀDF, with a sample's gates replaced by their mean over nodes, D = diag(mean_j σ′(h_ij)).

    **Arguments:** `F` = F_{L−1}, `H` = H_L, `Y` the labels.
    """
    Y_tilde, gate = centred(Y), slope(H).mean(axis=1, keepdims=True)
    return gate * (Y_tilde @ (Y_tilde.T @ (gate * F)))


def relu_limit(F: Matrix, Y: Float[np.ndarray, "n M"]) -> Matrix:
    r"""What (ỸỸᵀσ(FW) ∘ σ′(FW))Wᵀ tends to, per node, for σ = relu, W of independent N(0, 1) and many nodes.

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
    """The cosine between a gradient and ỸỸᵀF, what the first stages of learning need it to be.

    >>> F, Y = np.random.default_rng(0).normal(size=(6, 4)), np.eye(3)[[0, 1, 2, 0, 1, 2]]
    >>> round(label_signal(centred(Y) @ (centred(Y).T @ F), F, Y), 12)
    1.0
    """
    Y_tilde = centred(Y)
    return float(cosine(G, Y_tilde @ (Y_tilde.T @ F)))
