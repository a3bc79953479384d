r"""FACT and AGOP of f(x) = Σ_j K(x, c_j)β_j from blocks of slopes, with weighted rows.

The exact machine has its rows for centres, C = X, and β = α; `features.kernel_fact` and `kernel_agop` are that case for
whole matrices. Nothing larger than a block is held here, and centres may be fewer than rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Rows = Float[np.ndarray, "n d"]
Centres = Float[np.ndarray, "m d"]
Metric = Float[np.ndarray, "d d"]


@dataclass(frozen=True)
class FeatureMatrices:
    """FACT and AGOP of one machine; AGOP is None where it was not asked for."""

    fact: Metric
    agop: Metric | None


def spread(
    slopes: Iterable[tuple[slice, Float[np.ndarray, "b m"]]],
    X: Rows,
    C: Centres,
    alpha: Float[np.ndarray, "n c"],
    beta: Float[np.ndarray, "m c"],
    radial: bool,
) -> Metric:
    r"""The sum that FACT is made of, over pairs with Ω_ij = D_ij α_i·β_j.

    $$S = \sum_{ij}\Omega_{ij}(x_i - c_j)(x_i - c_j)^\top \text{ (radial)}, \qquad
      S = X^\top\Omega C + C^\top\Omega^\top X \text{ (inner product)}$$

    With C = X and β = α, FACT = ½MS (Lemma F.1). Shift X and C so that their mean is near zero.

    Args:
        slopes: (rows, D of those rows), covering all rows once.
    """
    d = X.shape[1]
    cross, own = np.zeros((d, d)), np.zeros((d, d))
    columns = np.zeros(len(C))
    for rows, D in slopes:
        omega = alpha[rows] @ beta.T
        omega *= D
        cross += X[rows].T @ (omega @ C)
        if radial:
            own += X[rows].T @ (omega.sum(axis=1)[:, None] * X[rows])
            columns += omega.sum(axis=0)
    if not radial:
        return cross + cross.T
    return own + C.T @ (columns[:, None] * C) - cross - cross.T


def gradient_products(
    slopes: Iterable[tuple[slice, Float[np.ndarray, "b m"]]],
    X: Rows,
    C: Centres,
    M: Metric,
    beta: Float[np.ndarray, "m c"],
    weights: Float[np.ndarray, " n"],
    radial: bool,
    centred: bool,
) -> Metric:
    r"""AGOP = Σ_i w_i ∇f(x_i)∇f(x_i)ᵀ/Σ_i w_i, minus the products of the mean gradients if `centred`.

    $$\nabla f_l(x_i) = M\sum_j D_{ij}\beta_{jl}(x_i - c_j)\text{ (radial)}, \qquad
      \nabla f_l(x_i) = M\sum_j D_{ij}\beta_{jl}c_j\text{ (inner product)}$$
    """
    (m, d), c = C.shape, beta.shape[1]
    XM, CM = X @ M, C @ M
    moved = (beta[:, :, None] * CM[:, None, :]).reshape(m, c * d)
    total, mean = np.zeros((d, d)), np.zeros((c, d))
    for rows, D in slopes:
        G = (D @ moved).reshape(-1, c, d)
        if radial:
            np.subtract((D @ beta)[:, :, None] * XM[rows, None, :], G, out=G)
        if centred:
            mean += np.tensordot(weights[rows], G, axes=1)
        G *= np.sqrt(weights[rows])[:, None, None]
        G = G.reshape(-1, d)
        total += G.T @ G
    mass = weights.sum(dtype=np.float64)
    return total / mass - (mean.T @ mean) / mass**2


def pair_products(
    D: Float[np.ndarray, "n n"],
    X: Rows,
    M: Metric,
    alpha: Float[np.ndarray, "n c"],
    weights: Float[np.ndarray, " n"],
    radial: bool,
    centred: bool,
) -> Metric:
    """The same AGOP of an exact machine by way of pairs of rows, cheaper where there are more outputs × columns.

    The weighted sum is the plain one of slopes with rows scaled by √w.
    """
    from firstlight.features import kernel_agop

    mass = weights.sum(dtype=np.float64)
    uniform = bool((weights == weights[0]).all())
    if not centred or uniform:
        scaled = D if uniform else np.sqrt(weights)[:, None] * D
        total = kernel_agop(X, M, scaled, alpha, radial=radial, centred=centred, form="pairs")
        return np.asarray(total * (1.0 if uniform else len(X) / mass))
    total = pair_products(D, X, M, alpha, weights, radial, False)
    pulled = alpha * (weights @ D)[:, None]
    mean = ((weights[:, None] * (D @ alpha) - pulled if radial else pulled).T @ (X @ M)) / mass
    return total - mean.T @ mean
