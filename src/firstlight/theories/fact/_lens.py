"""A training run seen by FACT: how each layer's features align with what its loss asks for, and if they can yet."""

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from firstlight import features, flow
from firstlight.models import named_parameters
from firstlight.records import FigureData, RunRecord, RunSpec, figure
from firstlight.theories.fact._networks import output_cotangents, weight_matrices
from firstlight.theories.fact._thin import Thin

MEASURES = {"fact": "FACT", "symmetrised": "√FACT·FACTᵀ", "agop": "√AGOP", "enfa": "√eNFA"}

LARGEST = 512
"""Roots are taken of layers whose smaller side is at most this: they cost its cube, whatever the other side."""


def observe(ctx: flow.Context) -> dict[str, Array]:
    """Pearson's correlation of every measure with WWᵀ, per layer, and ⟨λ·FACT, WWᵀ⟩/‖WWᵀ‖².

    Alignments do not depend on λ, which an observable does not know; AGOP is that of one random ±1 projection of
    the outputs per sample, without bias.
    """
    gradients = named_parameters(ctx.gradients)
    outputs, pull = output_cotangents(ctx.model, ctx.train_inputs)
    (deltas,) = pull(jax.grad(lambda o: flow.objective(o, ctx.train_targets, ctx.loss))(outputs))
    signs = jax.random.rademacher(jax.random.fold_in(jax.random.key(0), ctx.step), outputs.shape, outputs.dtype)
    (slopes,) = pull(signs)
    values: dict[str, Array] = {}
    for (name, W), delta, slope in zip(weight_matrices(ctx.model).items(), deltas, slopes, strict=True):
        for key, value in _aligned(W, gradients[name], delta, slope).items():
            values[f"fact.{name}.{key}"] = value
    return values


def _aligned(
    W: Float[Array, "d K"], G: Float[Array, "d K"], delta: Float[Array, "n K"], slope: Float[Array, "n K"]
) -> dict[str, Array]:
    """The numbers of one layer, its matrices written in the smaller of its two sides' coordinates.

    All of them live in the span of W's columns: with W = QT they are QAQᵀ, or QB where they are not symmetric.
    """
    Q, T = jnp.linalg.qr(W) if W.shape[0] > W.shape[1] else (None, W)
    nfm = Thin(features.nfm(T), Q)
    unit = Thin(-T @ G.T, Q, one_sided=True)  # FACT with λ = 1
    values = {"fact": unit.pearson(nfm), "size": unit.inner(nfm) / nfm.inner(nfm)}
    if len(T) <= LARGEST:
        values["symmetrised"] = Thin(features.symmetrised(unit.matrix), Q).pearson(nfm)
        values["agop"] = Thin(_root(slope @ T.T), Q).pearson(nfm)
        # Gradients of fitted samples are tiny; their scale, which alignment does not see, is taken out first.
        scaled = delta / jnp.maximum(jnp.max(jnp.abs(delta)), jnp.finfo(delta.dtype).tiny)
        values["enfa"] = Thin(_root(scaled @ T.T), Q).pearson(nfm)
    return values


def _root(rows: Float[Array, "n r"]) -> Float[Array, "r r"]:
    return features.matrix_power(features.average_outer_product(rows), 0.5)


def _layers(record: RunRecord) -> list[str]:
    return [c.removeprefix("fact.").removesuffix(".fact") for c in record.table.columns if c.endswith(".fact")]


def budget(spec: RunSpec, step: int) -> float:
    """wd·Σlr/(1 − momentum) after a number of steps; NaN where Adam or Muon rescale a decay in the gradient.

    >>> from firstlight.records import spec_from_mapping
    >>> optimizer = {"name": "sgd", "learning_rate": 0.1, "weight_decay": 0.01}
    >>> round(budget(spec_from_mapping({"optimizer": optimizer}), 500), 6)
    0.5
    """
    optimizer = spec.optimizer
    if flow.is_coupled(optimizer) and optimizer.name != "sgd":
        return math.nan
    at = jax.vmap(lambda i: flow.schedule(optimizer.schedule, i, spec.steps))
    shape = np.asarray(at(jnp.arange(step)), dtype=float)
    momentum = (optimizer.momentum or 0.0) if optimizer.name == "sgd" else 0.0
    return features.decay_budget([optimizer.learning_rate * float(shape.sum())], optimizer.weight_decay, momentum)


def summarise(record: RunRecord) -> Mapping[str, Any]:
    """The last alignments of every layer, the budget, and in words whether FACT can hold."""
    layers = _layers(record)
    if not layers or not len(record.table):
        return {"story": "nothing was recorded"}
    last = {
        layer: {
            shown: float(record.table[f"fact.{layer}.{key}"][-1])
            for key, shown in MEASURES.items()
            if f"fact.{layer}.{key}" in record.table
        }
        for layer in layers
    }
    decay = record.spec.optimizer.weight_decay
    spent = budget(record.spec, int(record.table.step[-1]))
    size = {layer: float(record.table[f"fact.{layer}.size"][-1]) / decay if decay else math.nan for layer in layers}
    told = ", ".join(f"{layer} {last[layer]['FACT']:.3f}" for layer in layers)
    return {
        "alignments": last,
        "size": size,
        "budget": spent,
        "story": f"FACT aligns with the weights' features by {told}. {_theory(record.spec, spent)}",
    }


def _theory(spec: RunSpec, spent: float) -> str:
    optimizer = spec.optimizer
    if optimizer.weight_decay == 0:
        return "Without weight decay FACT says nothing of a converged network."
    if not flow.is_coupled(optimizer):
        return f"The decoupled decay of {optimizer.name} has other resting points, so FACT does not describe this run."
    if math.isnan(spent):
        return f"{optimizer.name} gives each weight a step size of its own, so no budget says how far this run came."
    if spent < 1:
        return f"The budget wd·Σlr is {spent:.2g}, below 1: too short for the features to have become FACT."
    return f"The budget wd·Σlr is {spent:.3g}: long enough for the features to have become FACT, were the loss at rest."


def figure_data(record: RunRecord) -> tuple[FigureData, ...]:
    """One panel per layer, all measures over the steps."""
    panels = []
    for layer in _layers(record):
        series = [
            figure.Series(shown, np.asarray(record.table.step), record.table[f"fact.{layer}.{key}"])
            for key, shown in MEASURES.items()
            if f"fact.{layer}.{key}" in record.table
        ]
        panels.append(figure.curves(series, x="step", y="Pearson correlation with WWᵀ", title=layer))
    if not panels or not len(record.table):
        return ()
    caption = "FACT is 1 at a critical point of the decayed loss; the others are ansätze."
    return (figure.panels(panels, columns=2, title="Features against what the loss asks for", caption=caption),)


LENSES: tuple[flow.Lens, ...] = (
    flow.Lens(
        name="fact",
        title="Features at convergence",
        observables=(observe,),
        summarise=summarise,
        figure_data=figure_data,
    ),
)
