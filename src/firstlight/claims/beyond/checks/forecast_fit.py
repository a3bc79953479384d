"""Fit the constants of the forecasts on the outcomes of the first list; never on the judged one."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from firstlight import groups
from firstlight.claims.beyond.checks.forecast_settings import FOLDER, ForecastSetting, ListName, load
from firstlight.records import LEARNED, Loss
from firstlight.theories.li2 import decay_ridge, nodes_needed, own_boundary, predict
from firstlight.theories.li2._calibration import EPOCHS, MEMORISING, OUTCOME, Situation, inputs
from firstlight.theories.li2._running import BINS, CURVES, WITH_PRIOR, moment

PENALTY = {"outcome": 0.3, "epochs": 0.5, "memorising": 0.5}
"""Prior precision of a coefficient, for inputs scaled to standard deviation 1."""

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
    group = groups.parse(setting.group)
    coupled = setting.optimizer == "adam"
    return Situation(
        order=group.order,
        energy_pairs=own_boundary(group).pairs,
        nodes=nodes_needed(group),
        n=setting.n,
        width=setting.width,
        activation=setting.activation,
        eta=decay_ridge(setting.n, setting.decay, Loss()) if coupled else None,
        decoupled=None if coupled else setting.decay,
    )


def outcomes(name: ListName) -> dict[int, dict[str, float | None]]:
    """Read the measured outcomes of a list by position: epochs of memorising and generalising, last test accuracy."""
    path = FOLDER / f"forecast-{name}-outcomes.csv"
    return {} if not path.exists() else _outcomes(path)


def _outcomes(path: Path) -> dict[int, dict[str, float | None]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    number = lambda text: float(text) if text else None  # noqa: E731
    return {int(row["place"]): {key: number(text) for key, text in row.items() if key != "place"} for row in rows}


def fit() -> dict[str, Any]:
    """Fit all models on the outcomes of the list "first" and the paper's own runs; return what is stored."""
    measured, settings = outcomes("first"), load("first")
    runs = [(settings[place], outcome) for place, outcome in measured.items()]
    runs += list(zip(PAPER, PAPER_OUTCOMES, strict=True))
    values = [inputs(situation(setting)) for setting, _ in runs]
    generalised = np.array([outcome.get("generalised") is not None for _, outcome in runs])
    times = {
        "epochs": [_time(setting, outcome.get("generalised")) for setting, outcome in runs],
        "memorising": [_time(setting, outcome.get("memorised")) for setting, outcome in runs],
    }
    result: dict[str, Any] = {
        "runs": len(runs),
        "outcome": _logistic(values, OUTCOME, generalised.astype(float), PENALTY["outcome"]),
    }
    for name, columns in (("epochs", EPOCHS), ("memorising", MEMORISING)):
        keep = [i for i, time in enumerate(times[name]) if time is not None and _driven(values[i], name)]
        y = np.log([times[name][i] for i in keep])  # type: ignore[arg-type]
        result[name] = _gaussian([values[i] for i in keep], columns, y, PENALTY[name])
    return result


def _driven(values: Mapping[str, float], name: str) -> bool:
    """Return whether decay drives the features; without decay the time is another law."""
    return name != "epochs" or (values["decay"] > -3 and values["own decay"] > -1.8)


def _time(setting: ForecastSetting, epoch: float | None) -> float | None:
    return None if epoch is None else max(epoch, 1.0) * setting.rate


