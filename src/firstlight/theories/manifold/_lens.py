"""The lens of the zero-loss set: when it applies, the summary of a run, and its figures."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import flow
from firstlight.records import FigureData, RunRecord, RunSpec, figure, first_row
from firstlight.theories.manifold._observe import MEASURED_COLUMNS, observe
from firstlight.theories.manifold._rising import explain_rise
from firstlight.theories.manifold._verdict import FIGURE, has_rows, theory_claim, verdict


def reason_not_applicable(spec: RunSpec) -> str:
    """Return '' if the lens applies to a spec, else the reason: cross-entropy is zero nowhere."""
    if spec.loss.kind == "cross_entropy":
        return "cross-entropy has no zero-loss set; train with loss.kind = 'mse'"
    return ""


def _measured(record: RunRecord) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the measured steps and their columns."""
    rows = np.flatnonzero(np.isfinite(record.table["manifold.distance"]))
    return np.asarray(record.table.step)[rows], {name: record.table[name][rows] for name in MEASURED_COLUMNS}


def summarise(record: RunRecord) -> Mapping[str, Any]:
    """Return when the run memorised, how the norm changed, the distance to the zero-loss set, and `story`."""
    if not has_rows(record):
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
    clock, has_accuracy = record.spec.clock, "train_accuracy" in record.table
    if values["memorised_at"] is None:
        story = (
            f"The squared norm of the weights went from {values['norm_first']:.3g} to {values['norm_last']:.3g}; "
            + ("the training rows were not memorised" if has_accuracy else "no accuracy was recorded")
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
    return f"{story}. {theory_claim(record.spec)}"


def figure_data(record: RunRecord) -> tuple[FigureData, ...]:
    """Return the norm at every recorded step, and distance, share and cosine at the measured steps."""
    if not has_rows(record):
        return ()
    x, at, columns = figure.time_axis(record.spec), *_measured(record)
    norm = figure.Series("all weights", record.table.step, record.table["manifold.norm"])
    panels = [figure.curves([norm], x=x, y="squared norm", title="Norm")]
    if len(at):
        distance = figure.Series("distance", at, np.maximum(columns["manifold.distance"], 1e-12))
        y, title = figure.Axis("distance", scale="log"), f"Distance to the zero-loss set ({_weights(record)})"
        panels.append(figure.curves([distance], x=x, y=y, title=title))
    if len(at) > 1 and record.spec.optimizer.name == "sgd":
        shares = [
            figure.Series("share of the update along the set", at[1:], columns["manifold.tangential"][1:]),
            figure.Series("cosine with lowering the norm", at[1:], columns["manifold.descent"][1:]),
        ]
        panels.append(figure.curves(shares, x=x, y="share, cosine", title="Along the zero-loss set"))
    caption = (
        "The norm measures how large the weights are. The distance says how much they would have to change to fit "
        "every training row exactly, measured a few times; the theory begins where it is zero."
    )
    if len(panels) == 3:
        caption += (
            " Share and cosine are 1 after memorisation in the limit of the theory: gradient descent with a vanishing "
            "weight decay in the loss."
        )
    return (figure.panels(panels, columns=len(panels), title=FIGURE, caption=caption),)


LENSES: tuple[flow.Lens, ...] = (
    flow.Lens(
        name="manifold",
        title="Norm minimisation on the zero-loss set",
        observables=(observe,),
        reason_not_applicable=reason_not_applicable,
        summarise=summarise,
        figure_data=figure_data,
        verdict=lambda record: explain_rise(record, verdict(record)),
    ),
)
