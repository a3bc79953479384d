r"""Normal equations of kernel ridge regression on centres, summed over blocks of rows.

With K_CC = LLᵀ and B = K_XC L⁻ᵀ, the system BᵀwB + ridge·I is as well conditioned as the problem itself; K_XCᵀwK_XC is
not. The sums do not depend on the ridge, and no block is needed twice.
"""

import threading
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

from firstlight.rfm._solvers import lapack
from firstlight.rfm._solvers.kernels import Kernel
from firstlight.rfm._solvers.pairs import blocks, values
from firstlight.rfm._solvers.solution import NotPositiveDefinite
from firstlight.rfm._solvers.threads import in_parallel

_ENTRIES = 1 << 21
"""Kernel values of a block: enough rows for fast products, few enough that every thread has its own block."""


class NormalEquations:
    """BᵀwB and BᵀwY of the rows added so far.

    **Arguments:**

    - `C`: (m, d) centres; their type, float32 or float64, is the precision of the sums.
    - `kernel`: kernel with its bandwidth.
    - `M`: (d, d) metric.
    - `outputs`: number of outputs c.

    >>> from firstlight.rfm._solvers.kernels import Gaussian
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> system = NormalEquations(X[::5], Gaussian(), np.eye(1), 1)
    >>> system.add(X, np.sin(X), np.ones(40))
    >>> system.rows, bool(abs(values(Gaussian(), X, X[::5], np.eye(1)) @ system.solve(1e-6) - np.sin(X)).max() < 1e-2)
    (40, True)
    """

    def __init__(self, C: Float[np.ndarray, "m d"], kernel: Kernel, M: Float[np.ndarray, "d d"], outputs: int) -> None:
        self.C, self.kernel, self.M = C, kernel, M.astype(C.dtype, copy=False)
        # Rounding in single precision would make the matrix of close centres indefinite.
        double = C.astype(np.float64)
        K = values(kernel, double, double, self.M.astype(np.float64))
        if kernel.radial:
            np.fill_diagonal(K, 1)
        # Centres may coincide up to rounding; the shift is below single precision.
        K[np.diag_indices_from(K)] += 1e-6 * np.mean(K.diagonal())
        try:
            self._root = np.asfortranarray(cholesky(K, lower=True), dtype=C.dtype)
        except np.linalg.LinAlgError as error:
            raise NotPositiveDefinite(f"the kernel matrix of the centres is not positive definite: {error}") from None
        self._gram = np.zeros((len(C), len(C)))
        self._moment = np.zeros((len(C), outputs))
        self.rows, self._trace, self._whole, self._lock = 0, 0.0, 0.0, threading.Lock()

    def add(
        self,
        X: Float[np.ndarray, "n d"],
        Y: Float[np.ndarray, "n c"],
        weights: Float[np.ndarray, " n"],
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Add rows; `progress` is called with the number of rows of each finished block."""
        m, dtype = len(self.C), self.C.dtype
        local = threading.local()
        grams: list[np.ndarray] = []

        def part(block: slice) -> tuple[np.ndarray, float, int]:
            if not hasattr(local, "gram"):
                local.gram = np.zeros((m, m), dtype, order="F")
                with self._lock:
                    grams.append(local.gram)
            B, w = self.projected(X[block]), np.sqrt(weights[block]).astype(dtype)
            trace = float(np.einsum("ij,ij->", B, B, dtype=np.float64))
            B *= w[:, None]
            lapack.add_square(local.gram, B.T)
            moment = (B.T @ (w[:, None] * Y[block].astype(dtype))).astype(np.float64)
            if progress is not None:
                progress(block.stop - block.start)
            return moment, trace, block.stop - block.start

        # Each group of blocks ends in double precision, so that rounding does not grow with the number of rows.
        for group in blocks(len(X), m, 32 * _ENTRIES):
            inner = [slice(group.start + b.start, group.start + b.stop) for b in _inner(group, m)]
            for moment, trace, rows in in_parallel(part, inner):
                self._moment += moment
                self._trace += trace
                self.rows += rows
            self._whole += float(self_similarity(self.kernel, X[group], self.M).sum(dtype=np.float64))
            for gram in grams:
                self._gram += gram
                gram[:] = 0

    def projected(self, X: Float[np.ndarray, "b d"]) -> Float[np.ndarray, "b m"]:
        """Return B = K(X, C)L⁻ᵀ."""
        K = values(self.kernel, X.astype(self.C.dtype, copy=False), self.C, self.M)
        lapack.solve_left(self._root, K.T)
        return K

    @property
    def gram(self) -> Float[np.ndarray, "m m"]:
        """BᵀwB."""
        lower = np.tril(self._gram)
        return lower + np.tril(lower, -1).T

    @property
    def moment(self) -> Float[np.ndarray, "m c"]:
        """BᵀwY."""
        return self._moment

    @property
    def root(self) -> Float[np.ndarray, "m m"]:
        """L."""
        return self._root

    @property
    def captured(self) -> float:
        """The fraction of the sum of K(x_i, x_i) that the centres span."""
        return min(self._trace / (self._whole or 1.0), 1.0)

    @property
    def size(self) -> float:
        """The mean of K(x_i, x_i), which sets the scale of a ridge."""
        return self._whole / max(self.rows, 1) or 1.0

    def condition(self, ridge: float) -> float:
        """Return the condition number of BᵀwB + ridge·I, estimated from its largest eigenvalue."""
        start = np.ones(len(self.C)) / len(self.C) ** 0.5
        gram, size = self.gram, 0.0
        for _ in range(20):
            after = gram @ start
            size = float(np.linalg.norm(after))
            start = after / (size or 1.0)
        return (size + ridge) / ridge if ridge > 0 else float("inf")

    def solve(self, ridge: float) -> Float[np.ndarray, "m c"]:
        """Return β at a ridge."""
        system = np.tril(self._gram)
        system[np.diag_indices_from(system)] += ridge
        try:
            factor = cho_factor(system, lower=True, overwrite_a=True)
        except np.linalg.LinAlgError:
            raise NotPositiveDefinite(
                f"the system of {len(self.C)} centres with ridge {ridge:g} is not positive definite; "
                "give a larger ridge"
            ) from None
        gamma = cho_solve(factor, self._moment)
        return solve_triangular(self._root.astype(np.float64), gamma, lower=True, trans=1).astype(self.C.dtype)


def self_similarity(
    kernel: Kernel, X: Float[np.ndarray, "n d"], M: Float[np.ndarray, "d d"]
) -> Float[np.ndarray, " n"]:
    """Return K(x, x) of each row."""
    u = np.zeros(len(X), X.dtype) if kernel.radial else np.einsum("ij,ij->i", X @ M, X)
    kernel.values(u)
    return u


def _inner(group: slice, m: int):
    return blocks(group.stop - group.start, m, _ENTRIES)
