"""Fit the forecasts during training on recorded curves of the fitted lists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firstlight.claims.beyond.checks.forecast_curves import read_curves
from firstlight.claims.beyond.checks.forecast_fit import LeftOut
from firstlight.claims.beyond.checks.forecast_linear import gaussian, logistic
from firstlight.claims.beyond.checks.forecast_settings import ListName, load
from firstlight.records import LEARNED
from firstlight.theories.li2 import Forecast
from firstlight.theories.li2._calibration import HORIZON, Linear
from firstlight.theories.li2._forecast import NEVER, interval
from firstlight.theories.li2._running import BINS, CURVES, WITH_PRIOR, accuracy_bin, moment

RECORDED: tuple[ListName, ...] = ("second", "third", "fourth", "fifth")
"""The fitted lists whose curves are recorded."""

PENALTY = 1.0
"""Prior precision of a coefficient, for inputs scaled to standard deviation 1."""


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


@dataclass(frozen=True)
class Moment:
    """A row of a run: the group, the run, what the rows so far show, and ln(T/t), or None if it never generalised."""

    group: str
    run: int
    values: Mapping[str, float]
    left: float | None


def recorded_moments(before: Sequence[LeftOut]) -> list[Moment]:
    """Return ten rows of every run whose curves are recorded.

    Forecasts before training are those of constants fitted without the run's group: how far to trust them beside the
    rows is then learned on runs that they had not seen.
    """
    known, sample = {row.setting: row for row in before}, []
    curves = [(load(name)[place], columns) for name in RECORDED for place, columns in read_curves(name).items()]
    for run, (setting, columns) in enumerate(curves):
        learned = np.flatnonzero(columns["test_accuracy"] >= LEARNED)
        end = int(learned[0]) if len(learned) else len(columns["step"])
        prior = _before(known[setting])
        for row in moments(len(columns["step"]), first_moment(columns), end - 1):
            time = columns["step"][learned[0]] / max(columns["step"][row], 0.5) if len(learned) else None
            left = None if time is None else float(np.log(max(time, 1.0)))
            sample.append(Moment(setting.group, run, moment(columns, prior, setting.rate, row), left))
    return sample


def _before(row: LeftOut) -> Forecast:
    """Return the part of a forecast before training that enters those during training."""
    rate = row.setting.rate
    when = interval(row.log_time, row.deviation, rate) if row.chance >= 0.5 and row.driven else NEVER
    return Forecast(row.setting.group, row.setting.n, 0, "grokking", row.chance, HORIZON / rate, generalises=when)


def fit_running(sample: Sequence[Moment]) -> dict[str, Any]:
    """Fit chance and remaining time during training, with and without a forecast before; return what is stored.

    The intervals are quantiles of the errors on groups that were left out.
    """
    result = {}
    for name, columns in (("with prior", WITH_PRIOR), ("curves", CURVES)):
        timed = [row for row in sample if row.left is not None]
        y = np.array([float(row.left is not None) for row in sample])
        result[name] = {
            "outcome": logistic([row.values for row in sample], columns, y, PENALTY),
            "epochs": _remaining(timed, columns),
            "errors": _quantiles(errors_left_out(timed, columns)),
        }
    return result


def _remaining(timed: Sequence[Moment], columns: Sequence[str]) -> dict[str, Any]:
    return gaussian([row.values for row in timed], columns, np.array([row.left for row in timed], float), PENALTY)


def errors_left_out(timed: Sequence[Moment], columns: Sequence[str]) -> list[tuple[Moment, float]]:
    """Return ln(T/t) minus the mean forecast of it, for every row, by constants fitted on other groups."""
    errors = []
    for group in sorted({row.group for row in timed}):
        model = Linear.read(_remaining([row for row in timed if row.group != group], columns))
        errors += [(r, float(r.left or 0.0) - model(dict(r.values))[0]) for r in timed if r.group == group]
    return errors


def _quantiles(errors: Sequence[tuple[Moment, float]]) -> list[list[float]]:
    """Return the 10, 50 and 90 % quantiles of the errors in each range of test accuracies; runs have equal weights."""
    bins = np.array([accuracy_bin(row.values["accuracy"]) for row, _ in errors])
    runs, values = np.array([row.run for row, _ in errors]), np.array([error for _, error in errors])
    quantiles = []
    for b in range(len(BINS) + 1):
        chosen = np.flatnonzero(bins == b)
        chosen = chosen[np.argsort(values[chosen], kind="stable")]
        rows_of_run = {run: int(np.sum(runs[chosen] == run)) for run in set(runs[chosen].tolist())}
        share = np.cumsum([1 / rows_of_run[run] for run in runs[chosen].tolist()])
        places = np.searchsorted(share / share[-1], (0.1, 0.5, 0.9))
        quantiles.append([float(f"{values[chosen][place]:.4g}") for place in places])
    return quantiles
