"""The lens of the zero-loss set: when it applies, the summary of a run, its figures, and the verdict on the norm."""

from collections.abc import Mapping
from math import exp, isfinite
from typing import Any

import numpy as np

from firstlight import flow
from firstlight.records import Agreement, FigureData, RunRecord, RunSpec, TheoryVerdict, figure
from firstlight.records._learned import first_row
from firstlight.theories.manifold._observe import MEASURED_COLUMNS, observe

FIGURE = "Training seen from the zero-loss set"

VISIBLE = 0.02
"""Largest relative fall of the squared norm, by the bound of `_norm_floor`, below which a run is too short to judge."""


def reason_not_applicable(spec: RunSpec) -> str:
    """Return '' if the lens applies to a spec, else the reason: cross-entropy is zero nowhere."""
    if spec.loss.kind == "cross_entropy":
        return "cross-entropy has no zero-loss set; train with loss.kind = 'mse'"
    return ""


def _has_rows(record: RunRecord) -> bool:
    return "manifold.norm" in record.table and len(record.table) > 0


def _measured(record: RunRecord) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the measured steps and their columns."""
    rows = np.flatnonzero(np.isfinite(record.table["manifold.distance"]))
    return np.asarray(record.table.step)[rows], {name: record.table[name][rows] for name in MEASURED_COLUMNS}


def summarise(record: RunRecord) -> Mapping[str, Any]:
    """Return when the run memorised, how the norm changed, the distance to the zero-loss set, and `story`."""
    if not _has_rows(record):
        return {"story": "nothing was recorded"}
    steps, norm = np.asarray(record.table.step), record.table["manifold.norm"]
    start = first_row(record.table, "train_accuracy")
    at, columns = _measured(record)
    values: dict[str, Any] = {
        "memorised_at": None if start is None else int(steps[start]),
        "norm_first": float(norm[0]),
        "norm_at_memorisation": None if start is None else float(norm[start]),
        "norm_last": float(norm[-1]),
        "weights": _weights(record),
    }
    if len(at):
        values["measured_at"] = int(at[-1])
        values |= {name.removeprefix("manifold."): float(column[-1]) for name, column in columns.items()}
    return {**values, "story": _story(record, values)}


def _weights(record: RunRecord) -> str:
    return "V" if record.table["manifold.by_V"][0] else "all weights"


def _story(record: RunRecord, values: Mapping[str, Any]) -> str:
    clock = record.spec.clock
    if values["memorised_at"] is None:
        story = (
            f"The squared norm of the weights went from {values['norm_first']:.3g} to {values['norm_last']:.3g}; the "
            "training rows were not memorised"
        )
    else:
        story = (
            f"Memorised at {clock} {values['memorised_at']}; from there the squared norm of the weights went from "
            f"{values['norm_at_memorisation']:.3g} to {values['norm_last']:.3g}"
        )
    if "distance" in values:
        subject = "the output weights" if values["weights"] == "V" else "the weights"
        story += (
            f"; at {clock} {values['measured_at']} {subject} were {values['distance']:.3g} away from an exact fit of "
            "every training row"
        )
    if values.get("measured_at", 0) > 0:
        story += (
            f", {values['tangential']:.0%} of the last update ran along the zero-loss set, with cosine "
            f"{values['descent']:.2f} to the direction that lowers the norm"
        )
    return f"{story}. {_theory(record.spec)}"


def _theory(spec: RunSpec) -> str:
    """Return the claim of the theory for the optimizer of a run, in a sentence."""
    optimizer = spec.optimizer
    if optimizer.weight_decay == 0:
        return "Without weight decay nothing drives a run along the zero-loss set."
    if not flow.is_coupled(optimizer):
        return (
            f"The decoupled decay of {optimizer.name} does not minimise the norm, so the theory does not describe "
            "this run."
        )
    if optimizer.name == "sgd":
        return (
            "This is gradient descent with weight decay in the loss, the case of the theory: share and cosine tend to "
            "1 as the decay tends to 0."
        )
    return f"{optimizer.name} rescales each gradient: its minima are those of the theory, its path is not."


def verdict(record: RunRecord) -> TheoryVerdict | None:
    """Compare the squared norm after memorisation with the theory; None if no finite norm was recorded.

    Under gradient descent with weight decay in the loss the norm falls along the zero-loss set, no faster than by
    decay alone. For other optimizers the theory makes no claim about the path.
    """
    if not _has_rows(record) or not np.isfinite(record.table["manifold.norm"]).all():
        return None
    norm = record.table["manifold.norm"]
    start = first_row(record.table, "train_accuracy")
    measured = f"squared norm {norm[0 if start is None else start]:.4g}, then {norm[-1]:.4g}"
    predicted, agrees, sentence = _judge(record, start)
    return TheoryVerdict(
        theory="manifold", predicted=predicted, measured=measured, agrees=agrees, sentence=sentence, look_at=FIGURE
    )


def _judge(record: RunRecord, start: int | None) -> tuple[str, Agreement, str]:
    """Return prediction, agreement and sentence, given the row of memorisation."""
    spec, norm, steps = record.spec, record.table["manifold.norm"], np.asarray(record.table.step)
    optimizer = spec.optimizer
    if optimizer.weight_decay == 0 or not flow.is_coupled(optimizer):
        return "", "does not apply", _theory(spec)
    if optimizer.name != "sgd":
        sentence = (
            f"With {optimizer.name} the theory says where training ends, at a least norm among exact fits, but not by "
            "which path, so a finite run cannot test it."
        )
        return "ends at a least norm among exact fits", "does not apply", sentence
    if start is None:
        sentence = "The training rows were not memorised, and the theory describes training after memorisation."
        return "", "does not apply", sentence
    clock, high, last = spec.clock, float(norm[start]), float(norm[-1])
    low = _norm_floor(high, optimizer, int(steps[-1] - steps[start]))
    if high - low <= VISIBLE * high:
        sentence = (
            f"The run ended too soon after memorisation at {clock} {steps[start]}: weight decay could change the "
            f"squared norm by at most {1 - low / high:.1%}."
        )
        return "", "does not apply", sentence
    predicted = f"squared norm falls from {high:.4g}, to no less than {low:.4g}"
    if last >= high:
        sentence = (
            f"The squared norm did not fall after memorisation at {clock} {steps[start]}: it went from {high:.4g} to "
            f"{last:.4g}."
        )
        return predicted, "no", sentence
    if last < low:
        sentence = (
            f"The squared norm fell from {high:.4g} to {last:.4g} after memorisation, faster than weight decay alone "
            f"would lower it, to {low:.4g}."
        )
        return predicted, "no", sentence
    sentence = (
        f"The squared norm fell from {high:.4g} at memorisation to {last:.4g}, and not below the {low:.4g} that weight "
        "decay alone would reach."
    )
    return predicted, "yes", sentence


def _norm_floor(norm: float, optimizer: Any, steps: int) -> float:
    """Return the squared norm that decay alone reaches: ‖θ‖² exp(−2·rate·wd·steps), which the flow along 𝒵 exceeds."""
    rate = optimizer.learning_rate / (1 - (optimizer.momentum or 0.0))
    exponent = 2 * rate * optimizer.weight_decay * steps * max(1.0, *optimizer.layer_rates.values(), 1.0)
    return norm * exp(-exponent) if isfinite(exponent) else 0.0


def figure_data(record: RunRecord) -> tuple[FigureData, ...]:
    """Return the norm at every recorded step, and distance, share and cosine at the measured steps."""
    if not _has_rows(record):
        return ()
    x, at, columns = figure.time_axis(record.spec), *_measured(record)
    norm = figure.Series("all weights", record.table.step, record.table["manifold.norm"])
    panels = [figure.curves([norm], x=x, y="squared norm", title="Norm")]
    if len(at):
        distance = figure.Series("distance", at, np.maximum(columns["manifold.distance"], 1e-12))
        y, title = figure.Axis("distance", scale="log"), f"Distance to the zero-loss set ({_weights(record)})"
        panels.append(figure.curves([distance], x=x, y=y, title=title))
    if len(at) > 1:
        shares = [
            figure.Series("share of the update along the set", at[1:], columns["manifold.tangential"][1:]),
            figure.Series("cosine with lowering the norm", at[1:], columns["manifold.descent"][1:]),
        ]
        panels.append(figure.curves(shares, x=x, y="share, cosine", title="Along the zero-loss set"))
    caption = (
        "Share and cosine are 1 after memorisation in the limit of the theory: gradient descent with a vanishing "
        "weight decay in the loss."
    )
    return (figure.panels(panels, columns=3, title=FIGURE, caption=caption),)


LENSES: tuple[flow.Lens, ...] = (
    flow.Lens(
        name="manifold",
        title="Norm minimisation on the zero-loss set",
        observables=(observe,),
        reason_not_applicable=reason_not_applicable,
        summarise=summarise,
        figure_data=figure_data,
        verdict=verdict,
    ),
)
