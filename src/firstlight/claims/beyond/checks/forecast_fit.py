"""Fit the constants of the forecasts on the outcomes of the first three lists; never on the judged one."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from firstlight import groups
from firstlight.claims.beyond.checks.forecast_linear import gaussian
from firstlight.claims.beyond.checks.forecast_settings import FOLDER, ForecastSetting, ListName, load
from firstlight.records import LEARNED, Loss
from firstlight.theories.li2 import decay_ridge
from firstlight.theories.li2._calibration import EPOCHS, HORIZON, MEMORISING, OUTCOME, sharpened
from firstlight.theories.li2._predict import zero_of
from firstlight.theories.li2._process import Kernel, Process, laplace_mode
from firstlight.theories.li2._situation import Situation, inputs, situation_of

PENALTY = 0.5
"""Prior precision of a coefficient of the time to memorise, for inputs scaled to standard deviation 1."""

KERNELS = {"outcome": Kernel(16.0, 20.0, 60.0, 3.0), "epochs": Kernel(1.0, 0.3, 0.3, 2.0, 0.05, 3.0)}
"""Covariances, chosen by the likelihood of runs on groups that were left out, each from a handful of values."""

EARLY, ACCURATE, EDGE = 2.5, 1.0, (0.4, -0.2)
"""Grades: their logit per unit of ln(HORIZON/T) and of the test accuracy's logit, and at the edge on either side."""

SHARPNESS = {
    "decoupled": 1.8,
    "nodes": 1.5,
    "weakest": 1.5,
    "relu": 1.3,
    "silu": 1.3,
    "size": 0.6,
}
"""Factors of the scaled inputs: how fast the function may change in each, 1 for the others. Rounded from
the lengths that maximise the likelihood of the runs."""

Run = tuple[ForecastSetting, Mapping[str, float | None]]

PAPER = (
    ForecastSetting("Z127", 2581, 2048, "quadratic", "adam", 5e-4, 2e-4, 16000, 0),
    ForecastSetting("Z127", 2097, 2048, "quadratic", "adam", 5e-4, 2e-4, 16000, 0),
    ForecastSetting("Z71", 2016, 2048, "quadratic", "adam", 1e-3, 2e-4, 8000, 0),
    ForecastSetting("Z71", 2016, 2048, "quadratic", "adam", 1e-3, 0.0, 8000, 0),
)
"""Runs at the paper's sizes that were known before: 16 and 13 % of Z127 (Section 5.4), 40 % of Z71 with decay and
without (Figure 2)."""

PAPER_OUTCOMES = (
    {"generalised": 3000.0},
    {"generalised": None},
    {"generalised": 140.0, "memorised": 24.0},
    {"generalised": None, "memorised": 24.0},
)


def situation(setting: ForecastSetting) -> Situation:
    """Return the numbers of a setting that enter the forecast."""
    coupled = setting.optimizer == "adam"
    eta = decay_ridge(setting.n, setting.decay, Loss()) if coupled else None
    decoupled = None if coupled else setting.decay
    return situation_of(groups.parse(setting.group), setting.n, setting.width, setting.activation, eta, decoupled)


@lru_cache(maxsize=1024)
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


FITTED: tuple[ListName, ...] = ("first", "second", "third")


@dataclass(frozen=True)
class LeftOut:
    """The forecast of a run by constants that were fitted without its group, and what happened.

    **Attributes:**

    - `place`: position among the fitted runs.
    - `setting`: the run.
    - `logit`, `doubt`: mean and deviation of the logit of its grade.
    - `margin`: n/n₅₀.
    - `log_time`, `deviation`: of ln(epochs × rate).
    - `time`: epochs × rate at which it generalised, or None.
    - `driven`: whether decay drives the features.
    """

    place: int
    setting: ForecastSetting
    logit: float
    doubt: float
    margin: float
    log_time: float
    deviation: float
    time: float | None
    driven: bool

    def chance(self, sharpen: float) -> float:
        """Return the chance of generalising."""
        return sharpened(self.logit, self.doubt, sharpen)


def fitted_runs() -> list[Run]:
    """Return the runs of the fitted lists, and the paper's own."""
    runs: list[Run] = []
    for name in FITTED:
        settings = load(name)
        runs += [(settings[place], outcome) for place, outcome in outcomes(name).items()]
    return runs + list(zip(PAPER, PAPER_OUTCOMES, strict=True))


def grade(setting: ForecastSetting, outcome: Mapping[str, float | None]) -> float:
    """Return how clearly a run generalised, from 0 to 1: early or late, or at which test accuracy it ended.

    >>> late, never = {"generalised": 2000.0}, {"generalised": None, "test_accuracy": 0.9}
    >>> grade(PAPER[2], late) > grade(PAPER[2], {"generalised": 7999.0}) > 0.5 > grade(PAPER[2], never)
    True
    """
    time = _time(setting, outcome.get("generalised"))
    if time is not None:
        logit = EDGE[0] + EARLY * np.log(HORIZON / time)
    else:
        accuracy = min(max(outcome.get("test_accuracy") or 0.1, 0.01), LEARNED)
        logit = EDGE[1] - ACCURATE * (np.log(LEARNED / (1 - LEARNED)) - np.log(accuracy / (1 - accuracy)))
    return float(1 / (1 + np.exp(-logit)))


