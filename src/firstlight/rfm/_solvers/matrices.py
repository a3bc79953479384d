r"""FACT and AGOP of f(x) = Σ_j K(x, c_j)β_j from blocks of slopes, with weighted rows.

The exact machine has its rows as centres: C = X and β = α. `features.kernel_fact` and `kernel_agop` are this case for
whole matrices. Here no array is larger than a block, and there may be fewer centres than rows.
"""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from firstlight.features import matrix_power, symmetrised
from firstlight.rfm._solvers.threads import in_parallel

Rows = Float[np.ndarray, "n d"]
Centres = Float[np.ndarray, "m d"]
Metric = Float[np.ndarray, "d d"]
Slopes = Callable[[slice], Float[np.ndarray, "b m"]]

FLOOR = 1e-12
"""Eigenvalues below this fraction of the largest are rounding errors; their roots would be a millionth of M."""


@dataclass(frozen=True)
class FeatureMatrices:
    """FACT and AGOP of a machine; AGOP is None if it was not requested."""

    fact: Metric
    agop: Metric | None

    @functools.cached_property
    def fact_root(self) -> Metric:
        """√(FACT·FACTᵀ), positive semi-definite like every metric."""
        return np.asarray(symmetrised(self.fact, 1.0, FLOOR))

    @functools.cached_property
    def agop_root(self) -> Metric:
        """√AGOP."""
        if self.agop is None:
            raise ValueError("AGOP was not computed; ask for it with agop=True")
        return np.asarray(matrix_power(self.agop, 0.5, FLOOR))


def spread(
    rows: Iterable[slice],
    slopes: Slopes,
    X: Rows,
    C: Centres,
    alpha: Float[np.ndarray, "n c"],
    beta: Float[np.ndarray, "m c"],
    radial: bool,
) -> Metric:
    r"""Return the sum S in FACT, over pairs with Ω_ij = D_ij α_i·β_j.

    $$S = \sum_{ij}\Omega_{ij}(x_i - c_j)(x_i - c_j)^\top \text{ (radial)}, \qquad
      S = X^\top\Omega C + C^\top\Omega^\top X \text{ (inner product)}$$

    With C = X and β = α, FACT = ½MS (Lemma F.1). Shift X and C to a mean near zero first.

    **Arguments:**

    - `rows`: blocks that cover all rows once.
    - `slopes`: returns D (b, m) of a block.
    - `X`: (n, d) rows.
    - `C`: (m, d) centres.
    - `alpha`: (n, c) coefficients on the rows.
    - `beta`: (m, c) coefficients on the centres.
    - `radial`: whether the kernel is radial.
    """

    def part(block: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        omega = alpha[block] @ beta.T
        omega *= slopes(block)
        own = X[block].T @ (omega.sum(axis=1)[:, None] * X[block]) if radial else np.zeros(0)
        return X[block].T @ (omega @ C), own, omega.sum(axis=0)

    cross, own, columns = (sum(parts, np.zeros(1)) for parts in zip(*in_parallel(part, rows), strict=True))
    if not radial:
        return cross + cross.T
    return own + C.T @ (columns[:, None] * C) - cross - cross.T


def gradient_products(
    rows: Iterable[slice],
    slopes: Slopes,
    X: Rows,
    C: Centres,
    M: Metric,
    alpha: Float[np.ndarray, "n c"],
    beta: Float[np.ndarray, "m c"],
    weights: Float[np.ndarray, " n"],
    radial: bool,
    centred: bool,
) -> tuple[Metric, Metric]:
    r"""Return Σ_il α_il x_i g_ilᵀ and AGOP = M(Σ_il w_i g_il g_ilᵀ/Σ_i w_i)M, where Mg_il = ∇f_l(x_i).

    $$g_{il} = \sum_j D_{ij}\beta_{jl}(x_i - c_j)\text{ (radial)}, \qquad
      g_{il} = \sum_j D_{ij}\beta_{jl}c_j\text{ (inner product)}$$

    `centred` subtracts the products of the mean gradients from AGOP. The other arguments are those of `spread`, with
    `M` (d, d) the metric and `weights` (n,).
    """
    (m, d), c = C.shape, beta.shape[1]
    # D is multiplied by the columns β_jl c_j and, for a radial kernel, by β_jl: x_i then multiplies Σ_j D_ij β_jl.
    moved = np.empty((m, c * (d + radial)), beta.dtype)
    np.multiply(beta[:, :, None], C[:, None, :], out=moved[:, : c * d].reshape(m, c, d))
    moved[:, c * d :] = beta[:, : c * radial]
    uniform = bool((weights == 1).all())

    def part(block: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        summed = slopes(block) @ moved
        G = summed[:, : c * d].reshape(-1, c, d)
        if radial:
            G = summed[:, c * d :, None] * X[block, None, :] - G
        pull = X[block].T @ np.matmul(alpha[block, None, :], G)[:, 0]
        mean = np.tensordot(weights[block], G, axes=1) if centred else np.zeros((c, d))
        if not uniform:
            G *= np.sqrt(weights[block])[:, None, None]
        G = G.reshape(-1, d)
        return pull, G.T @ G, mean

    pull, total, mean = (sum(parts, np.zeros(1)) for parts in zip(*in_parallel(part, rows), strict=True))
    mass = weights.sum(dtype=np.float64)
    return pull, M @ (total / mass - (mean.T @ mean) / mass**2) @ M


def pair_products(
    D: Float[np.ndarray, "n n"],
    X: Rows,
    M: Metric,
    alpha: Float[np.ndarray, "n c"],
    weights: Float[np.ndarray, " n"],
    radial: bool,
    centred: bool,
) -> Metric:
    """Return AGOP of an exact machine from pairs of rows, cheaper if c·d > n (outputs × columns).

    The weighted sum equals the unweighted sum with the rows of D scaled by √w.
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
