"""AGF's view of a run: when the loss falls, which hidden units are active, and when the next one wakes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.flow import Lens
from firstlight.models import activation
from firstlight.records import FigureData, RunRecord, RunSpec, TheoryVerdict, TwoLayerModel, figure
from firstlight.theories.agf._observe import observe_units

TITLE = "Plateaus and falls of the loss"

FALLEN = 0.05
"""The loss has left its first plateau when it is lower than at the start by this share.

The share does not depend on the length of the run. It is far above the rounding errors of single precision, and below
the first step of a staircase with up to 20 equal steps.
"""

FACTOR = 2.0
"""The first fall agrees within this factor of its predicted time.

AGF's times are exact for a vanishing initialisation α; the corrections are of order 1/|log α|. At the largest α that
`largest_small_norm` accepts, the correction is one half: the fall is seen at half of the predicted time.
"""

SLIDE = 0.25
"""Halfway to its first fall, a loss on a plateau has made at most this part of the fall.

Dormant units grow exponentially or faster. From a small initialisation they have made at most √FALLEN = 0.22 of the
fall by then. A loss that decays from the start, as an exponential or a straight line, has made at least one half.
"""

_ROWS = 10
"""With fewer recorded rows before the predicted fall, a plateau looks like a slide."""


def reason_not_applicable(spec: RunSpec) -> str:
    """Return '' if AGF's quantities can be measured in a run, else the reason why not."""
    if spec.loss.kind != "mse":
        return "AGF is about the squared error; train with loss.kind = 'mse'"
    if spec.model.kind != "two_layer" or spec.model.bias:
        return "it needs a two_layer model without bias"
    sigma = activation(spec.model.activation)
    if float(sigma(0.0)) != 0.0:
        return f"it needs an activation with σ(0) = 0, and {spec.model.activation} is not one"
    if sigma.homogeneity_at_zero is None:
        return f"it needs an activation with a known lowest power at 0, and {spec.model.activation} has none"
    return ""


def largest_small_norm(kappa: float, width: int) -> float:
    """Return the largest norm α of a hidden unit at the start that counts as a small initialisation.

    K dormant units of norm ρ lower the loss by a share of about K·ρ^κ. The loss has fallen by `FALLEN` when ρ is
    (FALLEN/K)^(1/κ). At the returned α, ρ grows that far in a share 1/FACTOR of the wait for norm one.

    **Arguments:**

    - `kappa`: κ ≥ 2, the degree of the utility.
    - `width`: K, the number of hidden units.

    >>> round(largest_small_norm(2, 1), 6), round(largest_small_norm(3, 50), 6)
    (0.05, 0.052632)
    """
    rho = (FALLEN / width) ** (1 / kappa)
    if kappa == 2:
        return rho**FACTOR
    return (FACTOR * (rho ** (2 - kappa) - 1) + 1) ** (1 / (2 - kappa))


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
    wait, reason = float(table["agf.wait"][-1]), _other_clock(record.spec)
    due = int(steps[-1] + wait / _rate(record.spec)) if np.isfinite(wait) and not reason else None
    values = {
        "jumps": jumps,
        "in_motion": motion,
        "active_first": int(table["agf.active"][0]),
        "active_last": int(table["agf.active"][-1]),
        "wait": wait,
        "next_step": due,
    }
    return {**values, "story": _story(values, reason, record.spec.clock)}


def _rate(spec: RunSpec) -> float:
    """Return the time of gradient flow per step; momentum μ makes plain gradient descent faster by 1/(1 − μ)."""
    return spec.optimizer.learning_rate / (1 - (spec.optimizer.momentum or 0.0))


def _story(values: Mapping[str, Any], reason: str, clock: str) -> str:
    if values["active_first"]:
        start = f"{values['active_first']} hidden units start with a norm above 1: the initialisation is not small"
    else:
        start = "All hidden units start dormant"
    count, active = len(values["jumps"]), values["active_last"]
    story = f"{start}. The loss falls {count} time{'s' * (count != 1)}, for {values['in_motion']:.0%} of the time."
    story += f" {active} hidden unit{'s are' if active != 1 else ' is'} active at the end"
    if values["next_step"] is not None:
        return f"{story}; at its present growth the next one wakes near {clock} {values['next_step']}."
    if reason:
        return f"{story}. {reason}"
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
    caption = (
        "AGF watches two things: when the loss falls, and how many hidden units are awake, which means that their "
        "weights have grown to a norm above 1. A dotted line marks the middle of a fall; the scoreboard has its "
        f"beginning, where the loss is {FALLEN:.0%} lower than at the start."
    )
    return (figure.panels(panels, title=TITLE, caption=caption),)


