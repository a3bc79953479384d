r"""Kernel ridge regression with fewer centres than rows, for tables whose n×n matrix does not fit in memory.

f(x) = K(x, C)β minimises Σ w_i|y_i − f(x_i)|² + ridge·βᵀK_CCβ exactly, in one pass over blocks of rows.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float
from scipy.linalg import get_lapack_funcs, solve_triangular

from firstlight.rfm._solvers.exact import predict
from firstlight.rfm._solvers.kernels import Kernel
from firstlight.rfm._solvers.matrices import FeatureMatrices, gradient_products, spread
from firstlight.rfm._solvers.normal import NormalEquations
from firstlight.rfm._solvers.pairs import blocks, slopes
from firstlight.rfm._solvers.solution import KernelSolution, NotPositiveDefinite

_ROWS_TIMES_CENTRES = 1 << 23


class CentreSolver:
    r"""Weighted kernel ridge regression on chosen centres, with the interface of `ExactSolver`.

    **Arguments:**

    - `X`: (n, d) rows.
    - `Y`: (n, c) targets.
    - `weights`: (n,) weights above 0.
    - `kernel`: kernel with its bandwidth.
    - `centres`: (m,) indices of the rows that are centres.

    `KernelSolution.captured` measures the accuracy: the centres miss the fraction 1 − captured of the sum of K(x, x).

    >>> from firstlight.rfm._solvers.kernels import Gaussian
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> solver = CentreSolver(X, np.sin(3 * X), np.ones(50), Gaussian(), np.arange(0, 50, 7))
    >>> solver.load(np.eye(1))
    >>> bool(abs(solver.predict(solver.solve(1e-6), X) - np.sin(3 * X)).max() < 1e-2)
    True
    """

    def __init__(
        self,
        X: Float[np.ndarray, "n d"],
        Y: Float[np.ndarray, "n c"],
        weights: Float[np.ndarray, " n"],
        kernel: Kernel,
        centres: np.ndarray,
    ) -> None:
        self.X, self.Y, self.kernel = X, Y.astype(X.dtype, copy=False), kernel
        self.weights = weights.astype(X.dtype, copy=False)
        self.C = np.ascontiguousarray(X[centres])
        self._potrf, self._potrs, self._pocon = get_lapack_funcs(("potrf", "potrs", "pocon"), (X,))

    def load(self, M: Float[np.ndarray, "d d"], *, once: bool = False) -> None:
        """Pass over the rows once for the metric M; `once` has no effect here."""
        self.M = M.astype(self.X.dtype, copy=False)
        self._system = NormalEquations(self.C, self.kernel, self.M, self.Y.shape[1])
        self._system.add(self.X, self.Y, self.weights)
        self._gram = self._system.gram.astype(self.X.dtype)
        self._moment = self._system.moment.astype(self.X.dtype)
        self.captured = self._system.captured

    @property
    def size(self) -> float:
        """The mean of the kernel's diagonal, which sets the scale of a ridge."""
        return self._system.size

    def solve(self, ridge: float, *, loo: bool = False) -> KernelSolution:
        """Solve for β at a ridge, for the metric loaded last; a row left out remains a centre."""
        system = np.asfortranarray(self._gram)
        norm = float(np.abs(system).sum(axis=0).max()) + ridge
        system[np.diag_indices_from(system)] += ridge
        factor, failed = self._potrf(system, lower=1, overwrite_a=1, clean=1)
        if failed:
            raise NotPositiveDefinite(
                f"the system of {len(self.C)} centres with ridge {ridge:g} is not positive definite in {system.dtype}; "
                "give a larger ridge"
            )
        gamma, _ = self._potrs(factor, self._moment, lower=1)
        reciprocal, _ = self._pocon(factor, norm, uplo="L")
        beta = solve_triangular(self._system.root, gamma, lower=True, trans=1)
        fitted = np.empty_like(self.Y)
        leverage = np.zeros(len(self.X), self.X.dtype)
        for rows, B in self._projected():
            fitted[rows] = B @ gamma
            if loo:
                half = solve_triangular(factor, B.T, lower=True)
                leverage[rows] = self.weights[rows] * np.einsum("ij,ij->j", half, half)
        residual = self.Y - fitted
        predictions = self.Y - residual / np.maximum(1 - leverage, 1e-6)[:, None] if loo else None
        alpha = self.weights[:, None] * residual / max(ridge, np.finfo(self.X.dtype).tiny)
        condition = float(1 / reciprocal) if reciprocal > 0 else float("inf")
        return KernelSolution(beta, alpha, float(ridge), predictions, condition, self.captured)

    def matrices(self, solution: KernelSolution, *, agop: bool = True, centred: bool = False) -> FeatureMatrices:
        r"""Return FACT and AGOP; FACT = M(S(X, C) − ½S(C, C)) is the gradient of the minimal cost in W."""
        radial, beta = self.kernel.radial, solution.beta
        among = slopes(self.kernel, self.C, self.C, self.M)
        if radial:
            np.fill_diagonal(among, 0)
        inner = spread(list(blocks(*among.shape)), among.__getitem__, self.C, self.C, beta, beta, radial)
        del among
        width = len(self.C) + self.Y.shape[1] * self.X.shape[1]
        rows = list(blocks(len(self.X), width, _ROWS_TIMES_CENTRES))
        total = spread(rows, self._slopes, self.X, self.C, solution.alpha, beta, radial) - inner / 2
        products = None
        if agop:
            _, products = gradient_products(
                rows, self._slopes, self.X, self.C, self.M, solution.alpha, beta, self.weights, radial, centred
            )
            products = products.astype(np.float64)
        return FeatureMatrices((self.M @ total).astype(np.float64), products)

    def predict(self, solution: KernelSolution, Z: Float[np.ndarray, "q d"]) -> Float[np.ndarray, "q c"]:
        """Return f at new rows."""
        return predict(self.kernel, Z.astype(self.X.dtype, copy=False), self.C, self.M, solution.beta)

    def _projected(self) -> Iterator[tuple[slice, Float[np.ndarray, "b m"]]]:
        for rows in blocks(len(self.X), len(self.C), _ROWS_TIMES_CENTRES):
            yield rows, self._system.projected(self.X[rows])

    def _slopes(self, rows: slice) -> Float[np.ndarray, "b m"]:
        return slopes(self.kernel, self.X[rows], self.C, self.M)
