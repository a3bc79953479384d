"""Calibrated forecasts: Gaussian processes of outcome and epochs, fitted on seven lists of runs.

The inputs are numbers that theory gives before training. The posterior widens the forecast where nothing was measured.
`firstlight.claims` holds the lists, their outcomes and the fit (`beyond.forecast-outcome`).
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import erf, sqrt
from typing import Any

import numpy as np
from jaxtyping import Float

from firstlight.theories.li2._process import Process

HORIZON = 8.0
"""The outcome is whether a run generalises within this many units of time, epochs times the learning rate of Adam."""

INPUTS = (
    "margin",
    "size",
    "share",
    "boundary",
    "nodes",
    "weakest",
    "quaternionic",
    "signs",
    "relu",
    "silu",
    "decoupled",
    "strength",
    "idle",
    "width",
    "room",
    "narrow",
    "crowding",
    "fitted",
    "repeats",
)
"""Inputs of the outcome and of the epochs to generalise, see `inputs`."""

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
    """Return the fitted processes: "outcome" (scores) and "epochs" (logarithms of epochs times rate).

    The score of a run that generalises at epoch T is ln(`HORIZON`/(T × rate)); of others it is negative, and lower the
    lower their last test accuracy.
    """
    return {name: Process.read(stored()["inputs"], stored()[name]) for name in ("outcome", "epochs")}


def was_fitted(values: dict[str, float]) -> bool:
    """Return whether the constants were fitted to a run with these inputs, up to 0.02 standard deviations.

    The forecast of a run that was in the fit agrees with it by construction, and is no test of the forecast.
    """
    inputs = stored()["inputs"]
    x = np.array([values[name] for name in inputs["names"]])
    away = _points() - (x - np.array(inputs["centre"])) / np.array(inputs["deviation"])
    return bool((np.abs(away).max(axis=1) < 0.02).any())


@lru_cache(maxsize=1)
def _points() -> Float[np.ndarray, "N p"]:
    return np.array(stored()["inputs"]["points"], float)


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
    """Return the probability of generalising within `HORIZON`: that of a positive score.

    **Arguments:**

    - `values`: the inputs.
    - `extra`: further standard deviation of the score, for settings that were not measured.
    """
    mean, deviation = processes()["outcome"].of_a_run(values)
    return below(0.0, -mean, float(np.hypot(deviation, extra)))


def below(level: float, mean: float, deviation: float) -> float:
    """Return the probability that a Gaussian lies below a level.

    >>> below(0.0, 0.0, 1.0)
    0.5
    """
    return 0.5 * (1 + erf((level - mean) / deviation / sqrt(2)))
