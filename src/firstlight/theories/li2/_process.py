"""Gaussian processes over theory's numbers: a line and smooth departures from it, with a posterior."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import cho_solve, solve_triangular


@dataclass(frozen=True)
class Kernel:
    r"""The covariance of a line, of a smooth function and of finer departures.

    $$k(x, x') = c + a\,x\cdot x' + b\,e^{-\|x - x'\|^2/2} + f\,e^{-r^2\|x - x'\|^2/2}$$

    **Attributes:**

    - `constant`, `line`, `bend`, `fine`: c, a, b and f.
    - `ratio`: r, how much shorter the fine departures are.
    """

    constant: float
    line: float
    bend: float
    fine: float = 0.0
    ratio: float = 1.0

    def __call__(self, A: Float[np.ndarray, "a p"], B: Float[np.ndarray, "b p"]) -> Float[np.ndarray, "a b"]:
        """Return the covariances of the rows of A with those of B.

        >>> Kernel(1.0, 2.0, 3.0)(np.zeros((1, 2)), np.zeros((1, 2))).tolist()
        [[4.0]]
        """
        products = A @ B.T
        half = np.maximum(((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)[None]) / 2 - products, 0)
        smooth = self.bend * np.exp(-half) + self.fine * np.exp(-(self.ratio**2) * half)
        return self.constant + self.line * products + smooth


NEAREST = 300
"""Number of runs that enter a standard deviation: those nearest to the inputs. The others would make it smaller, by 2 %
at the median and 10 % at the ninth decile; all runs enter the mean."""


@dataclass(frozen=True, eq=False)
class Process:
    """A Gaussian process and the runs that it was fitted on.

    **Attributes:**

    - `names`: its inputs.
    - `centre`, `scale`: what is subtracted from an input, and then divided by.
    - `kernel`: its covariance.
    - `points`: (N, p) the scaled inputs of the runs.
    - `weights`: (N,) of the runs in the mean, from `weights_of`.
    - `level`: the mean before any run is known.
    - `noise`: variances of what the inputs leave open, for Adam and for AdamW.
    - `widen`: factors of the standard deviation for Adam and for AdamW, from groups that were left out of the fit.
    """

    names: tuple[str, ...]
    centre: Float[np.ndarray, " p"]
    scale: Float[np.ndarray, " p"]
    kernel: Kernel
    points: Float[np.ndarray, "N p"]
    weights: Float[np.ndarray, " N"]
    level: float = 0.0
    noise: tuple[float, float] = (0.0, 0.0)
    widen: tuple[float, float] = (1.0, 1.0)

    def at(self, values: Mapping[str, float]) -> Float[np.ndarray, " p"]:
        """Return the scaled inputs of a run."""
        return (np.array([values[name] for name in self.names]) - self.centre) / self.scale

    def __call__(self, values: Mapping[str, float]) -> tuple[float, float]:
        """Return mean and standard deviation of the function at some inputs, without the noise."""
        x = self.at(values)[None]
        k = self.kernel(x, self.points)[0]
        near = np.argsort(((self.points - x) ** 2).sum(axis=1), kind="stable")[:NEAREST]
        half = solve_triangular(self._factor(near), k[near], lower=True, check_finite=False)
        variance = float(self.kernel(x, x)[0, 0] - half @ half)
        return self.level + float(k @ self.weights), float(np.sqrt(max(variance, 0.0)))

    def of_a_run(self, values: Mapping[str, float]) -> tuple[float, float]:
        """Return mean and standard deviation of a run with some inputs: noise included, widened."""
        mean, deviation = self(values)
        own = int(values["decoupled"] > 0.5)
        return mean, self.widen[own] * float(np.hypot(deviation, np.sqrt(self.noise[own])))

    def along(self, rows: Sequence[Mapping[str, float]]) -> Float[np.ndarray, " rows"]:
        """Return the means at several inputs."""
        return self.level + self.kernel(np.stack([self.at(row) for row in rows]), self.points) @ self.weights

    def weights_of(self, targets: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
        """Return the weights w of the mean k·w that follow from targets of all runs.

        They solve (K + noise) w = targets − level.
        """
        return cho_solve((self.factor, True), targets - self.level)

    def without(self, left_out: Bool[np.ndarray, " N"]) -> "Process":
        r"""Return the process conditioned on the other runs only.

        With $A = (K + \text{noise})^{-1}$ and the runs g left out, the weights of the others are
        $w - A_{\cdot g} A_{gg}^{-1} w_g$.
        """
        columns = cho_solve((self.factor, True), np.eye(len(self.points))[:, left_out])
        weights = self.weights - columns @ np.linalg.solve(columns[left_out], self.weights[left_out])
        return replace(self, points=self.points[~left_out], weights=weights[~left_out])

    @cached_property
    def factor(self) -> Float[np.ndarray, "N N"]:
        """Cholesky factor of the covariance of all runs; only fits need it."""
        return self._factor(np.arange(len(self.points)))

    def _factor(self, rows: Int[np.ndarray, " rows"]) -> Float[np.ndarray, "rows rows"]:
        """Return the Cholesky factor of the covariance of some runs, noise included."""
        points, noise = self.points[rows], np.full(len(rows), self.noise[0])
        if "decoupled" in self.names:
            column = self.names.index("decoupled")
            noise[points[:, column] * self.scale[column] + self.centre[column] > 0.5] = self.noise[1]
        return np.linalg.cholesky(self.kernel(points, points) + np.diag(noise))

    @classmethod
    def read(cls, inputs: Mapping[str, Any], stored: Mapping[str, Any]) -> "Process":
        """Build a process from stored numbers: inputs that several processes share, and its own.

        **Arguments:**

        - `inputs`: `names`, `centre`, `deviation`, and `points`, the inputs of all runs in standard deviations.
        - `stored`: `kernel`, `sharpness` (how fast the function changes in each input), `rows` (the runs among the
          points), `weights`, `level`, `noise` and `widen`.
        """
        sharpness = np.array(stored["sharpness"], float)
        adam, adamw = stored["noise"]
        wide_adam, wide_adamw = stored["widen"]
        return cls(
            names=tuple(inputs["names"]),
            centre=np.array(inputs["centre"], float),
            scale=np.array(inputs["deviation"], float) / sharpness,
            kernel=Kernel(**stored["kernel"]),
            points=np.array(inputs["points"], float)[stored["rows"]] * sharpness,
            weights=np.array(stored["weights"], float),
            level=float(stored["level"]),
            noise=(adam, adamw),
            widen=(wide_adam, wide_adamw),
        )
