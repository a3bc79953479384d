"""Calibrated forecasts: Gaussian processes of outcome and epochs, fitted on three lists of runs.

The inputs are numbers that theory gives before training. The posterior widens the forecast where nothing was measured.
`firstlight.claims` holds the lists, their outcomes and the fit (`beyond.forecast-outcome`).
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import erf, exp, pi, sqrt
from typing import Any

import numpy as np
from jaxtyping import Float

from firstlight.theories.li2._process import Process

HORIZON = 8.0
"""The outcome is whether a run generalises within this many units of time, epochs times the learning rate of Adam."""

EPOCHS = (
    "margin",
    "nodes",
    "size",
    "weakest",
    "relu",
    "silu",
    "decoupled",
    "strength",
    "room",
    "share",
)
"""Inputs of the epochs to generalise, see `inputs`."""

OUTCOME = (*EPOCHS, "narrow", "idle", "fitted")
"""Inputs of the outcome."""

MEMORISING = ("one", "margin", "nodes", "share", "relu", "silu", "decoupled", "narrow", "decay")
"""Inputs of the epochs to memorise."""

MEASURED = {
    "order": (7, 57),
    "width": (4, 640),
    "learning rate": (1e-3, 4e-3),
    "activation": ("quadratic", "relu", "silu"),
}
"""The range of the fitted runs; a forecast outside of it says so."""


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear model with a Gaussian posterior of its coefficients.

    **Attributes:**

    - `names`: its inputs.
    - `mean`, `covariance`: of the coefficients.
    - `spread`: standard deviation of what the inputs leave open.
    """

    names: tuple[str, ...]
    mean: Float[np.ndarray, " p"]
    covariance: Float[np.ndarray, "p p"]
    spread: float

    def __call__(self, values: dict[str, float]) -> tuple[float, float]:
        """Return the prediction and the standard deviation that the coefficients' posterior gives it."""
        x = np.array([values[name] for name in self.names])
        return float(x @ self.mean), float(np.sqrt(max(x @ self.covariance @ x, 0.0)))

    @classmethod
    def read(cls, stored: dict[str, Any]) -> "Linear":
        """Build a model from its stored numbers."""
        names = tuple(stored["names"])
        return cls(names, np.array(stored["mean"]), np.array(stored["covariance"]), float(stored["spread"]))


@lru_cache(maxsize=1)
def processes() -> dict[str, Process]:
    """Return the fitted processes: "outcome" (logits) and "epochs" (logarithms of epochs times rate)."""
    return {name: Process.read(stored()[name]) for name in ("outcome", "epochs")}


def was_fitted(values: dict[str, float]) -> bool:
    """Return whether the constants were fitted to a run with these inputs, up to 0.02 standard deviations.

    The forecast of a run that was in the fit agrees with it by construction, and is no test of the forecast.
    """
    process = processes()["outcome"]
    return bool((np.abs(process.points - process.at(values)).max(axis=1) < 0.02).any())


@lru_cache(maxsize=1)
def memorising() -> Linear:
    """Return the fitted model of the logarithm of the epochs to memorise, times the rate."""
    return Linear.read(stored()["memorising"])


@lru_cache(maxsize=1)
def stored() -> dict[str, Any]:
    """Return all stored constants."""
    text = resources.files("firstlight.theories.li2").joinpath("calibration.json").read_text(encoding="utf-8")
    return json.loads(text)


def chance(values: dict[str, float], extra: float = 0.0) -> float:
    """Return the probability of generalising within `HORIZON`, averaged over the posterior.

    **Arguments:**

    - `values`: the inputs.
    - `extra`: further standard deviation of the logit, for settings that were not measured.
    """
    process = processes()["outcome"]
    return sharpened(*process(values), process.sharpen, extra)


def sharpened(z: float, deviation: float, factor: float, extra: float = 0.0) -> float:
    """Return the probability of an outcome from the logit of its grade.

    A grade lies between 0 and 1 where the outcome is one of them, so its logit is too small by a factor. The deviation
    counts with a root of 0.3, chosen with that factor.

    >>> sharpened(0.0, 2.0, 3.0), sharpened(1.0, 0.0, 3.0) > 0.9
    (0.5, True)
    """
    return mean_logistic(factor * z, sqrt(0.3 * (factor * deviation) ** 2 + extra**2))


def mean_logistic(mean: float, deviation: float) -> float:
    """Return the mean of 1/(1 + e⁻ᶻ) for a Gaussian z, by MacKay's approximation.

    >>> mean_logistic(0.0, 3.0)
    0.5
    """
    return 1 / (1 + exp(-_clamped(mean / sqrt(1 + pi / 8 * deviation**2))))


def _clamped(z: float) -> float:
    return min(max(z, -30.0), 30.0)


def below(level: float, mean: float, deviation: float) -> float:
    """Return the probability that a Gaussian lies below a level.

    >>> below(0.0, 0.0, 1.0)
    0.5
    """
    return 0.5 * (1 + erf((level - mean) / deviation / sqrt(2)))
