"""Lemma 1: the gradient of a wide layer of random features, with its constant for any activation."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from firstlight.features import centred, cosine, numpy_activation, ridge_gradient
from firstlight.tasks import train_count

_REACH, _POINTS = 14.0, 200


@lru_cache(maxsize=2)
def _gauss(points: int) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
    """Return the points and weights of Gauss and Legendre; each costs the eigenvalues of a matrix."""
    return np.polynomial.legendre.leggauss(points)


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
    """Return quadrature points and weights for N(0, 1), exact to rounding for functions smooth on each side of 0."""
    x, weight = _gauss(_POINTS)
    half = 0.5 * _REACH * (x + 1)
    z = np.concatenate([-half[::-1], half])
    w = 0.5 * _REACH * np.concatenate([weight[::-1], weight])
    return z, w * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)


def hermite(z: Float[np.ndarray, "*q"], terms: int) -> Float[np.ndarray, "terms *q"]:
    """Evaluate φ_l(z) = He_l(z)/√l!, orthonormal for z ~ N(0, 1) (Li₂, Lemma 3), for l below `terms`.

    >>> import numpy as np
    >>> hermite(np.array([2.0]), 3).ravel().round(6)
    array([1.     , 2.     , 2.12132])
    """
    phi = np.empty((terms, *np.shape(z)))
    phi[0] = 1.0
    if terms > 1:
        phi[1] = z
    for l in range(1, terms - 1):
        phi[l + 1] = (z * phi[l] - np.sqrt(l) * phi[l - 1]) / np.sqrt(l + 1)
    return phi


def hermite_coefficients(activation: Any, s: float = 1.0, terms: int = 80) -> Float[np.ndarray, " terms"]:
    """Compute a_l(s) = E[σ(sZ) φ_l(Z)], by quadrature on each side of 0.

    >>> hermite_coefficients("quadratic", terms=4).round(9) + 0.0
    array([1.        , 0.        , 1.41421356, 0.        ])
    """
    z, weight = _quadrature()
    return hermite(z, terms) @ (weight * numpy_activation(activation)[0](s * z))


def dual_kernel(activation: Any, rho: float | Float[np.ndarray, "*r"], s: float = 1.0) -> Float[np.ndarray, "*r"]:
    r"""Compute κ(ρ) = E σ(sZ₁)σ(sZ₂) = Σ_l a_l(s)² ρ^l for standard normals with correlation ρ.

    >>> round(float(dual_kernel("relu", 0.0)), 12) == round(1 / (2 * 3.141592653589793), 12)
    True
    """
    rho = np.asarray(rho, float)
    if (np.abs(rho) > 1).any():
        raise ValueError(f"a correlation lies in [−1, 1], got {rho}")
    z, weight = _quadrature()
    sigma = numpy_activation(activation)[0]
    inside = np.where(np.abs(rho) < 1, rho, 0.0)
    # The expectation over Z₂ given Z₁ splits where its argument changes sign: a kink of σ at 0 costs no accuracy.
    root = np.sqrt(1 - inside**2)
    value = np.empty(rho.shape)
    for place in np.ndindex(rho.shape):
        value[place] = weight @ (sigma(s * z) * _conditional(sigma, s, inside[place] * z, float(root[place])))
    ends = np.where(rho > 0, weight @ sigma(s * z) ** 2, weight @ (sigma(s * z) * sigma(-s * z)))
    return np.where(np.abs(rho) < 1, value, ends)


def _conditional(sigma: Any, s: float, mean: Float[np.ndarray, " q"], width: float) -> Float[np.ndarray, " q"]:
    """Compute E σ(s(mean + width·Z)), integrating u = mean + width·Z over both sides of u = 0."""
    x, weight = _gauss(80)
    low, high = mean - 10 * width, mean + 10 * width
    total = np.zeros_like(mean)
    for start, stop in ((low, np.clip(0.0, low, high)), (np.clip(0.0, low, high), high)):
        u = start[:, None] + 0.5 * (stop - start)[:, None] * (x + 1)
        density = np.exp(-0.5 * ((u - mean[:, None]) / width) ** 2) / (width * np.sqrt(2 * np.pi))
        total += 0.5 * (stop - start) * ((sigma(s * u) * density) @ weight)
    return total


def c1_equicorrelated(activation: Any, rho: float, s: float = 1.0) -> float:
    """Return c₁ = κ(1) − κ(ρ) for inputs of norm s whose correlations xᵀx′/s² are all ρ: F̃F̃ᵀ → K c₁ P₁⊥.

    >>> [round(c1_equicorrelated(name, 0.3), 4) for name in ("quadratic", "relu", "silu", "tanh")]
    [1.82, 0.2586, 0.2325, 0.2836]
    """
    kappa = dual_kernel(activation, np.array([1.0, rho]), s)
    return float(kappa[0] - kappa[1])


def c1_group_table(activation: Any, deviation: float = 1.0) -> float:
    """Return c₁ = κ(1) − 2κ(½) + κ(0) for the whole table of a group, weights N(0, deviation²).

    Two pairs share both, one or no factor, so that κ takes three values. The eigenvalue of F̃F̃ᵀ on functions of the
    product is K c₁ for every group.

    >>> [round(c1_group_table(name), 4) for name in ("quadratic", "relu", "silu")]
    [4.0, 0.1003, 0.0868]
    """
    kappa = dual_kernel(activation, np.array([1.0, 0.5, 0.0]), np.sqrt(2.0) * deviation)
    return float(kappa[0] - 2 * kappa[1] + kappa[2])


def independent_gradient(
    F: Float[np.ndarray, "n K"], Y: Float[np.ndarray, "n M"], eta: float, c1: float
) -> Float[np.ndarray, "n K"]:
    r"""Compute G_F by Lemma 1, corrected, for K ≫ n: each column depends on its own hidden unit only.

    $$G_F = \frac{\eta}{(K c_1 + \eta)^2}\, \tilde Y \tilde Y^\top F$$

    >>> import numpy as np
    >>> independent_gradient(np.array([[1.0], [-1.0]]), np.array([[2.0], [-2.0]]), eta=2.0, c1=2.0).ravel()
    array([ 1., -1.])
    """
    Y_tilde, K = centred(Y), F.shape[1]
    return eta / (K * c1 + eta) ** 2 * (Y_tilde @ (Y_tilde.T @ F))


@dataclass(frozen=True)
class GradientAgreement:
    """Agreement of two matrices: the cosine of their angle, the ratio of their norms, ‖A − B‖/‖A‖."""

    cosine: float
    scale: float
    error: float

    @classmethod
    def of(cls, A: Float[np.ndarray, "n K"], B: Float[np.ndarray, "n K"]) -> "GradientAgreement":
        """Compare the measured A with the predicted B."""
        size_A, size_B = np.linalg.norm(A), np.linalg.norm(B)
        return cls(float(cosine(A, B)), float(size_A / size_B), float(np.linalg.norm(A - B) / size_A))


def equicorrelated_inputs(n: int, rho: float) -> Float[np.ndarray, "n n"]:
    """Return n inputs of norm 1 with pairwise correlation ρ: assumptions (2) and (3) of Lemma 1.

    >>> X = equicorrelated_inputs(3, 0.3)
    >>> (X @ X.T).round(9)
    array([[1. , 0.3, 0.3],
           [0.3, 1. , 0.3],
           [0.3, 0.3, 1. ]])
    """
    return np.linalg.cholesky((1 - rho) * np.eye(n) + rho * np.ones((n, n)))


def lemma_1_agreement(
    activation: Any,
    X: Float[np.ndarray, "n d"],
    Y: Float[np.ndarray, "n M"],
    width: int,
    eta: float,
    c1: float,
    seed: int,
) -> GradientAgreement:
    """Compare G_F of the ridge solution on `width` random N(0, 1) features with `independent_gradient`.

    **Arguments:**

    - `activation`: σ.
    - `X`: (n, d) inputs.
    - `Y`: (n, M) targets.
    - `width`: K, the number of random features.
    - `eta`: ridge η > 0.
    - `c1`: the constant c₁.
    - `seed`: of the features.

    >>> import numpy as np
    >>> Y = np.eye(5)[np.arange(40) % 5]
    >>> agreement = lemma_1_agreement("relu", equicorrelated_inputs(40, 0.3), Y, 4000, 1.0, 0.2586, seed=0)
    >>> agreement.cosine > 0.9
    True
    """
    W = np.random.default_rng(seed).standard_normal((X.shape[1], width))
    F = numpy_activation(activation)[0](X @ W)
    return GradientAgreement.of(ridge_gradient(F, Y, eta, form="samples"), independent_gradient(F, Y, eta, c1))


def sampled_table_cosine(activation: Any, M: int, fraction: float, eta: float = 1e-6, seed: int = 0) -> float:
    """Return the cosine of G_F and ỸỸᵀF for an infinitely wide layer on part of the table of Z_M.

    In this limit FFᵀ/K is a matrix of three values of κ, and every inner product of n×K matrices is a trace of n×n
    matrices. On the whole table the cosine is 1.

    **Arguments:**

    - `activation`: σ.
    - `M`: order of the group.
    - `fraction`: of the pairs.
    - `eta`: η/K.
    - `seed`: of the sampled pairs.

    >>> round(sampled_table_cosine("quadratic", 7, 1.0), 6)
    1.0
    """
    rows = np.sort(np.random.default_rng(seed).permutation(M * M)[: train_count(M * M, fraction, None)])
    g, h = np.divmod(rows, M)
    shared = (g[:, None] == g).astype(int) + (h[:, None] == h)
    FF = dual_kernel(activation, np.array([0.0, 0.5, 1.0]), np.sqrt(2.0))[shared]
    Y = centred(np.eye(M)[(g + h) % M])
    P = np.eye(len(rows)) - 1 / len(rows)
    FF_tilde = P @ FF @ P
    solved = np.linalg.solve(FF_tilde + eta * np.eye(len(rows)), Y)
    # ⟨A F, B F⟩ = tr(Aᵀ B FFᵀ) for A = S⁻¹ỸỸᵀS⁻¹P and B = ỸỸᵀ, both of rank M.
    left, right = FF_tilde @ solved, FF_tilde @ Y
    cross = np.trace((Y.T @ solved) @ (left.T @ Y))
    sizes = np.trace((solved.T @ solved) @ (solved.T @ left)) * np.trace((Y.T @ Y) @ (Y.T @ right))
    return float(cross / np.sqrt(sizes))
