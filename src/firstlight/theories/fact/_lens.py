"""FACT's view of a run: how far each layer's features are what its loss asks for, and whether they can be yet."""

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from firstlight import features, flow
from firstlight.models import activation
from firstlight.records import FigureData, RunRecord, RunSpec, TheoryVerdict, figure
from firstlight.theories.fact._observe import observe_alignments

MEASURES = {"fact": "FACT", "symmetrised": "√FACT·FACTᵀ", "agop": "√AGOP", "enfa": "√eNFA"}

TITLE = "Features against what the loss asks for"

ALIGNED = 0.95
"""The alignment from which a layer's features count as FACT.

The recipe of the paper's Table 2 reaches 0.967 at a decay budget of 1.6 and 0.993 at 4.8. A run at rest with a budget
of at least `ENOUGH` lies between them or above.
"""

ENOUGH = 3.0
"""The decay budget from which FACT must hold: the initial features then keep a share of e⁻⁶ in a layer's features."""

AT_REST = 0.05
"""A run is at rest if its loss and the sizes of FACT change by at most this share over a decay budget of 1.

Gradient flow draws the features towards the symmetric part of FACT: over a budget of 1 the difference shrinks by e⁻².
An alignment below `ALIGNED` with a symmetric FACT is a difference of at least √(1 − 0.95²) = 0.31 of the features'
norm, so the features move by 0.27 of their norm. The limit is a fifth of this.
"""


def budget(spec: RunSpec, step: int) -> float:
    """Return wd·Σlr/(1 − momentum) after a number of steps; NaN for Adam and Muon with decay in the gradient.

    >>> from firstlight.records import spec_from_mapping
    >>> optimizer = {"name": "sgd", "learning_rate": 0.1, "weight_decay": 0.01}
    >>> round(budget(spec_from_mapping({"optimizer": optimizer}), 500), 6)
    0.5
    """
    return _decay_budget(spec, float(_multipliers(spec, step).sum()))


def _multipliers(spec: RunSpec, step: int) -> np.ndarray:
    """Return the schedule's multiplier of the learning rate at each of the first steps."""
    at = jax.vmap(lambda i: flow.schedule(spec.optimizer.schedule, i, spec.steps))
    return np.asarray(at(jnp.arange(step)), dtype=float)


def _decay_budget(spec: RunSpec, multipliers: float) -> float:
    """Return the decay budget after steps whose multipliers have this sum."""
    optimizer = spec.optimizer
    if flow.is_coupled(optimizer) and optimizer.name != "sgd":
        return math.nan
    momentum = (optimizer.momentum or 0.0) if optimizer.name == "sgd" else 0.0
    return features.decay_budget([optimizer.learning_rate * multipliers], optimizer.weight_decay, momentum)


def summarise(record: RunRecord) -> Mapping[str, Any]:
    """Return the last alignments of every layer, the decay budget, and in words whether FACT can hold."""
    layers = _layers(record)
    if not layers or not len(record.table):
        return {"story": "nothing was recorded"}
    last = {
        layer: {
            shown: _finite(record.table[f"fact.{layer}.{key}"][-1])
            for key, shown in MEASURES.items()
            if f"fact.{layer}.{key}" in record.table
        }
        for layer in layers
    }
    decay = record.spec.optimizer.weight_decay
    spent = budget(record.spec, int(record.table.step[-1]))
    size = {layer: _finite(record.table[f"fact.{layer}.size"][-1] / decay) if decay else None for layer in layers}
    alignments = ", ".join(f"{layer} {_shown(last[layer]['FACT'])}" for layer in layers)
    outlook = _reason(record.spec, spent) or _long(spent)
    return {
        "alignments": last,
        "size": size,
        "budget": _finite(spent),
        "story": f"FACT aligns with the weights' features by {alignments}. {outlook}",
    }


def _layers(record: RunRecord) -> list[str]:
    return [c.removeprefix("fact.").removesuffix(".fact") for c in record.table.columns if c.endswith(".fact")]


def _finite(value: Any) -> float | None:
    """Return a number, or None for a quantity that is not defined (all weights zero, no decay)."""
    return float(value) if np.isfinite(value) else None


def _shown(alignment: float | None) -> str:
    return "undefined" if alignment is None else f"{alignment:.3f}"


def _long(spent: float) -> str:
    return f"The decay budget is {spent:.3g}: long enough for the features to become FACT if the loss is at rest."


def _reason(spec: RunSpec, spent: float) -> str:
    """Return '' if the run should end with features equal to FACT, else the reason why not."""
    optimizer = spec.optimizer
    if optimizer.weight_decay == 0:
        return "Without weight decay FACT says nothing about a converged network."
    if not flow.is_coupled(optimizer):
        return f"The decoupled decay of {optimizer.title} has other resting points, so FACT does not describe this run."
    if math.isnan(spent):
        return (
            f"FACT describes weights at rest. {optimizer.title} gives each weight its own learning rate, so no "
            "decay budget says how far this run came."
        )
    if spent < 1:
        return f"The decay budget is {spent:.2g}, below 1: too short for the features to become FACT."
    return ""


def figure_data(record: RunRecord) -> tuple[FigureData, ...]:
    """Return one panel per layer with all measures over time."""
    time, panels = figure.time_axis(record.spec), []
    for layer in _layers(record):
        series = [
            figure.Series(shown, np.asarray(record.table.step), record.table[f"fact.{layer}.{key}"])
            for key, shown in MEASURES.items()
            if f"fact.{layer}.{key}" in record.table
        ]
        panels.append(figure.curves(series, x=time, y="agreement (1 = equal)", title=f"Layer {layer}"))
    if not panels or not len(record.table):
        return ()
    caption = (
        "Each curve compares the features in a layer's weights with what a formula says they should be: 1 means equal. "
        "FACT, and its symmetric version √FACT·FACTᵀ, must reach 1 when training with weight decay comes to rest; "
        "√AGOP and √eNFA are earlier rules of thumb, which need not."
    )
    return (figure.panels(panels, columns=2, title=TITLE, caption=caption),)


