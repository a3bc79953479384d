"""Compare the forecast made from the spec alone with what the run did."""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from firstlight.records import Agreement, RunRecord, Table, TheoryVerdict, first_row
from firstlight.theories.li2._coverage import epochs_to_test_spec, predict_spec, reason_without_forecast
from firstlight.theories.li2._forecast import Forecast, odds
from firstlight.theories.li2._predict import decide
from firstlight.theories.li2._stages import lasting_row

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

    A network that is forecast to generalise should do so within the 80 % interval of the forecast. A forecast of
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
    forecast = predict_spec(record.spec, within_steps=False)
    compare = _compare_time if forecast.outcome == "grokking" else _compare_failure
    predicted, agrees, sentence = compare(forecast, outcome, epochs_to_test_spec(record.spec))
    known = "; a run of this setting was in the fit" if forecast.fitted else ""
    return TheoryVerdict(
        theory="li2",
        predicted=f"{predicted} (probability {odds(forecast.probability)}{known})",
        measured=outcome.words,
        agrees=agrees,
        sentence=sentence,
        look_at=shown,
    )


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


def _compare_time(forecast: Forecast, outcome: _Outcome, needed: int) -> tuple[str, Agreement, str]:
    """Return prediction, agreement and sentence for a network that should generalise."""
    if not isfinite(forecast.epochs):
        return _compare_without_time(outcome, needed)
    clock, when = outcome.clock, outcome.generalised
    low, high = round(forecast.generalises.low), round(forecast.generalises.high)
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


def _compare_failure(forecast: Forecast, outcome: _Outcome, needed: int) -> tuple[str, Agreement, str]:
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
