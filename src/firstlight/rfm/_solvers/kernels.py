r"""Kernels with a learned metric M: radial, φ(‖x − z‖²_M), or of the inner product, k(xᵀMz).

A kernel works in place on blocks of arguments u, so that no second n×n matrix is needed.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

Block = Float[np.ndarray, "*shape"]

RANGES: dict[np.dtype, float] = {np.dtype(np.float32): 1e8, np.dtype(np.float64): 1e70}
"""Upper bound of entries and bandwidths, and the inverse of the lower bound: fourth powers stay finite."""


def in_range(size: float, dtype: np.dtype) -> bool:
    """Return whether fourth powers of numbers of this size neither overflow nor vanish.

    >>> in_range(1e9, np.dtype(np.float32)), in_range(1e9, np.dtype(np.float64))
    (False, True)
    """
    return 1 / RANGES[dtype] <= size <= RANGES[dtype]


@dataclass(frozen=True)
class Kernel(ABC):
    r"""K(x, z) = k(u) with u = ‖x − z‖²_M for a radial kernel and u = xᵀMz otherwise.

    Your own kernel sets `radial` and implements `values` and `slopes`, both in place. A radial kernel must have
    k(0) = 1: the diagonal is set to exactly 1.
    """

    bandwidth: float = 1.0

    radial: ClassVar[bool] = True
    slopes_from_values: ClassVar[bool] = True
    """Whether `slopes` takes K (which is already computed) or u (which is computed again)."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # An inherited shortcut `both` would contradict new formulas.
        if {"values", "slopes"} & vars(cls).keys() and "both" not in vars(cls):
            cls.both = Kernel.both  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        if not in_range(self.bandwidth, np.dtype(np.float64)):
            raise ValueError(f"bandwidth must be a number above 0, from 1e-70 to 1e70, got {self.bandwidth}")

    @abstractmethod
    def values(self, u: Block) -> None:
        """Replace u by k(u); for a radial kernel u is never negative."""

    @abstractmethod
    def slopes(self, block: Block) -> None:
        """Replace k(u), or u, by D: 2k′(u) of a radial kernel, k′(u) of an inner-product kernel."""

    def both(self, u: Block, slopes: Block) -> None:
        """Replace u by k(u) and write D to `slopes`; override it if D is cheaper to compute from u."""
        if self.slopes_from_values:
            self.values(u)
        np.copyto(slopes, u)
        self.slopes(slopes)
        if not self.slopes_from_values:
            self.values(u)


class Laplace(Kernel):
    r"""exp(−√u/L); its slope −K/(L√u) is set to zero at distance zero.

    >>> u = np.array([0.0, 4.0])
    >>> Laplace(2.0).values(u)
    >>> u
    array([1.        , 0.36787944])
    """

    def values(self, u: Block) -> None:
        np.sqrt(u, out=u)
        u *= -1 / self.bandwidth
        np.exp(u, out=u)

    def slopes(self, block: Block) -> None:
        # √u/L = −log K saves computing the distances again.
        with np.errstate(divide="ignore"):
            logarithm = np.log(block)
        logarithm[logarithm == 0] = -np.inf
        logarithm *= self.bandwidth**2
        np.divide(block, logarithm, out=block)

    def both(self, u: Block, slopes: Block) -> None:
        np.sqrt(u, out=slopes)
        np.multiply(slopes, -1 / self.bandwidth, out=u)
        np.exp(u, out=u)
        slopes *= -self.bandwidth
        np.copyto(slopes, -np.inf, where=slopes == 0)
        np.divide(u, slopes, out=slopes)


class Gaussian(Kernel):
    r"""exp(−u/2L²), with slope −K/L².

    >>> u = np.array([0.0, 2.0])
    >>> Gaussian().values(u)
    >>> u
    array([1.        , 0.36787944])
    """

    def values(self, u: Block) -> None:
        u *= -0.5 / self.bandwidth**2
        np.exp(u, out=u)

    def slopes(self, block: Block) -> None:
        block *= -1 / self.bandwidth**2


class Exponential(Kernel):
    r"""exp(u/L²) of the inner product u = xᵀMz.

    >>> Exponential().radial
    False
    """

    radial = False

    def values(self, u: Block) -> None:
        u *= 1 / self.bandwidth**2
        with np.errstate(over="ignore"):
            np.exp(u, out=u)

    def slopes(self, block: Block) -> None:
        block *= 1 / self.bandwidth**2


class Quadratic(Kernel):
    r"""Quadratic kernel (u/L²)², u = xᵀMz. K does not show the sign of u, so u is recomputed.

    >>> u = np.array([-3.0])
    >>> Quadratic().values(u)
    >>> u
    array([9.])
    """

    radial = False
    slopes_from_values = False

    def values(self, u: Block) -> None:
        u *= self.bandwidth**-2
        np.multiply(u, u, out=u)

    def slopes(self, block: Block) -> None:
        block *= 2 * self.bandwidth**-4


KERNELS: dict[str, type[Kernel]] = {
    "laplace": Laplace,
    "gaussian": Gaussian,
    "quadratic": Quadratic,
    "exponential": Exponential,
}
"""The kernels that estimators take by name."""


def median_bandwidth(X: Float[np.ndarray, "n d"], weights: Float[np.ndarray, " n"], radial: bool = True) -> float:
    r"""Return the weighted median distance between different rows, or median norm for an inner product.

    From more than 1000 rows, 1000 at equal steps are used. Nothing is drawn at random.

    >>> median_bandwidth(np.array([[0.0], [1.0], [3.0]]), np.ones(3))
    2.0
    """
    if len(X) > 1000:
        chosen = np.linspace(0, len(X) - 1, 1000).astype(int)
        X, weights = X[chosen], weights[chosen]
    if radial:
        from scipy.spatial.distance import pdist

        sizes, mass = pdist(X), np.ones(len(X) * (len(X) - 1) // 2)
        if (weights != weights[0]).any():
            first, second = np.triu_indices(len(X), 1)
            mass = weights[first] * weights[second]
    else:
        sizes, mass = np.linalg.norm(X, axis=1), weights
    valid = (sizes > 0) & np.isfinite(sizes)
    sizes, mass = sizes[valid], mass[valid]
    if not len(sizes):
        return 1.0
    if (mass == mass[0]).all():
        return float(np.partition(sizes, (len(sizes) - 1) // 2)[(len(sizes) - 1) // 2])
    order = np.argsort(sizes)
    below = np.cumsum(mass[order])
    return float(sizes[order][np.searchsorted(below, below[-1] / 2)])