def verdict(record: RunRecord) -> TheoryVerdict | None:
    """Compare the time of the first fall with AGF's wait for the first hidden unit.

    AGF predicts the time for full-batch gradient descent from a small initialisation. Until then the loss stays on its
    first plateau.
    """
    table = record.table
    if not {"agf.active", "agf.wait", "agf.largest_dormant", "train_loss"} <= set(table.columns) or not len(table):
        return None
    steps, loss, clock = np.asarray(table.step, float), np.asarray(table["train_loss"], float), record.spec.clock
    fallen = 1 - loss / loss[0] if loss[0] > 0 else np.zeros_like(loss)
    left = np.flatnonzero(fallen >= FALLEN)
    first = int(left[0]) if len(left) else None
    if reason := _other_clock(record.spec):
        return _not_gradient_flow(record, reason, first)
    if reason := _no_prediction(record):
        return TheoryVerdict(theory="agf", agrees="does not apply", sentence=reason)
    made, due = forecast(steps, steps + np.asarray(table["agf.wait"], float) / _rate(record.spec), first)
    if reason := _too_little(steps, due, first, clock):
        return TheoryVerdict(theory="agf", agrees="does not apply", sentence=reason)
    agrees, sentence = _compare(steps, fallen, due, first, clock)
    when = f"near {clock} {due:.0f} (forecast at {clock} {made:.0f})" if np.isfinite(due) else "never"
    return TheoryVerdict(
        theory="agf",
        predicted=f"first fall {when}",
        measured=f"no fall until {clock} {steps[-1]:.0f}"
        if first is None
        else f"first fall at {clock} {steps[first]:.0f}",
        agrees="yes" if agrees else "no",
        sentence=sentence,
        look_at=TITLE,
    )


def _not_gradient_flow(record: RunRecord, reason: str, first: int | None) -> TheoryVerdict:
    """Return a verdict that does not apply, with the time that plain gradient descent would take beside the run's."""
    wait, clock, steps = float(record.table["agf.wait"][0]), record.spec.clock, record.table.step
    dormant = record.table["agf.active"][0] == 0 and record.table.step[0] == 0
    if record.spec.optimizer.name == "sgd" or first is None or not dormant or not np.isfinite(wait):
        return TheoryVerdict(theory="agf", agrees="does not apply", sentence=reason)
    due = wait / record.spec.optimizer.learning_rate
    return TheoryVerdict(
        theory="agf",
        predicted=f"first fall before {clock} {_round(due)} under plain gradient descent",
        measured=f"first fall at {clock} {int(steps[first])}, under {record.spec.optimizer.title}",
        agrees="does not apply",
        sentence=f"{reason} At the same learning rate, plain gradient descent could wait until {clock} {_round(due)}.",
        look_at=TITLE,
    )


def _round(number: float) -> str:
    """Return a large number with two digits and separators.

    >>> _round(2970094.0)
    '3,000,000'
    """
    digits = max(0, int(np.floor(np.log10(max(number, 1.0)))) - 1)
    return f"{round(number, -digits):,.0f}"


def forecast(steps: np.ndarray, due: np.ndarray, first: int | None) -> tuple[float, float]:
    """Return when the first fall was forecast, and for when.

    At the start the hidden units point in random directions. While they align, their utility grows and the forecasts
    come down: the first forecast is only an upper bound. The forecast that counts is the first that is made after half
    of its own time. If the loss falls before, the last forecast before the fall counts.

    **Arguments:**

    - `steps`: the recorded steps (r,).
    - `due`: step of the next jump as forecast at each recorded step (r,).
    - `first`: row of the first fall; None if the loss does not fall.

    >>> forecast(np.array([0.0, 10, 20, 30]), np.array([90.0, 50, 38, 36]), 3)
    (20.0, 38.0)
    """
    before = len(steps) if first is None else first
    settled = np.flatnonzero(FACTOR * steps[:before] >= due[:before])
    row = int(settled[0]) if len(settled) else before - 1
    return float(steps[row]), float(due[row])


