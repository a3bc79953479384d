"""Judge the forecasts on the seventh list: outcomes, epochs, and the forecasts made during training."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, equals, within
from firstlight.claims.beyond.checks.forecast_bound import best_share, best_skill, bootstrap_error, pairs_of
from firstlight.claims.beyond.checks.forecast_curves import read_curves
from firstlight.claims.beyond.checks.forecast_rows import first_moment, moments
from firstlight.claims.beyond.checks.forecast_settings import NEAR, ForecastSetting, ListName, load
from firstlight.claims.li2.checks.training import train
from firstlight.records import LEARNED, Criterion, figure
from firstlight.theories import li2
from firstlight.theories.li2._running import ALARM, columns_of_table, moment, remaining

Curves = Mapping[str, np.ndarray]

JUDGED: ListName = "seventh"
"""The list that judges; no constant was fitted on it."""

FACTOR, COVERED, TOLERANCE = 1.5, 0.8, 0.06
"""Factor within which epochs count as right, level of the intervals, and the tolerance of their coverage."""

AIM = "the statement's own number"
SPREAD = "the statement's own range; ±0.06 is two standard errors of a share of 0.8 over 180 runs"
MANY = "a share over fewer runs has a standard error above 7 %"

RUNNING_CHANCE = "share of the epochs to come that the 80 % interval covers"
REPEATED = 3
"""Number of judged runs that the quick scale trains again, the cheapest ones."""


def curves_of(setting: Setting) -> tuple[Mapping[int, Curves], int]:
    """Return the curves of the judged runs by position, and how many of those trained again agree.

    The quick scale reads the recorded curves, and trains a few runs again to compare their outcome; the paper scale
    trains all of them, and resumes from its working directory.
    """
    settings = load(JUDGED)
    if setting.scale != "quick":
        outcomes = train(setting, f"forecast-{JUDGED}", [s.spec(lens=False) for s in settings])
        return {place: columns_of_table(outcome.record.table) for place, outcome in enumerate(outcomes)}, REPEATED
    recorded = read_curves(JUDGED)
    return recorded, _again(tuple(recorded))


@lru_cache(maxsize=1)
def _again(places: tuple[int, ...]) -> int:
    """Train the cheapest runs again and count those whose outcome is the recorded one; once for all three claims."""
    settings, recorded = load(JUDGED), read_curves(JUDGED)
    cheapest = sorted(places, key=lambda i: settings[i].n * settings[i].width * settings[i].steps)[:REPEATED]
    outcomes = train(Setting("quick"), f"forecast-{JUDGED}", [settings[i].spec(lens=False) for i in cheapest])
    pairs = [(columns_of_table(o.record.table), recorded[i]) for o, i in zip(outcomes, cheapest, strict=True)]
    return sum((_generalised(new) is None) == (_generalised(old) is None) for new, old in pairs)


def _generalised(columns: Curves) -> float | None:
    rows = np.flatnonzero(columns["test_accuracy"] >= LEARNED)
    return float(columns["step"][rows[0]]) if len(rows) else None


@lru_cache(maxsize=512)
def _predicted(setting: ForecastSetting) -> li2.Forecast:
    """Return the forecast before training, once for all three claims."""
    return li2.predict(setting.spec(lens=False))


def judged_rows(curves: Mapping[int, Curves]) -> list[dict[str, Any]]:
    """Return forecast and outcome of every run."""
    settings, rows = load(JUDGED), []
    for place, columns in curves.items():
        forecast, when = _predicted(settings[place]), _generalised(columns)
        rows.append(
            {
                "place": place,
                "group": settings[place].group,
                "chance": forecast.probability,
                "margin": forecast.margin,
                "why": forecast.why,
                "generalised": when is not None,
                "epoch": when,
                "accuracy": float(columns["test_accuracy"][-1]),
                "forecast": [forecast.generalises.low, forecast.generalises.median, forecast.generalises.high],
            }
        )
    return rows


def _used(rows: list[dict[str, Any]], scale: str) -> dict[str, Any]:
    return {
        "runs": len(rows),
        "groups": sorted({row["group"] for row in rows}),
        "optimizers": ["Adam", "AdamW"],
        "activations": ["x²", "relu", "silu"],
        "curves": "recorded" if scale == "quick" else "trained",
    }


def _measure_outcomes(setting: Setting) -> Measurement:
    """Compare the chance of every run with its outcome."""
    curves, again = curves_of(setting)
    rows = judged_rows(curves)
    data = {
        "rows": [_short(row, ("place", "group", "chance", "margin", "generalised")) for row in rows],
        "again": again,
    }
    return Measurement(data, _used(rows, setting.scale), figures=(reliability(rows),))


def _short(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: round(row[name], 4) if isinstance(row[name], float) else row[name] for name in names}


def is_near(row: Mapping[str, Any]) -> bool:
    """Return whether a run lies within 15 % of its boundary."""
    return abs(row["margin"] - 1) <= NEAR


def brier_skill(rows: list[Mapping[str, Any]]) -> float:
    """Return 1 − B/B₀, with B the mean squared error of the chances and B₀ that of the mean outcome as the chance."""
    p, y = (np.array([float(row[name]) for row in rows]) for name in ("chance", "generalised"))
    reference = float(np.mean((y - y.mean()) ** 2))
    return float("nan") if reference == 0 else 1 - float(np.mean((p - y) ** 2)) / reference


def _judge_outcomes(data: Mapping[str, Any]) -> list[Criterion]:
    rows = data["rows"]
    near, away = [row for row in rows if is_near(row)], [row for row in rows if not is_near(row)]
    right = [float((row["chance"] >= 0.5) == row["generalised"]) for row in away]
    return [
        *_preconditions(data),
        at_least(
            "near and away",
            "share of the runs near the boundary",
            len(near) / len(rows),
            0.2,
            form="precondition",
            reason="a fifth, so that both kinds have enough runs for a share",
        ),
        at_least("outcomes away from the boundary", "share that was forecast", float(np.mean(right)), 0.97, reason=AIM),
        at_least("chances near the boundary", "Brier skill over the base rate", brier_skill(near), 0.5, reason=AIM),
        at_least(
            "what is possible near the boundary",
            "best Brier skill of any forecast that does not know the seed",
            (bound := near_bound(rows))[0],
            0.5,
            reason=f"half the share of the pairs of seeds that disagree; standard error {bound[1]:.2f} (bootstrap)",
        ),
    ]


def near_bound(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the best possible Brier skill near the boundary and its standard error, from pairs of seeds."""
    pairs = [(a["generalised"], b["generalised"]) for a, b in pairs_of(rows) if is_near(a) or is_near(b)]
    return best_skill(pairs), bootstrap_error(best_skill, pairs) if pairs else float("nan")