def verdict(record: RunRecord) -> TheoryVerdict | None:
    """Compare the last alignment of every layer with 1, the value at a critical point (Theorem 3.1).

    The prediction needs decay in the gradient, a decay budget of at least 3, and weights at rest: at every other point
    features and FACT differ by Wᵀ∇L/λ, with L the loss with decay. It needs a differentiable loss too. A unit of a
    piecewise linear network may rest on its kink, where the theorem is silent; such a network cannot contradict it.
    """
    layers = _layers(record)
    if not layers or not len(record.table):
        return None
    last = {layer: float(record.table[f"fact.{layer}.fact"][-1]) for layer in layers}
    defined = {layer: value for layer, value in last.items() if np.isfinite(value)}
    spent = budget(record.spec, int(record.table.step[-1]))
    measured = ", ".join(f"{value:.3f} in layer {layer}" for layer, value in defined.items())
    if reason := _reason(record.spec, spent) or _no_prediction(record.spec, spent, defined) or _in_motion(record):
        # The resting points of Adam with decay in the gradient are those of the theorem; only the time is not known.
        predicted = (
            "agreement 1 in every layer, at rest" if math.isnan(spent) and defined and _decays(record.spec) else ""
        )
        return TheoryVerdict(
            theory="fact",
            predicted=predicted,
            measured=measured,
            agrees="does not apply",
            sentence=reason,
            look_at=TITLE,
        )
    worst = min(defined, key=lambda layer: defined[layer])
    agrees = defined[worst] >= ALIGNED
    if not agrees and _has_kink(record.spec):
        reason = (
            f"The run is at rest and layer {worst} is not what its loss asks for. Hidden units with the activation "
            f"{record.spec.model.activation} may rest on its kink, where the loss has no derivative."
        )
        return TheoryVerdict(theory="fact", measured=measured, agrees="does not apply", sentence=reason, look_at=TITLE)
    sentence = (
        "The run is at rest, and every layer's features are what its loss asks for."
        if agrees
        else f"The run is at rest, but layer {worst} is not what its loss asks for."
    )
    return TheoryVerdict(
        theory="fact",
        predicted=f"alignment of at least {ALIGNED:g} in every layer (1 at rest)",
        measured=measured,
        agrees="yes" if agrees else "no",
        sentence=sentence,
        look_at=TITLE,
    )


def _decays(spec: RunSpec) -> bool:
    return spec.optimizer.weight_decay > 0 and flow.is_coupled(spec.optimizer)


def _no_prediction(spec: RunSpec, spent: float, defined: Mapping[str, float]) -> str:
    """Return '' if the alignments of this run can be judged, else the reason why not."""
    if spent < ENOUGH:
        return f"The decay budget is {spent:.2g}; only from {ENOUGH:g} on must the features have become FACT."
    if not defined:
        return "All weights have decayed to zero or the training diverged, so no layer has features to compare."
    if any(rate != 1 for rate in spec.optimizer.layer_rates.values()):
        return "Layers with learning rates of their own have decay budgets of their own, which are not known here."
    if spec.optimizer.batch_size and spec.optimizer.schedule.shape == "constant":
        return "Mini-batches at a constant learning rate keep the weights moving, so no single step shows the average."
    return ""


def _in_motion(record: RunRecord) -> str:
    """Return '' if the loss and the sizes of FACT are at rest over the last decay budget of 1, else the reason."""
    table = record.table
    steps = np.asarray(table.step, int)
    sums = np.concatenate([[0.0], np.cumsum(_multipliers(record.spec, int(steps[-1])))])[steps]
    spent = np.array([_decay_budget(record.spec, float(multipliers)) for multipliers in sums])
    earlier = np.flatnonzero(spent <= spent[-1] - 1)
    if not len(earlier) or "train_loss" not in table:
        return (
            "Too few steps were recorded to tell whether the weights are at rest, and FACT describes weights at rest."
        )
    columns = ["train_loss", *(c for c in table.columns if c.startswith("fact.") and c.endswith(".size"))]
    last_stretch = np.stack([np.asarray(table[c], float)[earlier[-1] :] for c in columns])
    last_stretch = last_stretch[np.isfinite(last_stretch[:, -1])]
    if not last_stretch.size or not np.isfinite(last_stretch).all():
        return "The loss was not finite near the end, so nothing tells whether the weights are at rest."
    scale = np.maximum(np.abs(last_stretch[:, -1:]), np.finfo(np.float32).tiny)
    change = float(np.max(np.abs(last_stretch - last_stretch[:, -1:]) / scale))
    if change <= AT_REST:
        return ""
    return (
        f"The weights were still moving: the loss or the size of FACT changed by {change:.2g} of its last value over "
        "the last decay budget of 1. FACT describes weights at rest."
    )


def _has_kink(spec: RunSpec) -> bool:
    """Return whether the activation is piecewise linear and not a polynomial."""
    sigma = activation(spec.model.activation)
    return sigma.homogeneity == 1 and sigma.polynomial is None


LENSES: tuple[flow.Lens, ...] = (
    flow.Lens(
        name="fact",
        title="Features at convergence",
        observables=(observe_alignments,),
        summarise=summarise,
        figure_data=figure_data,
        verdict=verdict,
    ),
)
"""The lens that `runs` collects."""
