r"""Data for which AGOP differs from the features (Theorem 3.4): f* = τx₁x₂ + x₃x₄, seen mostly at a single point.

x is uniform on {0,1,2}⁴ with probability p and (1,1,0,0) otherwise, 82 atoms in all, so the population loss is a finite
sum and its minimisers can be computed to full precision.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from firstlight import features
from firstlight.theories.fact._quadratic import minimum_norm_network


@dataclass(frozen=True, eq=False)
class Separation:
    """The target f* = xᵀQx and the loss Σ w(f − y)² + (λ/2)‖θ‖² of f = Σ_k a_k(w_k·x)².

    **Attributes:**

    - `Q`: the quadratic form (4, 4).
    - `X`: the atoms (82, 4).
    - `y`: f* at the atoms (82,).
    - `weights`: probabilities of the atoms (82,).
    - `weight_decay`: λ.

    >>> problem = Separation.of(tau=0.02, p=1e-6, weight_decay=1e-8)
    >>> problem.X.shape, round(float(problem.weights.sum()), 12)
    ((82, 4), 1.0)
    """

    Q: Float[np.ndarray, "d d"]
    X: Float[np.ndarray, "n d"]
    y: Float[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"]
    weight_decay: float

    @classmethod
    def of(cls, tau: float, p: float, weight_decay: float) -> "Separation":
        """Return the problem of the distribution D(p, τ)."""
        grid = np.array(list(itertools.product(range(3), repeat=4)), dtype=float)
        X = np.concatenate([grid, [[1.0, 1.0, 0.0, 0.0]]])
        weights = np.concatenate([np.full(81, p / 81), [1 - p]])
        Q = np.zeros((4, 4))
        Q[0, 1] = Q[1, 0] = tau / 2
        Q[2, 3] = Q[3, 2] = 1 / 2
        return cls(Q, X, np.einsum("ni,ij,nj->n", X, Q, X), weights, weight_decay)


@dataclass(frozen=True, eq=False)
class Minimiser:
    """A minimiser and its feature matrices.

    **Attributes:**

    - `W`, `a`: weights (d, m) and (m,).
    - `loss`: the loss there.
    - `gradient`: the relative gradient ‖∇‖/λ‖θ‖.
    - `nfm`, `fact`, `agop`: feature matrices (d, d).
    """

    W: Float[np.ndarray, "d m"]
    a: Float[np.ndarray, " m"]
    loss: float
    gradient: float
    nfm: Float[np.ndarray, "d d"]
    fact: Float[np.ndarray, "d d"]
    agop: Float[np.ndarray, "d d"]

    def agop_cosine(self, power: float = 1.0) -> float:
        """Return cos(AGOP^s, WWᵀ) with s = `power`."""
        return float(features.cosine(features.matrix_power(self.agop, power, floor=1e-12), self.nfm))

    @property
    def fact_cosine(self) -> float:
        """cos(FACT, WWᵀ)."""
        return float(features.cosine(self.fact, self.nfm))


def minimise(problem: Separation, width: int = 10, starts: int = 10, seed: int = 0) -> Minimiser:
    """Find the best of several local minima by Levenberg–Marquardt on all starts, then Newton on the best.

    The first start is the network of least norm that computes f* (Lemma D.2), near which the minimiser lies if λ ≪ p.
    Random starts reach the same point ten times more slowly.

    **Arguments:**

    - `problem`: the data and the loss.
    - `width`: m ≥ 4, the number of hidden units.
    - `starts`: number of starts; all but the first are random.
    - `seed`: of the random starts.

    >>> best = minimise(Separation.of(tau=0.02, p=1e-6, weight_decay=1e-8))
    >>> best.fact_cosine > 1 - 1e-6, round(best.agop_cosine(), 2)
    (True, 0.06)
    """
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((starts, width, problem.X.shape[1] + 1)) / 2
    if width < problem.X.shape[1]:
        raise ValueError(
            f"width must be at least {problem.X.shape[1]}, one hidden unit per eigenvector of f*, got {width}"
        )
    W, a = minimum_norm_network(problem.Q)
    theta[0] *= 1e-3
    theta[0, : len(a), 0] += a
    theta[0, : len(a), 1:] += W.T
    theta = _levenberg_marquardt(problem, theta)
    values = [_loss(problem, start) for start in theta]
    best = _newton(problem, theta[int(np.argmin(values))])
    return described(problem, best)


def _residuals(problem: Separation, theta: np.ndarray) -> np.ndarray:
    a, w = theta[..., 0], theta[..., 1:]
    f = np.einsum("...k,...kn->...n", a, (w @ problem.X.T) ** 2)
    fit = np.sqrt(problem.weights) * (f - problem.y)
    flat = theta.reshape(*theta.shape[:-2], -1)
    return np.concatenate([fit, np.sqrt(problem.weight_decay / 2) * flat], axis=-1)


def _jacobian(problem: Separation, theta: np.ndarray) -> np.ndarray:
    """Return the Jacobian of f at the atoms, (…, n, m·(d + 1))."""
    a, z = theta[..., 0], theta[..., 1:] @ problem.X.T
    by_a = (z**2).swapaxes(-1, -2)[..., None]
    by_w = (2 * a[..., None] * z).swapaxes(-1, -2)[..., None] * problem.X[:, None, :]
    J = np.concatenate([by_a, by_w], axis=-1)
    return J.reshape(*J.shape[:-2], -1)


def _levenberg_marquardt(problem: Separation, theta: np.ndarray, steps: int = 300) -> np.ndarray:
    starts, size = theta.shape[0], theta[0].size
    mu, identity = np.full(starts, 1e-3), np.eye(size)
    residual = _residuals(problem, theta)
    root = np.sqrt(problem.weights)[:, None]
    decay = problem.weight_decay / 2
    for _ in range(steps):
        J = root * _jacobian(problem, theta)
        gram = J.swapaxes(-1, -2) @ J + decay * identity
        flat = theta.reshape(starts, size)
        slope = np.einsum("sni,sn->si", J, residual[:, : len(problem.y)]) + decay * flat
        scale = np.einsum("sii->si", gram)
        step = np.linalg.solve(gram + (mu[:, None] * scale)[:, None] * identity, slope[..., None])[..., 0]
        trial = (flat - step).reshape(theta.shape)
        new = _residuals(problem, trial)
        better = (new**2).sum(-1) < (residual**2).sum(-1)
        theta = np.where(better[:, None, None], trial, theta)
        residual = np.where(better[:, None], new, residual)
        mu = np.clip(np.where(better, mu / 5, mu * 4), 1e-14, 1e8)
    return theta


def _loss(problem: Separation, theta: np.ndarray) -> float:
    return float(np.sum(_residuals(problem, theta) ** 2))


def _derivatives(problem: Separation, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ∇ and ∇² of the loss in units of λ: the Gauss–Newton part and the curvature of f."""
    m, width = theta.shape
    J = _jacobian(problem, theta)
    miss = theta[:, 0] @ ((theta[:, 1:] @ problem.X.T) ** 2) - problem.y
    weights, lam = problem.weights, problem.weight_decay
    gradient = 2 * J.T @ (weights * miss) + lam * theta.ravel()
    H = 2 * (J.T * weights) @ J + lam * np.eye(m * width)
    S = 2 * (problem.X.T * (2 * weights * miss)) @ problem.X
    for k in range(m):
        at = k * width
        H[at, at + 1 : at + width] += S @ theta[k, 1:]
        H[at + 1 : at + width, at] += S @ theta[k, 1:]
        H[at + 1 : at + width, at + 1 : at + width] += theta[k, 0] * S
    return gradient / lam, H / lam


