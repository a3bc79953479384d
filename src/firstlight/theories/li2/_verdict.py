"""Compare the forecast made from the spec alone with what the run did."""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from firstlight import flow, groups
from firstlight.records import Agreement, GroupTask, RunRecord, RunSpec, Table, TheoryVerdict, TwoLayerModel, first_row
from firstlight.tasks import train_count
from firstlight.theories.li2._predict import EPOCHS_FACTOR, Prediction, decide, epochs_to_test, predict
from firstlight.theories.li2._stages import decay_ridge, lasting_row

FIGURE = "Li₂: the stages of the run"
"""Title of the figure that shows both epochs."""

_FORECASTS = {
    "memorising": "memorises without generalising",
    "stalling": "memorises, then stalls",
    "nothing": "does not learn the training pairs",
}

_CAUSES = {
    "activation": "the activation cannot combine the two factors",
    "strong": "the weight decay is too strong for any feature",
    "weak": "the weight decay is too weak to drive features",
    "width": "there are too few hidden units",
    "samples": "there are too few training pairs",
}


def verdict(record: RunRecord) -> TheoryVerdict | None:
    """Compare whether and when the network generalised with `predict`; None if no accuracy was recorded.

    A network that is forecast to generalise should do so within `EPOCHS_FACTOR` of the forecast time. A forecast of
    failure is tested only by a run that lasted for `epochs_to_test`.
    """
    if not len(record.table) or "train_accuracy" not in record.table:
        return None
    outcome = _Outcome.of(record.table, record.spec.clock)
    shown = FIGURE if len(record.table) > 1 else ""
    if reason := reason_without_forecast(record.spec):
        return TheoryVerdict(
            theory="li2",
            measured=outcome.words,
            agrees="does not apply",
            sentence=f"The forecast does not cover this run: {reason}.",
            look_at=shown,
        )
    forecast = forecast_run(record.spec)
    compare = _compare_time if forecast.outcome == "grokking" else _compare_failure
    predicted, agrees, sentence = compare(forecast, outcome, _epochs_to_test(record.spec))
    odds = max(forecast.probability, 1 - forecast.probability)
    return TheoryVerdict(
        theory="li2",
        predicted=f"{predicted} (probability {odds:.2f})",
        measured=outcome.words,
        agrees=agrees,
        sentence=sentence,
        look_at=shown,
    )


def reason_without_forecast(spec: RunSpec) -> str:
    """Return '' if `predict` covers the spec, else the reason: its constants were measured in one setting."""
    task, model, optimizer = spec.task, spec.model, spec.optimizer
    if not isinstance(task, GroupTask) or task.factors != 2 or task.encoding != "onehot" or task.label_noise:
        return "it was measured on products of two group elements, one-hot encoded, without label noise"
    if model.kind != "two_layer" or model.bias or model.scale != 1 or model.init != "uniform_fan_in":
        return "it was measured on two-layer networks without biases, with the default initial weights"
    if spec.loss.kind != "mse":
        return "it was measured with the squared error"
    coupled = flow.is_coupled(optimizer) or optimizer.weight_decay == 0
    if optimizer.name not in ("adam", "adamw") or not coupled:
        return f"it was measured with Adam and weight decay in the gradient, and the optimizer is {optimizer.title}"
    if optimizer.batch_size or optimizer.schedule.shape != "constant" or optimizer.schedule.warmup:
        return "it was measured with all training pairs in every update and a constant learning rate"
    if optimizer.layer_rates:
        return "it was measured with one learning rate for both layers"
    order = groups.parse(task.group).order
    if order == 1 or training_pairs(task) == order**2:
        return "there are no held-out pairs to generalise to"
    return ""


def training_pairs(task: GroupTask) -> int:
    """Return n, the number of training rows of the split."""
    total = groups.parse(task.group).order ** task.factors
    return train_count(total, task.split.fraction, task.split.count)


def forecast_run(spec: RunSpec) -> Prediction:
    """Return `predict` for a spec that it covers."""
    task, model, eta = _setting(spec)
    rate = spec.optimizer.learning_rate
    return predict(task.group, training_pairs(task), model.width, eta, model.activation, learning_rate=rate)


def _epochs_to_test(spec: RunSpec) -> int:
    """Return `epochs_to_test` for a spec that `predict` covers."""
    _, model, eta = _setting(spec)
    return epochs_to_test(eta, model.width, model.activation, spec.optimizer.learning_rate)


def _setting(spec: RunSpec) -> tuple[GroupTask, TwoLayerModel, float]:
    """Return task, model and η of a spec that `predict` covers."""
    task, model = spec.task, spec.model
    if not isinstance(task, GroupTask) or model.kind != "two_layer":
        raise ValueError(f"a forecast needs a group task and a two-layer network, got {task.kind} and {model.kind}")
    return task, model, decay_ridge(training_pairs(task), spec.optimizer.weight_decay, spec.loss)


