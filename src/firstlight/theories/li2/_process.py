"""Gaussian processes over theory's numbers: a line and smooth departures from it, with a posterior."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_solve, solve_triangular


@dataclass(frozen=True)
class Kernel:
    r"""The covariance of a line and of a smooth function.

    $$k(x, x') = c + a\,x\cdot x' + b\,\exp(-\|x - x'\|^2/2\ell^2)$$

    **Attributes:**

    - `constant`, `line`, `bend`: c, a and b.
    - `length`: ℓ, in standard deviations of the inputs.
    - `noise`: variance of what the inputs leave open; 0 for outcomes, whose noise is that of a coin.
    - `noisier`: factor of that variance for AdamW.
    """

    constant: float
    line: float
    bend: float
    length: float
    noise: float = 0.0
    noisier: float = 1.0

    def __call__(self, A: Float[np.ndarray, "a p"], B: Float[np.ndarray, "b p"]) -> Float[np.ndarray, "a b"]:
        """Return the covariances of the rows of A with those of B.

        >>> Kernel(1.0, 2.0, 3.0, 1.0)(np.zeros((1, 2)), np.zeros((1, 2))).tolist()
        [[4.0]]
        """
        products = A @ B.T
        squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)[None] - 2 * products
        return self.constant + self.line * products + self.bend * np.exp(-np.maximum(squares, 0) / (2 * self.length**2))


@dataclass(frozen=True, eq=False)
class Process:
    """A Gaussian process and the runs that it was fitted on.

    **Attributes:**

    - `names`: its inputs.
    - `centre`, `scale`: what is subtracted from an input, and then divided by.
    - `kernel`: its covariance.
    - `points`: (N, p) the scaled inputs of the runs.
    - `targets`: (N,) grades of their outcomes, from 0 to 1, or logarithms of times.
    - `mode`: (N,) for outcomes, the logits at the maximum of the posterior (Laplace's approximation); else empty.
    - `widen`: factors of the standard deviation for Adam and for AdamW, from groups that were left out of the fit.
    - `sharpen`: factor from the logit of a grade to that of the outcome, from groups that were left out of the fit.
    """

    names: tuple[str, ...]
    centre: Float[np.ndarray, " p"]
    scale: Float[np.ndarray, " p"]
    kernel: Kernel
    points: Float[np.ndarray, "N p"]
    targets: Float[np.ndarray, " N"]
    mode: Float[np.ndarray, " outcomes"]
    widen: tuple[float, float] = (1.0, 1.0)
    sharpen: float = 1.0

    def spread(self, decoupled: bool) -> float:
        """Return the standard deviation of what the inputs leave open, for Adam or for AdamW."""
        return float(np.sqrt(self.kernel.noise * (self.kernel.noisier if decoupled else 1.0)))

    @cached_property
    def _noises(self) -> Float[np.ndarray, " N"]:
        if "decoupled" not in self.names:
            return np.full(len(self.points), self.kernel.noise)
        place = self.names.index("decoupled")
        decoupled = self.points[:, place] * self.scale[place] + self.centre[place] > 0.5
        return self.kernel.noise * np.where(decoupled, self.kernel.noisier, 1.0)

    def at(self, values: Mapping[str, float]) -> Float[np.ndarray, " p"]:
        """Return the scaled inputs of a run."""
        return (np.array([values[name] for name in self.names]) - self.centre) / self.scale

    def __call__(self, values: Mapping[str, float]) -> tuple[float, float]:
        """Return mean and standard deviation of the function at some inputs, without the noise."""
        x = self.at(values)[None]
        k = self.kernel(x, self.points)[0]
        weights, root, factor = self._solved
        half = solve_triangular(factor, root * k, lower=True, check_finite=False)
        variance = float(self.kernel(x, x)[0, 0] - half @ half)
        return self._level + float(k @ weights), float(np.sqrt(max(variance, 0.0)))

    def along(self, rows: Sequence[Mapping[str, float]]) -> Float[np.ndarray, " rows"]:
        """Return the means at several inputs."""
        return self._level + self.kernel(np.stack([self.at(row) for row in rows]), self.points) @ self._solved[0]

    @property
    def _level(self) -> float:
        return 0.0 if len(self.mode) else float(np.average(self.targets, weights=1 / self._noises))

    @cached_property
    def _solved(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return weights w of the mean k·w, and s, L of the variance k(x, x) − ‖L⁻¹(s k)‖²."""
        K = self.kernel(self.points, self.points)
        if len(self.mode):
            p = 1 / (1 + np.exp(-self.mode))
            root = np.sqrt(p * (1 - p))
            factor = np.linalg.cholesky(np.eye(len(p)) + root[:, None] * K * root)
            return self.targets - p, root, factor
        factor = np.linalg.cholesky(K + np.diag(self._noises))
        weights = cho_solve((factor, True), self.targets - self._level)
        return weights, np.ones(len(K)), factor

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> "Process":
        """Build a process from its stored numbers."""
        arrays = {name: np.array(stored[name], float) for name in ("centre", "scale", "points", "targets", "mode")}
        adam, adamw = stored["widen"]
        names, kernel, sharpen = tuple(stored["names"]), Kernel(**stored["kernel"]), stored.get("sharpen", 1.0)
        return cls(names, kernel=kernel, widen=(adam, adamw), sharpen=sharpen, **arrays)


def laplace_mode(K: Float[np.ndarray, "N N"], y: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """Return the most probable logits of grades y from 0 to 1 under a Gaussian prior, by Newton's method.

    At the mode f = K(y − p), with p = 1/(1 + e⁻ᶠ).

    >>> K, y = 4 * np.eye(2), np.array([0.0, 1.0])
    >>> f = laplace_mode(K, y)
    >>> bool(np.allclose(f, K @ (y - 1 / (1 + np.exp(-f)))))
    True
    """
    f = np.zeros(len(y))
    for _ in range(100):
        p = 1 / (1 + np.exp(-f))
        root = np.sqrt(p * (1 - p))
        right = p * (1 - p) * f + y - p
        B = np.eye(len(y)) + root[:, None] * K * root
        new = K @ (right - root * np.linalg.solve(B, root * (K @ right)))
        if np.abs(new - f).max() < 1e-9:
            return new
        f = new
    return f
