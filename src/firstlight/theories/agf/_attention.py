"""Attention-only linear transformers learning regression in context (AGF, Section 4 and Appendix E)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from firstlight import _canonical as canonical
from firstlight.theories.agf._problem import Problem


@dataclass(frozen=True, eq=False)
class InContext:
    r"""Linear attention that learns linear regression in context, with exact population averages.

    The model is ŷ = Σ_h V_h Σ_n y_n x_nᵀ K_h Q_hᵀ x_{N+1}; the data are x ~ N(0, Σ), y = βᵀx, β ~ N(0, I).
    With W = Σ_h V_h K_h Q_hᵀ and T = E(Σ_n x_n x_nᵀ)² = N Σ tr Σ + N(N+1) Σ² (eq. 53),

    $$L = \tfrac12\big(\mathrm{tr}\,\Sigma - 2N\,\mathrm{tr}(\Sigma^2 W) + \mathrm{tr}(W\Sigma W^\top T)\big).$$

    A neuron is one attention head, θ = (V, K, Q).

    **Arguments:**

    - `covariance`: Σ (D, D), symmetric and positive definite.
    - `context`: N, the number of examples in a sequence.

    >>> task = InContext(np.diag([1.0, 0.5]), 8)
    >>> task.levels.round(4)
    array([0.75  , 0.369 , 0.2024])
    """

    covariance: Any
    context: int

    def __post_init__(self) -> None:
        S = np.asarray(self.covariance, float)
        if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.allclose(S, S.T) or np.linalg.eigvalsh(S)[0] <= 0:
            raise ValueError(f"covariance must be a symmetric positive definite matrix, got shape {S.shape}")
        if self.context < 1:
            raise ValueError(f"context must be at least 1 example, got {self.context}")
        object.__setattr__(self, "covariance", S)

    @cached_property
    def eigen(self) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, "D D"]]:
        """Eigenvalues λ of Σ, largest first, and the eigenvectors v_k as columns."""
        lam, v = canonical.eigh(-self.covariance)
        return -lam, v

    @property
    def second_moment(self) -> Float[np.ndarray, "D D"]:
        """E(Σ_n x_n x_nᵀ)² (eq. 53)."""
        S, N = self.covariance, self.context
        return N * S * np.trace(S) + N * (N + 1) * S @ S

    @property
    def magnitudes(self) -> Float[np.ndarray, " D"]:
        """A_k = 1/(tr Σ + (N + 1) λ_k), the singular values of the learned W."""
        return 1 / (np.trace(self.covariance) + (self.context + 1) * self.eigen[0])

    @property
    def levels(self) -> Float[np.ndarray, " D1"]:
        """ℓ^(k) = ½(tr Σ − Σ_{h≤k} N λ_h² A_h) (eq. 57; eq. 7 prints λ_h)."""
        drops = self.context * self.eigen[0] ** 2 * self.magnitudes
        return (np.trace(self.covariance) - np.concatenate([[0.0], np.cumsum(drops)])) / 2

    @property
    def largest_utility(self) -> Float[np.ndarray, " D"]:
        """U*_k = N λ_k²/(3√3), the largest utility after the components before k are learned (Lemma E.1)."""
        return self.context * self.eigen[0] ** 2 / (3 * np.sqrt(3))

    def matrix(self, theta: Float[np.ndarray, "H P"]) -> Float[np.ndarray, "D D"]:
        """Return W = Σ_h V_h K_h Q_hᵀ."""
        V, K, Q = self.heads(theta)
        return (V[:, None] * K).T @ Q

    def heads(self, theta: Float[np.ndarray, "H P"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Split θ into V (H,), K (H, D) and Q (H, D)."""
        D = len(self.covariance)
        return theta[:, 0], theta[:, 1 : 1 + D], theta[:, 1 + D :]

    def slope(self, theta: Float[np.ndarray, "H P"]) -> Float[np.ndarray, "D D"]:
        """Return ∂L/∂W = −NΣ² + TWΣ."""
        S = self.covariance
        return self._moment @ self.matrix(theta) @ S - self.context * self._square

    @cached_property
    def _moment(self) -> np.ndarray:
        return self.second_moment

    @cached_property
    def _square(self) -> np.ndarray:
        return self.covariance @ self.covariance

    @cached_property
    def problem(self) -> Problem:
        """The `Problem` for `predict` and `follow`; α is the standard deviation of every entry, as in Figure 5."""
        D, S, N = len(self.covariance), self.covariance, self.context
        trace = float(np.trace(S))

        def form(theta: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Return V KᵀRQ of every head, and its gradient."""
            V, K, Q = self.heads(theta)
            RQ, RK = Q @ R.T, K @ R
            value = np.einsum("hd,hd->h", K, RQ)
            return V * value, np.concatenate([value[:, None], V[:, None] * RQ, V[:, None] * RK], axis=1)

        def cost(theta: np.ndarray) -> tuple[float, np.ndarray]:
            W = self.matrix(theta)
            value = (trace - 2 * N * np.sum(self._square * W) + np.sum((W @ S @ W.T) * self._moment)) / 2
            return float(value), form(theta, self.slope(theta))[1]

        return Problem(
            cost=cost,
            residual=lambda theta: -self.slope(theta),
            utility=form,
            kappa=3,
            parameters=1 + 2 * D,
            spread=np.ones(1 + 2 * D),
            name=f"regression in context, {D} dimensions, {N} examples",
        )

    def initial(self, heads: int, alpha: float, seed: int = 0) -> Float[np.ndarray, "H P"]:
        """Draw θ with normal entries of standard deviation α and V ≥ 0.

        The paper prints V ~ N(0, α), which `problem.initial` draws; its code takes |V|.
        """
        theta = self.problem.initial(heads, alpha, seed)
        theta[:, 0] = np.abs(theta[:, 0])
        return theta


def power_law_covariance(D: int, trace: float = 2.0, exponent: float = 1.0) -> Float[np.ndarray, "D D"]:
    """Return a diagonal covariance with eigenvalues ∝ i^(−exponent) and a given trace.

    >>> np.diag(power_law_covariance(2, trace=3.0))
    array([2., 1.])
    """
    lam = np.arange(1, D + 1) ** -float(exponent)
    return np.diag(trace * lam / lam.sum())