@dataclass(frozen=True)
class _Outcome:
    """When the run memorised and generalised, the row before it generalised, and when it ended."""

    clock: str
    memorised: int | None
    generalised: int | None
    before: int
    last: int

    @classmethod
    def of(cls, table: Table, clock: str) -> "_Outcome":
        step = np.asarray(table.step)
        rows = first_row(table, "train_accuracy"), lasting_row(table)
        memorised, generalised = (None if row is None else int(step[row]) for row in rows)
        before = int(step[max(0, (rows[1] or 0) - 1)])
        return cls(clock, memorised, generalised, before, int(step[-1]))

    @property
    def words(self) -> str:
        if self.generalised is not None:
            return f"generalised at {self.clock} {self.generalised}"
        if self.memorised is not None:
            return f"memorised at {self.clock} {self.memorised}, not generalised by {self.clock} {self.last}"
        return f"training pairs not learned by {self.clock} {self.last}"

    @property
    def duration(self) -> str:
        return f"{self.last} {self.clock}{'' if self.last == 1 else 's'}"


def _too_short(outcome: _Outcome, needed: int) -> str:
    return (
        f"The run ended at {outcome.clock} {outcome.last}, too early to test the forecast: a network that generalises "
        f"may need until {outcome.clock} {needed}."
    )


def _compare_time(forecast: Prediction, outcome: _Outcome, needed: int) -> tuple[str, Agreement, str]:
    """Return prediction, agreement and sentence for a network that should generalise."""
    if not isfinite(forecast.epochs):
        return _compare_without_time(outcome, needed)
    clock, when = outcome.clock, outcome.generalised
    low, high = (round(forecast.epochs * factor) for factor in (1 / EPOCHS_FACTOR, EPOCHS_FACTOR))
    span = f"{clock}s {low} to {high}"
    predicted = f"generalises at {span}"
    if when is None and outcome.last < high:
        sentence = f"The run ended at {clock} {outcome.last}, before the end of the forecast range of {span}."
        return predicted, "does not apply", sentence
    if when is None:
        sentence = f"The network did not generalise within {outcome.duration}; the forecast range was {span}."
        return predicted, "no", sentence
    if low <= when <= high:
        sentence = f"The network generalised at {clock} {when}, within the forecast range of {span}."
        return predicted, "yes", sentence
    if outcome.before < high < when:
        sentence = (
            f"The network generalised between {clock}s {outcome.before} and {when}; the forecast range of {span} ends "
            "in between. Record more often to decide."
        )
        return predicted, "does not apply", sentence
    side = "earlier" if when < low else "later"
    sentence = f"The network generalised as forecast, but at {clock} {when}, {side} than the range of {span}."
    return predicted, "no", sentence


def _compare_without_time(outcome: _Outcome, needed: int) -> tuple[str, Agreement, str]:
    """Return prediction, agreement and sentence for a network that should generalise without weight decay."""
    predicted = "generalises"
    if outcome.generalised is not None:
        sentence = (
            f"The network generalised at {outcome.clock} {outcome.generalised}, as forecast; without weight decay no "
            "time was forecast."
        )
        return predicted, "yes", sentence
    if outcome.last < needed:
        return predicted, "does not apply", _too_short(outcome, needed)
    sentence = f"The network did not generalise within {outcome.duration}, although the forecast was that it would."
    return predicted, "no", sentence


def _compare_failure(forecast: Prediction, outcome: _Outcome, needed: int) -> tuple[str, Agreement, str]:
    """Return prediction, agreement and sentence for a network that should not generalise.

    With a weak decay it may still generalise, but only very late: after the latest epoch of a forecast of success.
    """
    clock, predicted, why = outcome.clock, _FORECASTS[forecast.outcome], decide(forecast.chances)[1]
    cause = _CAUSES[why]
    if why == "weak":
        predicted = f"{predicted}, or generalises only after {clock} {needed}"
    if outcome.generalised is not None:
        return predicted, *_judge_success(outcome, needed, why)
    if outcome.memorised is not None and forecast.outcome == "nothing":
        sentence = (
            f"The network memorised at {clock} {outcome.memorised}, although the forecast was that it would not "
            f"because {cause}."
        )
        return predicted, "no", sentence
    if outcome.last < needed:
        return predicted, "does not apply", _too_short(outcome, needed)
    if forecast.outcome == "nothing":
        sentence = f"The training pairs were not learned within {outcome.duration}, as forecast: {cause}."
        return predicted, "yes", sentence
    if outcome.memorised is None:
        sentence = f"The run ended at {clock} {outcome.last}, before the training pairs were memorised."
        return predicted, "does not apply", sentence
    sentence = (
        f"The network memorised at {clock} {outcome.memorised} and did not generalise within {outcome.duration}, "
        f"as forecast: {cause}."
    )
    return predicted, "yes", sentence


def _judge_success(outcome: _Outcome, needed: int, why: str) -> tuple[Agreement, str]:
    """Return agreement and sentence for a network that generalised against the forecast, or late as forecast."""
    clock, when, cause = outcome.clock, outcome.generalised, _CAUSES[why]
    if why != "weak":
        sentence = (
            f"The network generalised at {clock} {when}, although the forecast was that it would not because {cause}."
        )
        return "no", sentence
    if when is not None and when > needed:
        return "yes", f"The network generalised only at {clock} {when}, very late as forecast: {cause}."
    sentence = (
        f"The network generalised at {clock} {when}, although the forecast was that it would not, or only after "
        f"{clock} {needed}, because {cause}."
    )
    return "no", sentence