def epochs_bound(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the best possible share of epochs within the factor and its standard error, from pairs of seeds."""
    ratios = [float(np.log(a["epoch"] / b["epoch"])) for a, b in pairs_of(rows) if a["epoch"] and b["epoch"]]
    share = lambda values: best_share(values, FACTOR)  # noqa: E731
    return share(ratios), bootstrap_error(share, ratios) if ratios else float("nan")


def _preconditions(data: Mapping[str, Any]) -> list[Criterion]:
    rows = data["rows"]
    return [
        at_least("many runs", "judged runs", len(rows), 200, form="precondition", reason=f"{AIM} of runs"),
        at_least(
            "many groups",
            "groups",
            len({row["group"] for row in rows}),
            15,
            form="precondition",
            reason=f"{AIM} of groups",
        ),
        equals(
            "recorded curves",
            "runs trained again with the recorded outcome",
            data["again"],
            REPEATED,
            form="precondition",
        ),
    ]


def _measure_epochs(setting: Setting) -> Measurement:
    """Compare the epochs of runs that were forecast to generalise, and did."""
    curves, again = curves_of(setting)
    rows = judged_rows(curves)
    timed = [row for row in rows if row["generalised"] and np.isfinite(row["forecast"][1])]
    data = {
        "rows": [_short(row, ("place", "group", "generalised", "epoch")) for row in rows],
        "timed": [{"place": r["place"], "epoch": r["epoch"], "forecast": np.round(r["forecast"], 1)} for r in timed],
        "again": again,
    }
    return Measurement(data, _used(rows, setting.scale), figures=(times(rows),))


def _judge_epochs(data: Mapping[str, Any]) -> list[Criterion]:
    ratios = np.array([row["epoch"] / row["forecast"][1] for row in data["timed"]], float)
    inside = np.array([row["forecast"][0] <= row["epoch"] <= row["forecast"][2] for row in data["timed"]], float)
    close = float(np.mean(np.abs(np.log(ratios)) <= np.log(FACTOR))) if np.isfinite(ratios).all() else float("nan")
    return [
        *_preconditions(data),
        at_least(
            "timed runs", "runs forecast to generalise that did", len(ratios), 30, form="precondition", reason=MANY
        ),
        at_least("epochs to generalise", f"share within a factor of {FACTOR}", close, 0.8, reason=AIM),
        at_least(
            "what is possible for the epochs",
            "best share within that factor of any forecast that does not know the seed",
            (bound := epochs_bound(data["rows"]))[0],
            0.8,
            reason=f"the spread between two seeds of a setting; standard error {bound[1]:.2f} (bootstrap)",
        ),
        within(
            "80 % intervals of the epochs", "share covered", float(np.mean(inside)), COVERED, TOLERANCE, reason=SPREAD
        ),
    ]


def _measure_running(setting: Setting) -> Measurement:
    """Forecast every run at ten of its rows, from the rows before."""
    curves, again = curves_of(setting)
    settings, runs = load(JUDGED), []
    for place, columns in curves.items():
        runs.append({"place": place, "group": settings[place].group, **watch(settings[place], columns)})
    used = _used(runs, setting.scale) | {"moments": "ten rows from half of the training set learned to the end"}
    return Measurement({"rows": runs, "again": again}, used, figures=(_alarms(runs),))


def watch(setting: ForecastSetting, columns: Curves) -> dict[str, Any]:
    """Return the share of moments whose interval covers the epoch, the smallest chance, and whether it was an alarm."""
    prior, when = _predicted(setting), _generalised(columns)
    learned = np.flatnonzero(columns["test_accuracy"] >= LEARNED)
    end = int(learned[0]) if len(learned) else len(columns["step"])
    covered, factors, alarm = [], [], None
    for row in moments(len(columns["step"]), first_moment(columns), end - 1):
        values, t = moment(columns, prior, setting.rate, row), max(float(columns["step"][row]), 0.5)
        left = remaining(values, True)
        low, middle, high = (t * np.exp(log_time) for log_time in (left.low, left.median, left.high))
        if when is not None:
            covered.append(float(low <= when <= high))
            factors.append(float(abs(np.log(when / middle)) <= np.log(FACTOR)))
        if alarm is None and left.chance < ALARM and values["memorised"]:
            alarm = t
    mean_of = lambda values: float(np.mean(values)) if values else None  # noqa: E731
    return {"generalised": when is not None, "covered": mean_of(covered), "close": mean_of(factors), "alarm": alarm}


def _judge_running(data: Mapping[str, Any]) -> list[Criterion]:
    rows = data["rows"]
    covered = [row["covered"] for row in rows if row["covered"] is not None]
    close = [row["close"] for row in rows if row["close"] is not None]
    alarms = [row for row in rows if row["alarm"] is not None]
    failed = [row for row in rows if not row["generalised"]]
    false = float(np.mean([row["generalised"] for row in alarms])) if alarms else float("nan")
    warned = float(np.mean([row["alarm"] is not None for row in failed])) if failed else float("nan")
    return [
        *_preconditions(data),
        within(
            "80 % intervals during training", RUNNING_CHANCE, float(np.mean(covered)), COVERED, TOLERANCE, reason=SPREAD
        ),
        at_least("epochs to come", f"share within a factor of {FACTOR}", float(np.mean(close)), 0.6, reason=AIM),
        at_most(
            "“it will not”",
            "share of these that generalised: false alarms",
            false,
            ALARM,
            reason="the chance below which it is said",
        ),
        at_least("failures are announced", "share of the runs that fail", warned, 0.5, reason=AIM),
    ]


forecast_outcome = Check(_measure_outcomes, _judge_outcomes)
forecast_epochs = Check(_measure_epochs, _judge_epochs)
forecast_running = Check(_measure_running, _judge_running)


def reliability(rows: list[dict[str, Any]]) -> figure.FigureData:
    """Return the reliability diagram: how often runs with a chance generalised, with binomial standard errors."""
    p, y = (np.array([float(row[name]) for row in rows]) for name in ("chance", "generalised"))
    edges = np.array([0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0])
    place = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, len(edges) - 2)
    used = [k for k in range(len(edges) - 1) if (place == k).any()]
    count = np.array([(place == k).sum() for k in used])
    x, rate = (np.array([values[place == k].mean() for k in used]) for values in (p, y))
    error = np.sqrt((rate * count + 1) * (count - rate * count + 1) / (count + 2) ** 3)
    series = figure.Series("judged runs", x, rate, np.maximum(rate - error, 0), np.minimum(rate + error, 1))
    return figure.scatter(
        [series],
        x=figure.Axis("forecast chance of generalising"),
        y=figure.Axis("share that generalised"),
        title="Reliability of the forecasts",
        caption=f"Runs per point: {', '.join(map(str, count))}. Bands: one standard error.",
        identity=True,
    )


def times(rows: list[dict[str, Any]]) -> figure.FigureData:
    """Return forecast and measured epochs of the runs that were forecast to generalise, and did."""
    timed = [row for row in rows if row["generalised"] and np.isfinite(row["forecast"][1])]
    forecast = np.array([row["forecast"][1] for row in timed])
    epoch = np.array([row["epoch"] for row in timed])
    return figure.scatter(
        [figure.Series("judged runs", forecast, epoch)],
        x=figure.Axis("forecast epoch", scale="log"),
        y=figure.Axis("epoch at which the run generalised", scale="log"),
        title="Epochs to generalise",
        identity=True,
    )


def _alarms(runs: list[dict[str, Any]]) -> figure.FigureData:
    kinds = {"generalised": True, "did not": False}
    counts = {k: sum(r["alarm"] is not None for r in runs if r["generalised"] == v) for k, v in kinds.items()}
    totals = {k: sum(r["generalised"] == v for r in runs) for k, v in kinds.items()}
    return figure.bars(
        ["generalised", "did not"],
        {"runs": [totals[k] for k in kinds], "called “it will not”": [counts[k] for k in kinds]},
        x=figure.Axis("what the run did"),
        y=figure.Axis("runs"),
        title="Alarms during training",
    )
