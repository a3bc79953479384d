"""Forecast during training: update chance and epochs from the rows recorded so far."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, isfinite, log, nan

import numpy as np
import pandas as pd
from jaxtyping import Float

from firstlight.records import LEARNED, RunRecord, RunSpec, Table
from firstlight.theories.li2._calibration import HORIZON, Linear, below, stored
from firstlight.theories.li2._coverage import predict_spec, reason_without_forecast
from firstlight.theories.li2._forecast import NEVER, UNKNOWN, Epochs, Forecast, two_digits
from firstlight.theories.li2._predict import STAGES

ALARM = 0.05
"""A run is said not to generalise if its chance is below this and it has memorised the training set."""

SPACING = 1.5
"""Rises and falls are measured between now and the epoch this factor earlier."""

CURVES = ("one", "accuracy", "rise", "loss", "fall", "memorised", "since", "error", "reach")
WITH_PRIOR = (*CURVES, "prior", "logit", "waiting")
BINS = (0.3, 0.8)
"""Test accuracies that separate the three intervals of the remaining time."""

CAUSES = {
    "activation": "the activation cannot combine the two factors",
    "strong": "the weight decay is too strong for any feature",
    "weak": "the weight decay is too weak to drive features",
    "width": "there are too few hidden units",
    "samples": "there are too few training pairs",
}


def forecast(
    source: RunRecord | pd.DataFrame,
    spec: RunSpec | None = None,
    *,
    steps: int | None = None,
    weights: Float[np.ndarray, "d K"] | None = None,
) -> Forecast:
    """Forecast a run from its rows so far: a record, or a DataFrame with the curves of any training run.

    The rows give test accuracy and loss, how fast they change, and the time since the training set was memorised. A
    record, or a spec, adds `predict` for the setting. Without it only the curves count, and intervals are wider.

    **Arguments:**

    - `source`: a run, finished or still going; or a DataFrame with columns `train_accuracy` and `test_accuracy`, and
      optionally `step` or `epoch` (else the index), `test_loss`, and norms of weights (columns that begin with `norm`).
    - `spec`: the setting of the DataFrame's run, if it is known.
    - `steps`: epochs within which to generalise; by default those of the spec, else ten times the last epoch.
    - `weights`: (d, K) first-layer weights, to count hidden units that no longer respond.

    >>> import pandas as pd
    >>> curves = {"train_accuracy": [0.1, 1, 1, 1], "test_accuracy": [0, 0.1, 0.4, 0.8]}
    >>> rows = pd.DataFrame({"epoch": [1, 50, 100, 150], **curves})
    >>> now = forecast(rows)
    >>> now.outcome, 150 < now.generalises.low < now.generalises.high
    ('grokking', True)
    """
    if isinstance(source, RunRecord):
        spec, columns = source.spec, columns_of_table(source.table)
    else:
        columns = _columns_of_frame(source)
    prior = _prior(spec)
    last = columns["step"][-1]
    horizon = float(steps or (spec.steps if spec is not None else 10 * last))
    base = prior if prior is not None else Forecast("", 0, 0, "grokking", nan, horizon)
    base = replace(base, horizon=horizon, seen=int(last), curves={k: tuple(v.tolist()) for k, v in columns.items()})
    if (when := _learned(columns, "test_accuracy")) is not None:
        return _done(base, columns, when)
    values = moment(
        columns, base if prior is not None else None, None if spec is None else spec.optimizer.learning_rate
    )
    return _updated(base, columns, values, prior is not None, _signs(source, columns, weights))


def _prior(spec: RunSpec | None) -> Forecast | None:
    return None if spec is None or reason_without_forecast(spec) else predict_spec(spec)


def columns_of_table(table: Table) -> dict[str, np.ndarray]:
    """Return step, accuracies and test loss of a recorded table."""
    if not len(table) or "test_accuracy" not in table or "train_accuracy" not in table:
        raise ValueError(
            f"a forecast needs recorded rows with train_accuracy and test_accuracy, got {len(table)} rows with "
            f"{sorted(table.columns)}; hold out some pairs, and record at least one row"
        )
    names = [name for name in ("train_accuracy", "test_accuracy", "test_loss") if name in table]
    return {"step": np.asarray(table.step, float), **{name: np.asarray(table[name], float) for name in names}}


def _columns_of_frame(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    if missing := [name for name in ("train_accuracy", "test_accuracy") if name not in frame]:
        raise ValueError(
            f"a forecast needs the columns train_accuracy and test_accuracy; missing: {missing}, got "
            f"{[str(c) for c in frame.columns]}"
        )
    clock = next((name for name in ("step", "epoch") if name in frame), None)
    frame = frame.assign(step=frame.index if clock is None else frame[clock])
    names = ["step", "train_accuracy", "test_accuracy", *(["test_loss"] if "test_loss" in frame else [])]
    table = {name: np.asarray(pd.to_numeric(frame[name], errors="coerce"), float) for name in names}
    whole = np.all([np.isfinite(table[name]) for name in names[:3]], axis=0)
    order = np.argsort(table["step"][whole], kind="stable")
    table = {name: values[whole][order] for name, values in table.items()}
    accuracies = np.stack([table["train_accuracy"], table["test_accuracy"]])
    if not len(order) or accuracies.min() < 0 or accuracies.max() > 1 or table["step"].min() < 0:
        raise ValueError(
            "a forecast needs at least one row with a step ≥ 0 and accuracies from 0 to 1, got "
            f"{len(order)} rows; divide accuracies in per cent by 100"
        )
    return table


def _learned(columns: Mapping[str, np.ndarray], name: str) -> float | None:
    rows = np.flatnonzero(columns[name] >= LEARNED)
    return float(columns["step"][rows[0]]) if len(rows) else None


def moment(
    columns: Mapping[str, np.ndarray], prior: Forecast | None, rate: float | None, row: int = -1
) -> dict[str, float]:
    """Return what the rows up to one of them show.

    **Arguments:**

    - `columns`: step, accuracies, and test loss if there is one.
    - `prior`: the forecast before training, if there is one.
    - `rate`: the learning rate.
    - `row`: the last row to use.
    """
    end = range(len(columns["step"]))[row] + 1
    step = np.maximum(columns["step"][:end], 0.5)
    t, earlier = step[-1], int(np.searchsorted(step, step[-1] / SPACING, side="right")) - 1
    earlier = max(earlier, 0)
    test = columns["test_accuracy"][:end]
    values = {
        "one": 1.0,
        "accuracy": float(test[-1]),
        "rise": float(test[-1] - test[earlier]),
        "loss": 0.0,
        "fall": 0.0,
    }
    loss = columns.get("test_loss")
    if loss is not None and np.isfinite(loss[:end]).all():
        loss = np.maximum(loss[:end], 1e-12)
        values["loss"] = float(np.clip(np.log(loss[-1] / loss.max()), -5, 0))
        values["fall"] = float(np.clip(np.log(loss[-1] / loss[earlier]), -3, 3))
    # At the present pace, the logarithm of the time at which all is learned; it counts once the accuracy is high.
    pace = max(values["rise"], 0.02) / log(SPACING)
    values["error"] = log(1.001 - values["accuracy"])
    values["reach"] = values["accuracy"] * float(np.log1p(max(LEARNED - values["accuracy"], 0.0) / pace))
    known = np.flatnonzero(columns["train_accuracy"][:end] >= LEARNED)
    values["memorised"] = float(len(known) > 0)
    values["since"] = float(np.clip(log(t / step[known[0]]), 0, 6)) if len(known) else 0.0
    if prior is not None and rate is not None:
        p = min(max(prior.probability, 1e-3), 1 - 1e-3) if isfinite(prior.probability) else 0.5
        expected = prior.epochs if isfinite(prior.epochs) else HORIZON / rate
        values |= {"prior": float(np.clip(log(expected / t), -3, 5)), "logit": log(p / (1 - p))}
        # Once the test accuracy rises, the rows say more than the forecast before training.
        values["waiting"] = values["prior"] if values["accuracy"] < BINS[0] else 0.0
        if isfinite(prior.epochs):
            values["late"] = log(t / prior.epochs) * 2 * 1.2816 / log(prior.generalises.high / prior.generalises.low)
    return values


@dataclass(frozen=True)
class Remaining:
    """What the rows so far say: the chance of generalising, and median and 80 % interval of ln(T/t) if it does."""

    chance: float
    low: float
    median: float
    high: float

    @property
    def deviation(self) -> float:
        """Standard deviation of a Gaussian with this interval."""
        return max((self.high - self.low) / (2 * 1.2816), 1e-3)


@lru_cache(maxsize=2)
def _constants(with_prior: bool) -> tuple[Linear, Linear, list[list[float]]]:
    constants = stored()["running"]["with prior" if with_prior else "curves"]
    return Linear.read(constants["outcome"]), Linear.read(constants["epochs"]), constants["errors"]


def remaining(values: Mapping[str, float], with_prior: bool) -> Remaining:
    """Return the chance of generalising and the time left, from what the rows show."""
    outcome, epochs, errors = _constants(with_prior)
    z, mean = outcome(dict(values))[0], epochs(dict(values))[0]
    p = 1 / (1 + exp(-min(max(z, -30), 30)))
    if values["accuracy"] < BINS[0]:
        # Bayes: a run that would generalise would, with this probability, not have begun to by now.
        waiting = max(1 - below(values.get("late", -9.0), 0.0, 1.0), 1e-4)
        p = p * waiting / (p * waiting + 1 - p)
    return Remaining(p, *(max(mean + error, 0.0) for error in errors[accuracy_bin(values["accuracy"])]))


def accuracy_bin(accuracy: float) -> int:
    """Return which of the ranges between `BINS` a test accuracy lies in.

    >>> [accuracy_bin(a) for a in (0.1, 0.5, 0.9)]
    [0, 1, 2]
    """
    return int(np.searchsorted(BINS, accuracy, side="right"))


def _updated(
    base: Forecast, columns: Mapping[str, np.ndarray], values: Mapping[str, float], with_prior: bool, signs: list[str]
) -> Forecast:
    """Return the forecast after the rows."""
    left = remaining(values, with_prior)
    p, t = left.chance, max(float(columns["step"][-1]), 0.5)
    when = Epochs(t * exp(left.low), t * exp(left.median), t * exp(left.high))
    if t >= base.horizon:
        p = 0.0
    elif with_prior:
        # Time passes: those that would have generalised by now are no longer possible.
        reach = log(base.horizon / t)
        p *= below(reach, left.median, left.deviation)
    p = min(p, 0.5 * ALARM) if signs else p
    memorised = _learned(columns, "train_accuracy")
    memorises = base.memorises if memorised is None else Epochs(memorised, memorised, memorised)
    will = p >= 0.5
    alarm = p < ALARM and memorised is not None
    causes = [CAUSES[base.why]] if base.why in CAUSES else []
    causes += signs
    outcome = "grokking" if will else base.outcome if base.outcome not in ("grokking", "not covered") else "memorising"
    return replace(
        base,
        outcome=outcome,
        probability=p,
        memorises=memorises,
        generalises=NEVER if alarm else when,
        stages=STAGES.get(outcome, ()),
        why="" if will else base.why or "rows",
        story=_story(base, columns, p, when, alarm, causes),
    )


def _story(
    base: Forecast, columns: Mapping[str, np.ndarray], p: float, when: Epochs, alarm: bool, causes: list[str]
) -> str:
    t, test = columns["step"][-1], columns["test_accuracy"][-1]
    start = f"At epoch {t:.0f}, test accuracy {test:.2f}"
    if alarm:
        reasons = "; ".join(causes) or f"test accuracy has stayed at {test:.2f} since the training set was memorised"
        return (
            f"{start}: it will not generalise by epoch {base.horizon:.0f}, because {reasons} (chance {two_digits(p)})."
        )
    likely = "it should generalise" if p >= 0.5 else "it may not generalise; if it does, expect it"
    return f"{start}: {likely} at epoch {when.words} (chance {two_digits(p)} by epoch {base.horizon:.0f})."


def _done(base: Forecast, columns: Mapping[str, np.ndarray], when: float) -> Forecast:
    memorised = _learned(columns, "train_accuracy")
    return replace(
        base,
        outcome="grokking",
        probability=1.0,
        memorises=UNKNOWN if memorised is None else Epochs(memorised, memorised, memorised),
        generalises=Epochs(when, when, when),
        stages=STAGES["grokking"],
        why="",
        story=f"The run has generalised, at epoch {when:.0f}.",
    )


def _signs(
    source: RunRecord | pd.DataFrame, columns: Mapping[str, np.ndarray], weights: np.ndarray | None
) -> list[str]:
    """Return what else the rows and weights show against generalising."""
    signs = []
    if weights is not None:
        norms = np.linalg.norm(np.asarray(weights, float), axis=0)
        dead = float(np.mean(norms < 1e-3 * max(norms.max(), 1e-12)))
        if dead > 0.5:
            signs.append(f"{100 * dead:.0f} % of the hidden units are dead (their weights have vanished)")
    if isinstance(source, pd.DataFrame):
        for name in (c for c in source.columns if str(c).startswith("norm")):
            norm = np.asarray(pd.to_numeric(source[name], errors="coerce"), float)
            norm = norm[np.isfinite(norm)]
            if len(norm) > 1 and norm[-1] < 0.1 * norm.max():
                signs.append(f"{name} has fallen to {100 * norm[-1] / norm.max():.0f} % of its largest value")
    return signs
