"""Fit the constants of the forecasts on the outcomes of the fitted lists; never on the judged one."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from firstlight import groups
from firstlight.claims.beyond.checks.forecast_kernel import Shape, most_likely
from firstlight.claims.beyond.checks.forecast_linear import gaussian
from firstlight.claims.beyond.checks.forecast_settings import FOLDER, ForecastSetting, ListName, load
from firstlight.records import LEARNED, Loss
from firstlight.theories.li2 import decay_ridge
from firstlight.theories.li2._calibration import HORIZON, INPUTS, MEMORISING, below
from firstlight.theories.li2._predict import zero_of
from firstlight.theories.li2._process import Kernel, Process
from firstlight.theories.li2._situation import Situation, inputs, situation_of

PENALTY = 0.5
"""Prior precision of a coefficient of the time to memorise, for inputs scaled to standard deviation 1."""

STEEPNESS, LEAST, LOWEST = 0.35, 0.05, 0.01
"""Score of a run that does not generalise: −0.35 times the distance of its test accuracy from 0.99 in logits, at most
−0.05; accuracies below 0.01 count as 0.01. Of 0.15, 0.25, 0.35, 0.5 and 0.8, the factor 0.35 gave the best Brier score
on groups that were left out."""

Run = tuple[ForecastSetting, Mapping[str, float | None]]

PAPER = (
    ForecastSetting("Z127", 2581, 2048, "quadratic", "adam", 5e-4, 2e-4, 16000, 0),
    ForecastSetting("Z71", 2016, 2048, "quadratic", "adam", 1e-3, 2e-4, 8000, 0),
    ForecastSetting("Z71", 2016, 2048, "quadratic", "adam", 1e-3, 0.0, 8000, 0),
)
"""Runs at the paper's sizes that were known before: 16 % of Z127 (Section 5.4), 40 % of Z71 with decay and without
(Figure 2)."""

PAPER_OUTCOMES = (
    {"generalised": 3000.0},
    {"generalised": 140.0, "memorised": 24.0},
    {"generalised": None, "memorised": 24.0, "test_accuracy": 0.025},
)


def situation(setting: ForecastSetting) -> Situation:
    """Return the numbers of a setting that enter the forecast."""
    coupled = setting.optimizer == "adam"
    eta = decay_ridge(setting.n, setting.decay, Loss()) if coupled else None
    decoupled = None if coupled else setting.decay
    return situation_of(groups.parse(setting.group), setting.n, setting.width, setting.activation, eta, decoupled)


@lru_cache(maxsize=8192)
def inputs_of(setting: ForecastSetting) -> dict[str, float]:
    """Return the inputs of a setting's forecast."""
    return inputs(situation(setting))


def outcomes(name: ListName) -> dict[int, dict[str, float | None]]:
    """Read the measured outcomes of a list by position: epochs of memorising and generalising, last test accuracy."""
    path = FOLDER / f"forecast-{name}-outcomes.csv"
    return {} if not path.exists() else _outcomes(path)


