"""AGF's view of a run: is the loss a staircase, which hidden units are active, and when does the next one wake?"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.flow import Lens
from firstlight.models import activation
from firstlight.records import FigureData, RunRecord, RunSpec, TheoryVerdict, figure
from firstlight.theories.agf._observe import observe_units

TITLE = "Plateaus and falls of the loss"

SMALL = 0.1
"""The largest norm of a hidden unit at the start that still counts as a small initialisation."""

MOVING = 0.25
"""A staircase falls during less than this share of the time."""

FLAT = 0.02
"""A loss that falls by less than this share of its first value has not left its first plateau."""

_ROWS = 10
"""With fewer recorded rows a staircase looks like a slide."""


def reason_not_applicable(spec: RunSpec) -> str:
    """Return '' if AGF's quantities can be measured in a run, else the reason why not."""
    if spec.loss.kind != "mse":
        return "AGF is about the squared error; train with loss.kind = 'mse'"
    if spec.model.kind != "two_layer" or spec.model.bias:
        return "it needs a two_layer model without bias"
    if float(activation(spec.model.activation)(0.0)) != 0.0:
        return f"it needs an activation with σ(0) = 0, and {spec.model.activation} is not one"
    return ""


def falls(times: Any, loss: Any, share: float = 0.05) -> tuple[list[float], float]:
    """Return the times at which the loss falls, and the share of all time during which it falls.

    In a fall the loss goes down faster than on average, and by at least a `share` of its whole way. The time of a fall
    is where it has gone half of its own way.

    >>> t = np.arange(100.0)
    >>> falls(t, np.where(t < 50, 1.0, 0.0))
    ([50.0], 0.01...)
    """
    t, L = np.asarray(times, float), np.asarray(loss, float)
    if len(t) < 3 or not np.isfinite(L).all() or L[0] <= L.min():
        return [], 1.0
    rate = -np.diff(L) / np.diff(t)
    moving = rate > (L[0] - L.min()) / (t[-1] - t[0])
    edges = np.flatnonzero(np.diff(np.concatenate([[0], moving.astype(int), [0]])))
    middles = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if L[start] - L[end] >= share * (L[0] - L.min()):
            middle = (L[start] + L[end]) / 2
            middles.append(float(t[start:][np.argmax(L[start:] <= middle)]))
    return middles, float(np.diff(t)[moving].sum() / (t[-1] - t[0]))


def summarise(record: RunRecord) -> Mapping[str, Any]:
    """Return the falls of the loss, the active hidden units, and when the next one should wake."""
    table = record.table
    if "agf.wait" not in table or not len(table):
        return {"story": "nothing was recorded"}
    steps = np.asarray(table.step)
    jumps, motion = falls(steps, table["train_loss"])
    wait, optimizer = float(table["agf.wait"][-1]), record.spec.optimizer
    following = optimizer.name == "sgd" and optimizer.batch_size is None
    # Momentum μ makes plain gradient descent faster by 1/(1 − μ).
    rate = optimizer.learning_rate / (1 - (getattr(optimizer, "momentum", 0.0) or 0.0))
    due = int(steps[-1] + wait / rate) if following and np.isfinite(wait) else None
    values = {
        "jumps": jumps,
        "in_motion": motion,
        "is_staircase": bool(jumps) and motion < MOVING,
        "active_first": int(table["agf.active"][0]),
        "active_last": int(table["agf.active"][-1]),
        "wait": wait,
        "next_step": due,
    }
    return {**values, "story": _story(values, following, record.spec.clock)}


def _story(values: Mapping[str, Any], following: bool, clock: str) -> str:
    if values["active_first"]:
        start = f"{values['active_first']} hidden units start with a norm above 1: the initialisation is not small"
    else:
        start = "All hidden units start dormant"
    shape = "a staircase" if values["is_staircase"] else "no staircase"
    story = f"{start}. The loss is {shape}: {len(values['jumps'])} falls, moving {values['in_motion']:.0%} of the time."
    story += f" {values['active_last']} hidden units are active at the end"
    if values["next_step"] is not None:
        return f"{story}; at its present growth the next one wakes near {clock} {values['next_step']}."
    if not following:
        return f"{story}. AGF times full-batch gradient descent only."
    return f"{story}; no dormant hidden unit is growing."


