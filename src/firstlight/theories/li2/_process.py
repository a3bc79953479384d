"""Gaussian processes over theory's numbers: a line and smooth departures from it, with a posterior."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
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


@dataclass(frozen=True, eq=False)
class Process:
    """A Gaussian process and the runs that it was fitted on.

    **Attributes:**

    - `names`: its inputs.
    - `centre`, `scale`: what is subtracted from an input, and then divided by.
    - `kernel`: its covariance.
    - `points`: (N, p) the scaled inputs of the runs.
    - `targets`: (N,) their scores, or logarithms of times.
    - `level`: the mean before any run is known.
    - `noise`: variances of what the inputs leave open, for Adam and for AdamW.
    - `widen`: factors of the standard deviation for Adam and for AdamW, from groups that were left out of the fit.
    """

    names: tuple[str, ...]
    centre: Float[np.ndarray, " p"]
    scale: Float[np.ndarray, " p"]
    kernel: Kernel
    points: Float[np.ndarray, "N p"]
    targets: Float[np.ndarray, " N"]
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
        weights, factor = self._solved
        half = solve_triangular(factor, k, lower=True, check_finite=False)
        variance = float(self.kernel(x, x)[0, 0] - half @ half)
        return self.level + float(k @ weights), float(np.sqrt(max(variance, 0.0)))

    def of_a_run(self, values: Mapping[str, float]) -> tuple[float, float]:
        """Return mean and standard deviation of a run with some inputs: noise included, widened."""
        mean, deviation = self(values)
        own = int(values["decoupled"] > 0.5)
        return mean, self.widen[own] * float(np.hypot(deviation, np.sqrt(self.noise[own])))

    def along(self, rows: Sequence[Mapping[str, float]]) -> Float[np.ndarray, " rows"]:
        """Return the means at several inputs."""
        return self.level + self.kernel(np.stack([self.at(row) for row in rows]), self.points) @ self._solved[0]

    def without(self, left_out: Bool[np.ndarray, " N"]) -> "Process":
        """Return the process conditioned on the other runs only."""
        return replace(self, points=self.points[~left_out], targets=self.targets[~left_out])

    @cached_property
    def _solved(self) -> tuple[np.ndarray, np.ndarray]:
        """Return weights w of the mean k·w, and the Cholesky factor L of the variance k(x, x) − ‖L⁻¹k‖²."""
        noise = np.full(len(self.points), self.noise[0])
        if "decoupled" in self.names:
            column = self.names.index("decoupled")
            noise[self.points[:, column] * self.scale[column] + self.centre[column] > 0.5] = self.noise[1]
        factor = np.linalg.cholesky(self.kernel(self.points, self.points) + np.diag(noise))
        return cho_solve((factor, True), self.targets - self.level), factor

    @classmethod
    def read(cls, inputs: Mapping[str, Any], stored: Mapping[str, Any]) -> "Process":
        """Build a process from stored numbers: inputs that several processes share, and its own.

        **Arguments:**

        - `inputs`: `names`, `centre`, `deviation`, and `points`, the inputs of all runs in standard deviations.
        - `stored`: `kernel`, `sharpness` (how fast the function changes in each input), `rows` (the runs among the
          points), `targets`, `level`, `noise` and `widen`.
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
            targets=np.array(stored["targets"], float),
            level=float(stored["level"]),
            noise=(adam, adamw),
            widen=(wide_adam, wide_adamw),
        )