def _newton(problem: Separation, theta: np.ndarray, steps: int = 100) -> np.ndarray:
    """Take damped Newton steps H(H² + μ)⁻¹∇, which ignore the flat directions of rotations among equal units."""
    gradient, H = _derivatives(problem, theta)
    mu = 0.0
    for _ in range(steps):
        values, vectors = np.linalg.eigh(H)
        least, largest = (1e-11 * np.abs(values).max()) ** 2, np.abs(values).max() ** 2
        along, shorter = vectors.T @ gradient, False
        while not shorter and mu < largest:
            step = vectors @ (along * values / (values**2 + max(mu, least)))
            trial = theta - step.reshape(theta.shape)
            new, H_new = _derivatives(problem, trial)
            shorter = bool(np.linalg.norm(new) < np.linalg.norm(gradient))
            mu = mu / 100 if shorter else max(10 * mu, least)
        if not shorter or np.linalg.norm(gradient) < 1e-13 * np.linalg.norm(theta):
            break
        theta, gradient, H = trial, new, H_new
    return theta


def described(problem: Separation, theta: Float[np.ndarray, "m width"]) -> Minimiser:
    """Return the feature matrices at weights θ, whose rows are (a_k, w_k)."""
    a, W = theta[:, 0], theta[:, 1:].T
    Z = problem.X @ W
    f = Z**2 @ a
    slopes = 2 * Z * a
    deltas = (2 * problem.weights * (f - problem.y))[:, None] * slopes
    gradient = features.weight_gradient(problem.X, deltas, "sum")
    output_slopes = np.sqrt(problem.weights)[:, None] * slopes
    fact = features.fact(W, gradient, problem.weight_decay)
    # Weighted atoms are summed; the factor undoes the mean that `features.agop` takes.
    agop = len(problem.y) * features.agop(W, output_slopes)
    rest = np.linalg.norm(_derivatives(problem, theta)[0]) / np.linalg.norm(theta)
    return Minimiser(W, a, _loss(problem, theta), float(rest), features.nfm(W), fact, agop)