def _matrix(values: Sequence[Mapping[str, float]], names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the inputs, each divided by its standard deviation, and these deviations."""
    X = np.array([[row[name] for name in names] for row in values])
    scale = np.where(X.std(axis=0) > 1e-9, X.std(axis=0), 1.0)
    return X / scale, scale


def _prior(names: Sequence[str], penalty: float) -> Float[np.ndarray, "p p"]:
    return np.diag([1e-4 if name == "one" else penalty for name in names])


def _stored(names: Sequence[str], mean: np.ndarray, covariance: np.ndarray, scale: np.ndarray, spread: float) -> dict:
    rounded = lambda a: [float(f"{x:.6g}") for x in a]  # noqa: E731
    return {
        "names": list(names),
        "mean": rounded(mean / scale),
        "covariance": [rounded(row) for row in covariance / np.outer(scale, scale)],
        "spread": float(f"{spread:.6g}"),
    }


def _logistic(values: Sequence[Mapping[str, float]], names: Sequence[str], y: np.ndarray, penalty: float) -> dict:
    """Fit a logistic model by Newton's method; the posterior is Laplace's approximation."""
    X, scale = _matrix(values, names)
    w, prior = np.zeros(X.shape[1]), _prior(names, penalty)
    for _ in range(100):
        p = 1 / (1 + np.exp(-X @ w))
        H = (X * (p * (1 - p))[:, None]).T @ X + prior
        step = np.linalg.solve(H, X.T @ (y - p) - prior @ w)
        w = w + step
        if np.abs(step).max() < 1e-10:
            break
    p = 1 / (1 + np.exp(-X @ w))
    H = (X * (p * (1 - p))[:, None]).T @ X + prior
    return _stored(names, w, np.linalg.inv(H), scale, 0.0)


def _gaussian(values: Sequence[Mapping[str, float]], names: Sequence[str], y: np.ndarray, penalty: float) -> dict:
    """Fit a linear model; the spread is that of residuals with the degrees of freedom taken off."""
    X, scale = _matrix(values, names)
    A = X.T @ X + _prior(names, penalty)
    w = np.linalg.solve(A, X.T @ y)
    used = float(np.trace(np.linalg.solve(A, X.T @ X)))
    spread = float(np.sqrt(np.sum((y - X @ w) ** 2) / max(len(y) - used, 1.0)))
    return _stored(names, w, spread**2 * np.linalg.inv(A), scale, spread)


def moments(length: int, first: int, last: int, count: int = 10) -> list[int]:
    """Return at most `count` rows from `first` to `last`, evenly spread over the log-spaced rows of a run.

    >>> moments(120, 20, 100, 3)
    [20, 60, 100]
    """
    rows = np.linspace(first, min(last, length - 1), count).round().astype(int)
    return sorted({int(row) for row in rows if first <= row <= last})


def first_moment(columns: Mapping[str, np.ndarray]) -> int:
    """Return the row at which half of the training set is learned, where running forecasts begin."""
    rows = np.flatnonzero(columns["train_accuracy"] >= 0.5)
    return int(rows[0]) if len(rows) else len(columns["step"]) - 1


def fit_running(curves: Mapping[int, Mapping[str, np.ndarray]]) -> dict[str, Any]:
    """Fit the forecasts during training on the curves of the list "first", by position."""
    settings, rows, left, good = load("first"), [], [], []
    for place, columns in curves.items():
        setting = settings[place]
        prior = predict(setting.spec(lens=False))
        learned = np.flatnonzero(columns["test_accuracy"] >= LEARNED)
        end = int(learned[0]) if len(learned) else len(columns["step"])
        for row in moments(len(columns["step"]), first_moment(columns), end - 1):
            rows.append(moment(columns, prior, setting.rate, row))
            good.append(bool(len(learned)))
            time = columns["step"][learned[0]] / max(columns["step"][row], 0.5) if len(learned) else 1.0
            left.append(float(np.log(max(time, 1.0))))
    y, ok = np.array(left), np.array(good)
    result = {}
    for name, columns_used in (("with prior", WITH_PRIOR), ("curves", CURVES)):
        chosen = [rows[i] for i in np.flatnonzero(ok)]
        epochs = _gaussian(chosen, columns_used, y[ok], 1.0)
        mean = np.array([[row[c] for c in columns_used] for row in chosen]) @ np.array(epochs["mean"])
        bins = np.searchsorted(BINS, [row["accuracy"] for row in chosen], side="right")
        spreads = [float(np.quantile(np.abs(y[ok] - mean)[bins == b], 0.8) / 1.2816) for b in range(len(BINS) + 1)]
        outcome = _logistic(rows, columns_used, ok.astype(float), 1.0)
        result[name] = {"outcome": outcome, "epochs": epochs, "spreads": [float(f"{s:.4g}") for s in spreads]}
    return result
