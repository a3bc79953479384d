"""Calibrated forecasts: linear models of outcome and epochs whose constants were fitted on one list of runs.

The inputs are numbers that theory gives before training. A Gaussian posterior of the coefficients widens the forecast
where nothing was measured. `firstlight.claims` holds the list, its outcomes and the fit (`beyond.forecast-outcome`).
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import erf, exp, log, pi, sqrt
from typing import Any

import numpy as np
from jaxtyping import Float

HORIZON = 8.0
"""The outcome is whether a run generalises within this many units of time, epochs times the learning rate of Adam."""

INPUTS = (
    "one",
    "margin",
    "order",
    "nodes",
    "share",
    "relu",
    "silu",
    "decoupled",
    "narrow",
    "decay",
    "own decay",
    "idle",
    "fitted",
)
"""Inputs of the models, see `inputs`."""

OUTCOME = (
    "one",
    "margin",
    "order",
    "nodes",
    "relu",
    "silu",
    "decoupled",
    "narrow",
    "decay",
    "own decay",
    "idle",
    "fitted",
)
EPOCHS = ("one", "margin", "order", "nodes", "share", "relu", "silu", "decoupled", "decay", "own decay")
MEMORISING = ("one", "margin", "nodes", "share", "relu", "silu", "decoupled", "narrow", "decay")

MEASURED = {
    "order": (7, 57),
    "width": (4, 640),
    "learning rate": (1e-3, 4e-3),
    "activation": ("quadratic", "relu", "silu"),
}
"""The range of the fitted runs; a forecast outside of it says so."""


@dataclass(frozen=True)
class Situation:
    """The numbers of a run that enter the forecast.

    **Attributes:**

    - `order`: M.
    - `energy_pairs`: pairs at which half of the maxima of the residualised energy survive.
    - `nodes`: number of hidden units that suffice.
    - `n`, `width`: training pairs and hidden units.
    - `activation`: name of σ.
    - `eta`: η of a decay in the gradient, or None.
    - `decoupled`: coefficient of a decoupled decay (AdamW), or None.
    """

    order: int
    energy_pairs: float
    nodes: int
    n: float
    width: int
    activation: str
    eta: float | None
    decoupled: float | None


def inputs(s: Situation) -> dict[str, float]:
    """Return the inputs of the models: theory's numbers, as logarithms.

    >>> values = inputs(Situation(23, 180.0, 88, 300, 256, "relu", 0.1, None))
    >>> round(values["margin"], 3), values["relu"], values["narrow"]
    (0.511, 1.0, 0.0)
    """
    decay = 0.0 if s.eta is None else _clipped(log(max(s.eta * s.width, 0.02) / 15))
    own = 0.0 if s.decoupled is None else _clipped(log(max(s.decoupled, 0.002) / 0.6))
    # Without decay, features grow only if V cannot fit the pairs: about 2.5 pairs per hidden unit.
    idle = min(max(-decay / 5, -own / 3, 0.0), 1.0)
    return {
        "one": 1.0,
        "margin": log(s.n / s.energy_pairs),
        "order": 10.0 / s.order,
        "nodes": log(s.nodes / s.order),
        "share": log(s.n / s.order**2),
        "relu": float(s.activation == "relu"),
        "silu": float(s.activation == "silu"),
        "decoupled": float(s.decoupled is not None),
        "narrow": min(log(s.width / s.nodes), 0.0),
        "decay": decay,
        "own decay": own,
        "idle": idle,
        "fitted": idle * min(max(log(s.n / (2.5 * s.width)), -2.0), 2.0),
    }


def _clipped(x: float) -> float:
    return min(max(x, -7.0), 7.0)


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

    def slope(self, name: str) -> float:
        """Return the coefficient of an input."""
        return float(self.mean[self.names.index(name)])

    @classmethod
    def read(cls, stored: dict[str, Any]) -> "Linear":
        """Build a model from its stored numbers."""
        names = tuple(stored["names"])
        return cls(names, np.array(stored["mean"]), np.array(stored["covariance"]), float(stored["spread"]))


@lru_cache(maxsize=1)
def models() -> dict[str, Linear]:
    """Return the fitted models: "outcome" (logistic), "epochs" and "memorising" (logarithms of epochs times rate)."""
    return {name: Linear.read(stored()[name]) for name in ("outcome", "epochs", "memorising")}


@lru_cache(maxsize=1)
def stored() -> dict[str, Any]:
    """Return all stored constants."""
    text = resources.files("firstlight.theories.li2").joinpath("calibration.json").read_text(encoding="utf-8")
    return json.loads(text)


def chance(values: dict[str, float], extra: float = 0.0) -> float:
    """Return the probability of generalising within `HORIZON`, averaged over the posterior of the coefficients.

    **Arguments:**

    - `values`: the inputs.
    - `extra`: further standard deviation of the logit, for settings that were not measured.
    """
    z, deviation = models()["outcome"](values)
    # MacKay's approximation of the mean of a logistic function under a Gaussian.
    return 1 / (1 + exp(-_clamped(z / sqrt(1 + pi / 8 * (deviation**2 + extra**2)))))


def _clamped(z: float) -> float:
    return min(max(z, -30.0), 30.0)


def below(level: float, mean: float, deviation: float) -> float:
    """Return the probability that a Gaussian lies below a level.

    >>> below(0.0, 0.0, 1.0)
    0.5
    """
    return 0.5 * (1 + erf((level - mean) / deviation / sqrt(2)))