def _too_little(steps: np.ndarray, due: float, first: int | None, clock: str) -> str:
    """Return '' if the run is long enough, and recorded often enough, to see the predicted fall, else the reason."""
    if first is None and not np.isfinite(due):
        return "No dormant hidden unit is growing, so AGF predicts no fall to compare."
    if first is None and steps[-1] < FACTOR * due:
        return (
            f"The loss is still on its first plateau. AGF predicts the first fall near {clock} {due:.0f} within a "
            f"factor of {FACTOR:g}, and the run ends at {clock} {steps[-1]:.0f}."
        )
    if np.count_nonzero(steps < due) < _ROWS:
        return f"Fewer than {_ROWS} losses were recorded before the predicted fall, too few to see a plateau."
    return ""


def _compare(steps: np.ndarray, fallen: np.ndarray, due: float, first: int | None, clock: str) -> tuple[bool, str]:
    """Return whether the first fall agrees with its forecast, and the sentence that says so."""
    if first is None:
        return False, f"AGF predicts a fall near {clock} {due:.0f}, but the loss stays on its first plateau."
    fall = steps[first]
    if not np.isfinite(due):
        return False, f"AGF predicts no fall, since no dormant unit grows, but the loss fell at {clock} {fall:.0f}."
    if fall < due / FACTOR:
        return (
            False,
            f"AGF predicts a plateau until {clock} {due:.0f}, but the loss fell at {clock} {fall:.0f} already.",
        )
    if fall > FACTOR * due:
        return False, f"AGF predicts a fall near {clock} {due:.0f}, but the loss fell only at {clock} {fall:.0f}."
    halfway = fallen[np.searchsorted(steps, fall / 2, side="right") - 1]
    if halfway > SLIDE * FALLEN:
        return False, "AGF predicts a plateau before the first fall, but the loss slides down from the start."
    return True, (
        f"The loss waits on its first plateau and falls at {clock} {fall:.0f}, within a factor of {FACTOR:g} of the "
        f"{clock} {due:.0f} that AGF predicts."
    )


def _other_clock(spec: RunSpec) -> str:
    """Return '' if the optimizer follows gradient flow in the theory's time, else the reason why not."""
    optimizer = spec.optimizer
    if optimizer.name != "sgd":
        return f"AGF describes gradient flow, and {optimizer.title} is not gradient flow: it rescales each gradient."
    if optimizer.batch_size:
        return "AGF describes full-batch gradient descent, and this run sees mini-batches."
    if optimizer.layer_rates:
        return "AGF describes gradient descent with one learning rate for all layers."
    if optimizer.weight_decay:
        return "AGF describes gradient descent without weight decay."
    if optimizer.schedule.shape != "constant" or optimizer.schedule.warmup:
        return "AGF's time is compared at a constant learning rate without warm-up only."
    return ""


def _no_prediction(record: RunRecord) -> str:
    """Return '' if AGF predicts the first fall of this loss curve, else the reason why not."""
    table, loss, model = record.table, np.asarray(record.table["train_loss"], float), record.spec.model
    q = activation(model.activation).homogeneity_at_zero
    if not isinstance(model, TwoLayerModel) or not q:
        return "AGF predicts no time for this network."
    limit = largest_small_norm(1.0 + q, model.width)
    if table["agf.active"][0] > 0 or not table["agf.largest_dormant"][0] <= limit:
        return (
            f"AGF describes small initialisations, and here hidden units start with a norm above {limit:.2g}, the "
            f"largest that is small for {model.width} hidden units."
        )
    if not np.isfinite(loss).all():
        return "The training diverged, so there is no loss curve to compare."
    if table.step[0] != 0 or loss[0] <= 0:
        return "The loss at the start is zero or was not recorded, so there is no first plateau."
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
