r"""Kernel ridge regression by one Cholesky factor, in the memory of one n×n matrix.

LAPACK replaces one triangle by the factor. The other triangle holds K for further ridges, or the slopes D.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import get_lapack_funcs

from firstlight.rfm._solvers import lapack
from firstlight.rfm._solvers.kernels import Kernel
from firstlight.rfm._solvers.matrices import FeatureMatrices, gradient_products, pair_products, spread
from firstlight.rfm._solvers.pairs import blocks, mirror, own_slopes, own_values, own_values_and_slopes, values
from firstlight.rfm._solvers.pairs import norm as norm_of
from firstlight.rfm._solvers.solution import KernelSolution, NotPositiveDefinite
from firstlight.rfm._solvers.threads import cores, in_parallel


class ExactSolver:
    r"""Weighted kernel ridge regression, min Σ w_i|y_i − f(x_i)|² + ridge·‖f‖², so α = (K + ridge·diag(1/w))⁻¹Y.

    **Arguments:**

    - `X`: (n, d) rows, centred if the kernel is radial; its type, float32 or float64, is the precision of all results.
    - `Y`: (n, c) targets.
    - `weights`: (n,) weights above 0.
    - `kernel`: kernel with its bandwidth.

    >>> from firstlight.rfm._solvers.kernels import Gaussian
    >>> X, Y = np.array([[-1.0], [1.0]]), np.array([[-1.0], [1.0]])
    >>> solver = ExactSolver(X, Y, np.ones(2), Gaussian())
    >>> solver.load(np.eye(1))
    >>> solver.solve(1.0).alpha.ravel().round(4)
    array([-0.5363,  0.5363])
    """

    def __init__(
        self,
        X: Float[np.ndarray, "n d"],
        Y: Float[np.ndarray, "n c"],
        weights: Float[np.ndarray, " n"],
        kernel: Kernel,
    ) -> None:
        self.X, self.Y, self.kernel = X, Y.astype(X.dtype, copy=False), kernel
        self.weights = weights.astype(X.dtype, copy=False)
        self.C = X
        self._square = np.empty((len(X), len(X)), X.dtype)
        (self._pocon,) = get_lapack_funcs(("pocon",), (self._square,))

    def load(self, M: Float[np.ndarray, "d d"], *, once: bool = False) -> None:
        """Compute K for the metric M; with `once`, also D, and then only one `solve` is possible."""
        self.M, K = M.astype(self.X.dtype, copy=False), self._square
        self._once, self._slope_diagonal = once, np.zeros(0)
        if once:
            self._norm, self._slope_diagonal = own_values_and_slopes(self.kernel, self.X, self.M, K)
        else:
            own_values(self.kernel, self.X, self.M, K)
            self._norm = float("nan")
        if self.kernel.radial:
            np.fill_diagonal(K, 1)
        self._diagonal = K.diagonal().copy()
        if not np.isfinite(self._diagonal).all():
            raise ValueError(
                "the kernel overflows on these rows; scale the columns of X, or give a larger bandwidth "
                f"than {self.kernel.bandwidth:g}"
            )
        self._whole = True

    @property
    def size(self) -> float:
        """The mean of the kernel's diagonal, which sets the scale of a ridge."""
        return float(np.mean(self._diagonal, dtype=np.float64)) or 1.0

    def kernel_matrix(self) -> Float[np.ndarray, "n n"]:
        """Return a copy of K for the metric loaded last, in double precision; call it before `solve`."""
        if not self._whole or self._once:
            raise ValueError("the kernel matrix was overwritten; call load(M) first")
        return self._square.astype(np.float64)

    def solve(self, ridge: float, *, loo: bool = False, condition: bool = True) -> KernelSolution:
        """Solve for α at a ridge, for the metric loaded last.

        `loo` adds leave-one-out predictions; without `condition` the condition number stays unknown.
        """
        if not self._whole:
            if self._once:
                raise ValueError("load(M, once=True) allows one solve; call load(M) before another ridge")
            mirror(self._square)
        self._whole = False
        if condition and np.isnan(self._norm) and not self._once:
            np.fill_diagonal(self._square, self._diagonal)
            self._norm = norm_of(self._square)
        np.fill_diagonal(self._square, self._diagonal + ridge / self.weights)
        factor = self._square.T
        if not lapack.cholesky(factor):
            raise NotPositiveDefinite(
                f"the kernel matrix of {len(self.X)} rows plus ridge {ridge:g} is not positive definite in "
                f"{self._square.dtype}; give a larger ridge{self._hint()}"
            )
        norm = self._norm + float(np.max(ridge / self.weights))
        jobs: list[Callable[[], Any]] = [lambda: lapack.solve(factor, self.Y)]
        if condition:
            jobs.append(lambda: self._pocon(factor, norm, uplo="L")[0])
        alpha, *reciprocal = in_parallel(lambda job: job(), jobs)
        predictions = None
        if loo:
            lapack.invert(factor)
            predictions = self.Y - alpha / self._inverse_diagonal()[:, None]
        size = float("nan")
        if condition:
            size = float(1 / reciprocal[0]) if reciprocal[0] > 0 else float("inf")
        return KernelSolution(alpha, alpha, float(ridge), predictions, size)

    def ridge_derivative(self, solution: KernelSolution) -> Float[np.ndarray, "n c"]:
        r"""Return dα/d log(ridge) = −ridge·(K + ridge·diag(1/w))⁻¹(α/w), from the factor of the last `solve`."""
        scaled = solution.alpha * (-solution.ridge / self.weights)[:, None]
        return lapack.solve(self._square.T, scaled)

    def matrices(self, solution: KernelSolution, *, agop: bool = True, centred: bool = False) -> FeatureMatrices:
        """Return FACT and AGOP of a solution for the metric loaded last; K is overwritten."""
        D, alpha, radial = self._slopes(), solution.alpha, self.kernel.radial
        (n, d), c = self.X.shape, alpha.shape[1]

        # Short blocks keep several threads busy; a single thread multiplies long blocks faster.
        rows = list(blocks(n, n + c * d, 1 << (19 if cores() > 1 else 21)))
        if agop and c * d <= n:
            # Half of Σ_ij Ω_ij(x_i − x_j)(x_i − x_j)ᵀ is the transpose of the other half; `pull` is one of them.
            pull, products = gradient_products(
                rows, D.__getitem__, self.X, self.X, self.M, alpha, alpha, self.weights, radial, centred
            )
            return FeatureMatrices((self.M @ (pull + pull.T) / 2).astype(np.float64), products.astype(np.float64))
        fact = (self.M @ spread(rows, D.__getitem__, self.X, self.X, alpha, alpha, radial) / 2).astype(np.float64)
        if not agop:
            return FeatureMatrices(fact, None)
        products = pair_products(D, self.X, self.M, alpha, self.weights, radial, centred)
        return FeatureMatrices(fact, products.astype(np.float64))

    def predict(self, solution: KernelSolution, Z: Float[np.ndarray, "q d"]) -> Float[np.ndarray, "q c"]:
        """Return f at new rows."""
        return predict(self.kernel, Z.astype(self.X.dtype, copy=False), self.C, self.M, solution.beta)

    def _slopes(self) -> Float[np.ndarray, "n n"]:
        D = self._square
        if self._once:
            mirror(D)
            np.fill_diagonal(D, 0 if self.kernel.radial else self._slope_diagonal)
            return D
        np.fill_diagonal(D, self._diagonal)
        own_slopes(self.kernel, self.X, self.M, D)
        if self.kernel.radial:
            np.fill_diagonal(D, 0)
        return D

    def _inverse_diagonal(self) -> Float[np.ndarray, " n"]:
        """Return diag((LLᵀ)⁻¹) from L⁻¹, whose columns are rows of the upper triangle here."""
        result = np.empty(len(self._square), self._square.dtype)
        in_parallel(partial(_upper_row_squares, self._square, result), blocks(len(result), 1, 256))
        return result

    def _hint(self) -> str:
        return ", or precision='double'" if self._square.dtype == np.float32 else ""


def _upper_row_squares(square, result, block):
    right, corner = square[block, block.stop :], np.triu(square[block, block])
    result[block] = np.einsum("ij,ij->i", right, right) + np.einsum("ij,ij->i", corner, corner)


def predict(
    kernel: Kernel,
    Z: Float[np.ndarray, "q d"],
    C: Float[np.ndarray, "m d"],
    M: Float[np.ndarray, "d d"],
    beta: Float[np.ndarray, "m c"],
) -> Float[np.ndarray, "q c"]:
    """Return K(Z, C)β, computed in blocks of rows."""
    result = np.empty((len(Z), beta.shape[1]), beta.dtype)
    for block in blocks(len(Z), len(C), 1 << 23):
        result[block] = values(kernel, Z[block], C, M) @ beta
    return result