def _outcomes(path: Path) -> dict[int, dict[str, float | None]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    number = lambda text: float(text) if text else None  # noqa: E731
    return {int(row["place"]): {key: number(text) for key, text in row.items() if key != "place"} for row in rows}


FITTED: tuple[ListName, ...] = ("first", "second", "third", "fourth", "fifth", "sixth", "eighth")


@dataclass(frozen=True)
class LeftOut:
    """The forecast of a run by constants that were fitted without its group, and what happened.

    **Attributes:**

    - `place`: position among the fitted runs.
    - `setting`: the run.
    - `chance`, `margin`: chance of generalising, and n/n₅₀.
    - `score`: mean of the score in standard deviations.
    - `log_time`, `deviation`: of ln(epochs × rate).
    - `time`: epochs × rate at which it generalised, or None.
    - `driven`: whether decay drives the features.
    """

    place: int
    setting: ForecastSetting
    chance: float
    margin: float
    score: float
    log_time: float
    deviation: float
    time: float | None
    driven: bool


def fitted_runs() -> list[Run]:
    """Return the runs of the fitted lists, and the paper's own."""
    runs: list[Run] = []
    for name in FITTED:
        settings = load(name)
        runs += [(settings[place], outcome) for place, outcome in outcomes(name).items()]
    return runs + list(zip(PAPER, PAPER_OUTCOMES, strict=True))


Shapes = Mapping[str, Shape]
"""The covariances of the processes "outcome" and "epochs"."""

UNIT: dict[str, tuple[float, float]] = {"outcome": (1.0, 1.0), "epochs": (1.0, 1.0)}
"""Factors of the standard deviations of the processes, for Adam and for AdamW: none."""


def score(setting: ForecastSetting, outcome: Mapping[str, float | None]) -> float:
    """Return ln(`HORIZON`/time) of a run that generalised, and a negative number by its test accuracy for others.

    >>> setting = load("first")[0]
    >>> score(setting, {"generalised": None, "test_accuracy": 0.98}) < 0
    True
    """
    time = _time(setting, outcome.get("generalised"))
    if time is not None:
        return float(np.log(HORIZON / time))
    accuracy = min(max(outcome.get("test_accuracy") or 0.0, LOWEST), LEARNED)
    logit = lambda a: np.log(a / (1 - a))  # noqa: E731
    return float(min(-STEEPNESS * (logit(LEARNED) - logit(accuracy)), -LEAST))


def shapes_of(runs: Sequence[Run]) -> dict[str, Shape]:
    """Return the most likely covariances of both processes, from the runs."""
    shared, targets, rows = _inputs_and_targets(runs)
    X = np.array(shared["points"])
    decoupled = np.array([setting.optimizer == "adamw" for setting, _ in runs])
    return {name: most_likely(X[rows[name]], np.array(targets[name]), decoupled[rows[name]]) for name in targets}


def stored_shapes(stored: Mapping[str, Any]) -> dict[str, Shape]:
    """Return the covariances among stored constants."""
    read = lambda part: Shape(Kernel(**part["kernel"]), tuple(part["sharpness"]), tuple(part["noise"]))  # noqa: E731
    return {name: read(stored[name]) for name in ("outcome", "epochs")}


def fit(runs: Sequence[Run], shapes: Shapes, widen: Mapping[str, Sequence[float]] = UNIT) -> dict[str, Any]:
    """Fit the forecasts before training; return what is stored.

    **Arguments:**

    - `runs`: settings with their outcomes.
    - `shapes`: covariances, from `shapes_of`.
    - `widen`: factors of the deviations for Adam and AdamW, from `widening`.
    """
    shared, targets, rows = _inputs_and_targets(runs)
    learned = [_time(setting, outcome.get("memorised")) for setting, outcome in runs]
    known = [i for i, time in enumerate(learned) if time is not None]
    return {
        "runs": len(runs),
        "inputs": shared,
        **{name: _process(shared, shapes[name], targets[name], rows[name], widen[name]) for name in targets},
        "memorising": gaussian(
            [inputs_of(runs[i][0]) for i in known],
            MEMORISING,
            np.log([learned[i] for i in known]),  # type: ignore[arg-type]
            PENALTY,
        ),
    }


def _inputs_and_targets(runs: Sequence[Run]) -> tuple[dict[str, Any], dict[str, list[float]], dict[str, list[int]]]:
    """Return the standardised inputs as they are stored, and targets and rows of each process."""
    values = [inputs_of(setting) for setting, _ in runs]
    X = np.array([[row[column] for column in INPUTS] for row in values])
    centre, deviation = (np.array(_rounded(a)) for a in (X.mean(axis=0), np.maximum(X.std(axis=0), 1e-9)))
    shared = {
        "names": list(INPUTS),
        "centre": centre.tolist(),
        "deviation": deviation.tolist(),
        "points": [_rounded(row) for row in (X - centre) / deviation],
    }
    times = [_time(setting, outcome.get("generalised")) for setting, outcome in runs]
    timed = [i for i, time in enumerate(times) if time is not None and _driven(values[i])]
    targets = {
        "outcome": _rounded(score(setting, outcome) for setting, outcome in runs),
        "epochs": _rounded(np.log([times[i] for i in timed])),  # type: ignore[arg-type]
    }
    return shared, targets, {"outcome": list(range(len(runs))), "epochs": timed}


def _process(
    shared: Mapping[str, Any], shape: Shape, targets: Sequence[float], rows: Sequence[int], widen: Sequence[float]
) -> dict[str, Any]:
    """Return a process as it is stored."""
    stored = {
        "kernel": asdict(shape.kernel),
        "sharpness": list(shape.sharpness),
        "noise": list(shape.noise),
        "level": _rounded([float(np.mean(targets))])[0],
        "rows": list(rows),
        "weights": np.zeros(len(rows)).tolist(),
        "widen": list(widen),
    }
    weights = Process.read(shared, stored).weights_of(np.array(targets))
    return stored | {"weights": [float(f"{w:.8g}") for w in weights]}


def _rounded(values: Iterable[float]) -> list[float]:
    """Round numbers to what is stored: four digits, so that a process from a file is the one that was fitted."""
    return [float(f"{x:.4g}") for x in values]


def left_out(runs: Sequence[Run], stored: Mapping[str, Any]) -> list[LeftOut]:
    """Forecast every run on a group from the runs on other groups, with the covariances and widths of `stored`.

    The last runs, the paper's own, are conditions only.

    **Arguments:**

    - `runs`: those that `stored` was fitted to.
    - `stored`: constants, from `fit`.
    """
    whole = {name: Process.read(stored["inputs"], stored[name]) for name in ("outcome", "epochs")}
    names = np.array([setting.group for setting, _ in runs])
    forecast = []
    for group in sorted(set(names[: -len(PAPER)])):
        outcome, epochs = (p.without(names[stored[name]["rows"]] == group) for name, p in whole.items())
        for place in np.flatnonzero(names[: -len(PAPER)] == group).tolist():
            setting, measured = runs[place]
            values = inputs_of(setting)
            mean, deviation = outcome.of_a_run(values)
            log_time, spread = epochs.of_a_run(values)
            forecast.append(
                LeftOut(
                    place=place,
                    setting=setting,
                    chance=below(0.0, -mean, deviation),
                    margin=setting.n / zero_of(outcome, situation(setting))[0],
                    score=mean / deviation,
                    log_time=log_time,
                    deviation=spread,
                    time=_time(setting, measured.get("generalised")),
                    driven=_driven(values),
                )
            )
    return sorted(forecast, key=lambda row: row.place)


def widening(rows: Sequence[LeftOut]) -> dict[str, list[float]]:
    """Return factors of the deviations, for Adam and AdamW, from forecasts of groups that were left out.

    For the epochs: that with which 80 % of the intervals cover. For the outcome: that which makes the chances most
    likely.
    """
    factors: dict[str, list[float]] = {"outcome": [], "epochs": []}
    for name in ("adam", "adamw"):
        mine = [row for row in rows if row.setting.optimizer == name]
        timed = [row for row in mine if row.time is not None and row.driven and row.chance >= 0.5]
        away = [abs(np.log(row.time) - row.log_time) / row.deviation for row in timed]  # type: ignore[arg-type]
        level = min(0.8 * (1 + 1 / len(away)), 1.0)
        factors["epochs"].append(float(f"{np.quantile(away, level) / 1.2816:.4g}"))
        scores, generalised = np.array([row.score for row in mine]), np.array([row.time is not None for row in mine])
        factors["outcome"].append(_likeliest_factor(np.where(generalised, scores, -scores)))
    return factors


def _likeliest_factor(scores: np.ndarray) -> float:
    """Return the factor of the deviations that makes outcomes most likely, of 61 factors from 1/2 to 2.

    **Arguments:**

    - `scores`: scores in deviations, with the sign that is right if positive.
    """
    factors = np.geomspace(0.5, 2, 61)
    likelihoods = [log_ndtr(scores / factor).sum() for factor in factors]
    return float(f"{factors[int(np.argmax(likelihoods))]:.4g}")


def _driven(values: Mapping[str, float]) -> bool:
    """Return whether decay drives the features; without decay the time is another law."""
    return values["decay"] > -3 and values["own decay"] > -1.8


def _time(setting: ForecastSetting, epoch: float | None) -> float | None:
    return None if epoch is None else max(epoch, 1.0) * setting.rate
