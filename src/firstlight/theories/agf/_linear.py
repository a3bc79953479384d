"""Fully connected linear networks, which learn one singular mode after another (AGF, Section 4 and Appendix D)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.integrate import DOP853
from scipy.optimize import minimize

from firstlight import _canonical as canonical
from firstlight._threads import one_blas_thread
from firstlight.flow import Flow
from firstlight.theories.agf._problem import check_alpha, check_times
from firstlight.theories.agf._staircase import Staircase, from_levels
from firstlight.theories.agf._stepping import Watch, step_through


@dataclass(frozen=True, eq=False)
class LinearNetwork:
    r"""A linear network ŷ = VᵀWᵀx that learns y = Bx, with W (d, K) and V (K, M).

    Loss and gradients depend on the covariances Σ_xx (d, d) and Σ_yx = BΣ_xx (M, d) only.

    **Arguments:**

    - `covariance`: Σ_xx (d, d).
    - `target`: B (M, d).
    - `width`: K, the number of hidden units.

    >>> LinearNetwork(np.eye(2), np.diag([2.0, 1.0]), 2).best_levels.round(6)  # ½ Σ_{i>k} μ_i
    array([2.5, 0.5, 0. ])
    """

    covariance: Any
    target: Any
    width: int

    def __post_init__(self) -> None:
        S, B = np.asarray(self.covariance, float), np.asarray(self.target, float)
        if S.ndim != 2 or B.ndim != 2 or S.shape != (B.shape[1],) * 2:
            raise ValueError(f"covariance must be (d, d) and target (M, d), got {S.shape} and {B.shape}")
        if not (np.isfinite(B).all() and np.allclose(S, S.T) and np.linalg.eigvalsh(S)[0] > -1e-12 * np.abs(S).max()):
            raise ValueError("covariance must be symmetric without negative eigenvalues, and target finite")
        if self.width < 1:
            raise ValueError(f"width must be at least 1, got {self.width}")
        object.__setattr__(self, "covariance", S)
        object.__setattr__(self, "target", B)

    @property
    def rank(self) -> int:
        """The number of jumps: the rank of Σ_yx, at most min(d, K, M)."""
        return min(int(np.linalg.matrix_rank(self.Sigma_yx)), self.width)

    @property
    def Sigma_yx(self) -> Float[np.ndarray, "M d"]:
        """BΣ_xx."""
        return self.target @ self.covariance

    @property
    def commutes(self) -> bool:
        """Whether Σ_xx commutes with Σ_yxᵀΣ_yx."""
        A, S = self.Sigma_yx.T @ self.Sigma_yx, self.covariance
        return bool(np.abs(A @ S - S @ A).max() < 1e-9 * np.abs(A).max() * np.abs(S).max())

    def loss(self, beta: Float[np.ndarray, "M d"]) -> float:
        """Return the loss ½ tr (B − β) Σ_xx (B − β)ᵀ."""
        gap = self.target - beta
        return float(np.sum((gap @ self.covariance) * gap) / 2)

    def slope(self, beta: Float[np.ndarray, "M d"]) -> Float[np.ndarray, "M d"]:
        """Return ∇_β L = βΣ_xx − Σ_yx."""
        return (beta - self.target) @ self.covariance

    @property
    def best_levels(self) -> Float[np.ndarray, " k1"]:
        """The best loss of each rank (eq. 6): ½ Σ_{i>k} μ_i with μ the eigenvalues of Σ_yx Σ_xx⁻¹ Σ_yxᵀ."""
        mu = np.linalg.eigvalsh(self.target @ self.covariance @ self.target.T)[::-1]
        return np.maximum(mu.sum() - np.concatenate([[0.0], np.cumsum(mu)])[: self.rank + 1], 0.0) / 2

    def best(self, rank: int) -> Float[np.ndarray, "M d"]:
        """Return P_{U_k} B, the minimiser of a given rank (eq. 43)."""
        U = canonical.eigh(-self.target @ self.covariance @ self.target.T)[1][:, :rank]
        return U @ U.T @ self.target

    def greedy(self) -> tuple[Float[np.ndarray, "k1 M d"], Float[np.ndarray, "k r"]]:
        """Run greedy low-rank learning (Algorithm 3); return β after each stage and σ^(k) before each jump.

        Each stage adds the top singular mode of −∇L to the factors and minimises the loss over them. If Σ_xx commutes
        with Σ_yxᵀΣ_yx, the minimum stays in the chosen modes. These are the modes of largest σ, not of largest μ.
        """
        with one_blas_thread():
            return self._greedy()

    def _greedy(self) -> tuple[np.ndarray, np.ndarray]:
        beta, path, sigmas = np.zeros(self.target.shape), [np.zeros(self.target.shape)], []
        left, right = np.zeros((self.target.shape[0], 0)), np.zeros((self.target.shape[1], 0))
        for k in range(self.rank):
            u, s, vt = canonical.svd(-self.slope(beta))
            sigmas.append(np.pad(s[: self.rank - k], (0, k)))
            eps = 1e-3 * np.sqrt(np.abs(self.target).max())
            left, right = np.column_stack([left, eps * u[:, 0]]), np.column_stack([right, eps * vt[0]])
            left, right = self._descend(left, right)
            beta = left @ right.T
            path.append(beta)
        return np.stack(path), np.stack(sigmas)

    def _descend(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        (M, k), d = left.shape, right.shape[0]

        def cost(flat: np.ndarray) -> tuple[float, np.ndarray]:
            a, b = flat[: M * k].reshape(M, k), flat[M * k :].reshape(d, k)
            G = self.slope(a @ b.T)
            return self.loss(a @ b.T), np.concatenate([(G @ b).ravel(), (G.T @ a).ravel()])

        start = np.concatenate([left.ravel(), right.ravel()])
        options = {"maxiter": 5000, "gtol": 1e-10, "ftol": 1e-15, "maxcor": 30}
        flat = minimize(cost, start, jac=True, method="L-BFGS-B", options=options).x
        return flat[: M * k].reshape(M, k), flat[M * k :].reshape(d, k)

    def predict(self) -> Staircase:
        r"""Predict the staircase by Conjecture 4.1, corrected, with times in units of −log α.

        Modes come in the order of σ, and levels follow from the modes that are not yet learned.

        $$S_i(\tau^{(k)} + t) = S_i(\tau^{(k)}) + \sigma_i^{(k)} t, \qquad \Delta\tau^{(k)} =
          (1 - S_1(\tau^{(k)}))/\sigma_1^{(k)}$$

        >>> LinearNetwork(np.eye(2), np.diag([2.0, 1.0]), 2).predict().jump_times.round(6)
        array([0.5, 1. ])
        """
        path, sigmas = self.greedy()
        levels = [self.loss(beta) for beta in path]
        return self._staircase(levels, sigmas, path)

    def conjecture(self) -> Staircase:
        """Return Conjecture 4.1 as printed: the levels are those of the best approximation of each rank (eq. 6)."""
        path = np.stack([self.best(k) for k in range(self.rank + 1)])
        sigmas = np.stack(
            [
                np.pad(np.linalg.svd(self.slope(path[k]), compute_uv=False)[: self.rank - k], (0, k))
                for k in range(self.rank)
            ]
        )
        return self._staircase(list(self.best_levels), sigmas, path)

    def _staircase(self, levels: list[float], sigmas: np.ndarray, path: np.ndarray) -> Staircase:
        S, time, times = np.zeros(self.rank), 0.0, []
        for sigma in sigmas:
            wait = (1 - S[0]) / sigma[0]
            S = np.append(S[1:] + sigma[1:] * wait, 0.0)
            time += wait
            times.append(time)
        return from_levels(
            times, levels, list(range(len(times))), eta=np.inf, kappa=2, parameters=path, name="linear network"
        )

    def flow(self, alpha: float, times: Any, seed: int = 0, rtol: float = 1e-8, watch: Watch | None = None) -> Flow:
        """Solve gradient flow from entries of W, V ~ N(0, α²), in units of −log α.

        The `params` of the result are β (n, M, d). `watch` is called with each saved time and its loss.
        """
        check_alpha(alpha)
        if alpha >= 1:
            raise ValueError(f"alpha must lie in (0, 1), so that −log alpha is a clock, got {alpha}")
        (M, d), K, rng = self.target.shape, self.width, np.random.default_rng(seed)
        eta = -float(np.log(alpha))
        ts = check_times(times)
        S, B = self.covariance, self.target

        def unpack(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return y[: M * K].reshape(M, K), y[M * K :].reshape(K, d)

        def right(t: float, y: np.ndarray) -> np.ndarray:
            a, w = unpack(y)
            G = (B - a @ w) @ S
            return eta * np.concatenate([(G @ w.T).ravel(), (a.T @ G).ravel()])

        y = alpha * rng.standard_normal(M * K + K * d)
        solver = DOP853(right, 0.0, y, ts[-1], rtol=rtol, atol=1e-6 * alpha * rtol)

        def report(t: float, y: np.ndarray) -> bool:
            if watch is not None:
                a, w = unpack(y)
                watch(t, self.loss(a @ w))
            return False

        with one_blas_thread():
            states, _, _ = step_through(solver, ts, done=report)
        path = np.stack([a @ w for a, w in map(unpack, states)])
        loss = np.array([self.loss(beta) for beta in path])
        return Flow(
            ts[: len(path)], path, loss, "diverged" if solver.status == "failed" else "finished", None, solver.nfev
        )