def fit(runs: Sequence[Run], widen: Sequence[float] = (1.0, 1.0), sharpen: float = 1.0) -> dict[str, Any]:
    """Fit the forecasts before training; return what is stored.

    **Arguments:**

    - `runs`: settings with their outcomes.
    - `widen`: factors of the deviation of the epochs for Adam and AdamW, from `widening`.
    - `sharpen`: factor of the logits of grades, from `sharpening`.
    """
    values = [inputs_of(setting) for setting, _ in runs]
    grades = np.array([grade(setting, outcome) for setting, outcome in runs])
    times = [_time(setting, outcome.get("generalised")) for setting, outcome in runs]
    timed = [i for i, time in enumerate(times) if time is not None and _driven(values[i])]
    learned = [_time(setting, outcome.get("memorised")) for setting, outcome in runs]
    known = [i for i, time in enumerate(learned) if time is not None]
    log_times = np.log([times[i] for i in timed])  # type: ignore[arg-type]
    return {
        "runs": len(runs),
        "outcome": _process("outcome", values, OUTCOME, grades, (1.0, 1.0)) | {"sharpen": sharpen},
        "epochs": _process("epochs", [values[i] for i in timed], EPOCHS, log_times, widen),
        "memorising": gaussian(
            [values[i] for i in known],
            MEMORISING,
            np.log([learned[i] for i in known]),  # type: ignore[arg-type]
            PENALTY,
        ),
    }


def _process(
    name: str,
    values: Sequence[Mapping[str, float]],
    names: Sequence[str],
    y: np.ndarray,
    widen: Sequence[float],
) -> dict[str, Any]:
    """Return a process as it is stored: numbers rounded to five digits before its mode is found."""
    X = np.array([[row[column] for column in names] for row in values])
    centre = np.array(_rounded(X.mean(axis=0)))
    scale = np.array(_rounded(np.maximum(X.std(axis=0), 1e-9) / [SHARPNESS.get(column, 1.0) for column in names]))
    points = np.array([_rounded(row) for row in (X - centre) / scale])
    kernel, targets = KERNELS[name], np.array(_rounded(y))
    mode = laplace_mode(kernel(points, points), targets) if name == "outcome" else np.zeros(0)
    return {
        "names": list(names),
        "centre": centre.tolist(),
        "scale": scale.tolist(),
        "kernel": asdict(kernel),
        "points": points.tolist(),
        "targets": targets.tolist(),
        "mode": _rounded(mode),
        "widen": list(widen),
    }


def _rounded(values: Iterable[float]) -> list[float]:
    return [float(f"{x:.5g}") for x in values]


def left_out(runs: Sequence[Run]) -> list[LeftOut]:
    """Forecast every fitted run by constants from the runs on other groups.

    The last runs, the paper's own, help to fit and are not forecast.
    """
    rows = []
    for group in sorted({setting.group for setting, _ in runs[: -len(PAPER)]}):
        stored = fit([run for run in runs if run[0].group != group])
        outcome, epochs = Process.read(stored["outcome"]), Process.read(stored["epochs"])
        for place, (setting, measured) in enumerate(runs[: -len(PAPER)]):
            if setting.group == group:
                values = inputs_of(setting)
                z, doubt = outcome(values)
                mean, deviation = epochs(values)
                rows.append(
                    LeftOut(
                        place=place,
                        setting=setting,
                        logit=z,
                        doubt=doubt,
                        margin=setting.n / zero_of(outcome, situation(setting))[0],
                        log_time=mean,
                        deviation=float(np.hypot(deviation, epochs.spread(setting.optimizer == "adamw"))),
                        time=_time(setting, measured.get("generalised")),
                        driven=_driven(values),
                    )
                )
    return sorted(rows, key=lambda row: row.place)


def sharpening(rows: Sequence[LeftOut]) -> float:
    """Return the factor of the logits under which the outcomes on groups that were left out are likeliest."""
    likelihoods = []
    factors = np.round(np.geomspace(0.5, 8.0, 25), 3).tolist()
    for factor in factors:
        chances = [(row.chance(factor), row.time is not None) for row in rows]
        likelihoods.append(sum(np.log(max(p if right else 1 - p, 1e-3)) for p, right in chances))
    return factors[int(np.argmax(likelihoods))]


def widening(rows: Sequence[LeftOut]) -> list[float]:
    """Return the factors, for Adam and AdamW, with which 80 % of the intervals cover, on groups that were left out."""
    timed = [row for row in rows if row.time is not None and row.driven and row.logit >= 0]
    factors = []
    for name in ("adam", "adamw"):
        chosen = [row for row in timed if row.setting.optimizer == name]
        scores = [abs(np.log(row.time) - row.log_time) / row.deviation for row in chosen]  # type: ignore[arg-type]
        level = min(0.8 * (1 + 1 / len(scores)), 1.0)
        factors.append(float(f"{np.quantile(scores, level) / 1.2816:.4g}"))
    return factors


def _driven(values: Mapping[str, float]) -> bool:
    """Return whether decay drives the features; without decay the time is another law."""
    return values["decay"] > -3 and values["own decay"] > -1.8


def _time(setting: ForecastSetting, epoch: float | None) -> float | None:
    return None if epoch is None else max(epoch, 1.0) * setting.rate