def figure_data(record: RunRecord) -> tuple[FigureData, ...]:
    """Return the loss with its falls marked, and the number of active hidden units."""
    if "agf.wait" not in record.table or not len(record.table):
        return ()
    steps, loss, time = np.asarray(record.table.step), record.table["train_loss"], figure.time_axis(record.spec)
    jumps, _ = falls(steps, loss)
    marks = {f"fall {i + 1}": at for i, at in enumerate(jumps[:8])}
    active = [figure.Series("active", steps, record.table["agf.active"])]
    panels = [
        figure.curves([figure.Series("training loss", steps, loss)], x=time, y="loss", title="Loss", vertical=marks),
        figure.curves(active, x=time, y="hidden units", title="Active hidden units"),
    ]
    return (figure.panels(panels, title=TITLE),)


def verdict(record: RunRecord) -> TheoryVerdict | None:
    """Compare a run with AGF's prediction that the loss is a staircase of long plateaus and short falls.

    AGF predicts this for full-batch gradient descent from a small initialisation. A loss that has not yet fallen
    agrees as long as every hidden unit is dormant.
    """
    table = record.table
    if "agf.active" not in table or "train_loss" not in table or not len(table):
        return None
    if reason := _no_prediction(record):
        return TheoryVerdict(theory="agf", agrees="does not apply", sentence=reason)
    loss, active, clock = np.asarray(table["train_loss"], float), np.asarray(table["agf.active"]), record.spec.clock
    fallen = float(loss[0] - loss.min()) / max(float(loss[0]), np.finfo(float).tiny)
    if fallen < FLAT:
        return _on_first_plateau(loss[0], fallen, int(active[-1]), clock)
    jumps, motion = falls(table.step, loss)
    agrees = bool(jumps) and motion < MOVING
    first = f", the first at {clock} {jumps[0]:g}" if jumps else ""
    sentence = (
        "The loss is a staircase, as AGF predicts from a small initialisation: long plateaus and short falls."
        if agrees
        else "AGF predicts long plateaus and short falls from a small initialisation, but the loss slides down."
    )
    return TheoryVerdict(
        theory="agf",
        predicted=f"the loss moves during less than {MOVING:.0%} of the run",
        measured=f"it moves during {motion:.0%}, in {len(jumps)} falls{first}",
        agrees="yes" if agrees else "no",
        sentence=sentence,
        look_at=TITLE,
    )


def _on_first_plateau(level: float, fallen: float, active: int, clock: str) -> TheoryVerdict:
    sentence = (
        f"The loss waits on its first plateau with every hidden unit dormant, as AGF predicts; train for more {clock}s "
        "to see it fall."
        if not active
        else f"AGF predicts a fall when a hidden unit wakes, but {active} woke and the loss did not fall."
    )
    return TheoryVerdict(
        theory="agf",
        predicted=f"the loss stays at {level:.3g} until a hidden unit wakes",
        measured=f"{active} hidden units woke, the loss fell by {fallen:.1%}",
        agrees="no" if active else "yes",
        sentence=sentence,
        look_at=TITLE,
    )


def _no_prediction(record: RunRecord) -> str:
    """Return '' if AGF predicts the shape of this loss curve, else the reason why not."""
    optimizer, table = record.spec.optimizer, record.table
    if optimizer.name != "sgd":
        return f"AGF describes gradient flow, and {optimizer.name} is not gradient flow: it rescales each gradient."
    if optimizer.batch_size:
        return "AGF describes full-batch gradient descent, and this run sees mini-batches."
    if optimizer.layer_rates:
        return "AGF describes gradient descent with one learning rate for all layers."
    if optimizer.weight_decay:
        return "AGF describes gradient descent without weight decay."
    if table["agf.active"][0] > 0 or not table["agf.largest_dormant"][0] <= SMALL:
        return f"AGF describes small initialisations, and here hidden units start with a norm above {SMALL:g}."
    if not np.isfinite(np.asarray(table["train_loss"], float)).all():
        return "The training diverged, so there is no loss curve to compare."
    if len(table) < _ROWS:
        return f"Fewer than {_ROWS} losses were recorded, too few to see plateaus."
    return ""


LENSES: tuple[Lens, ...] = (
    Lens(
        name="agf",
        title="Staircases and the next hidden unit to wake",
        observables=(observe_units,),
        reason_not_applicable=reason_not_applicable,
        summarise=summarise,
        figure_data=figure_data,
        verdict=verdict,
    ),
)
"""The lens that `runs` collects."""
