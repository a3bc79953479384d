"""Trained networks with more layers: Figure 7, and the order in which layers learn (Section 7)."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from firstlight import features, groups, runs
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_most, below, equals
from firstlight.claims.li2.checks.training import GENERALISED, REASON, lower_bound, minus, spec, train
from firstlight.records import Criterion, figure

SHUFFLED = 0.99
"""Share of labels drawn at random for the null: a network that memorises what has no group structure."""

DISTORTED = 0.95
"""Purity below which a Fourier feature counts as distorted."""


def _measure_depths(setting: Setting) -> Measurement:
    """Train relu networks of two, three and four layers on the task, and on shuffled labels as a null."""
    group, fraction, width, steps = setting.choose(quick=("Z17", 0.85, 128, 1000), paper=("Z31", 0.75, 256, 12_000))
    rate, decay = setting.choose(quick=(3e-3, 1e-3), paper=(1e-3, 1e-3))
    depths, null_steps = (1, 2, 3), steps // 8
    seeds = setting.seeds_or(range(setting.choose(quick=4, paper=8)))
    keys = [(L, noise, seed) for L in depths for noise in (0.0, SHUFFLED) for seed in seeds]
    specs = [
        spec(
            group,
            fraction,
            width,
            null_steps if noise else steps,
            {"learning_rate": rate, "weight_decay": decay},
            seed,
            model={"kind": "deep", "widths": [width] * L, "residual": True},
            task={"group": group, "split": {"fraction": fraction}, "label_noise": noise},
            stop=[] if noise else [GENERALISED],
            recording={"every": 25},
        )
        for L, noise, seed in keys
    ]
    outcomes = train(setting, "li2-figure-7", specs, keep_weights=True)
    known = groups.parse(group)
    data: dict[str, Any] = {}
    curves, nodes = [], []
    for L in depths:
        pick = lambda shuffled, L=L: [  # noqa: E731
            o for (layers, noise, _), o in zip(keys, outcomes, strict=True) if layers == L and bool(noise) == shuffled
        ]
        mine = pick(False)
        data[f"{L + 1} layers"] = {
            "memorised at": [o.record.summary["memorised_at"] for o in mine],
            "generalised at": [o.record.summary["generalised_at"] or steps for o in mine],
            "generalised": [int(o.record.summary["generalised_at"] is not None) for o in mine],
            "purity": [_purity(o, known) for o in mine],
            "purity of the null": [_purity(o, known) for o in pick(True)],
        }
        table = mine[0].record.table
        curves.append(figure.Series(f"{L + 1} layers", np.asarray(table.step), table["test_accuracy"]))
        nodes.append(figure.Series(f"{L + 1} layers", np.arange(known.order), _pure_node(mine[0], known)))
    used = {
        "layers": [L + 1 for L in depths],
        "activation": "relu",
        "residual connections": True,
        "group": group,
        "fraction": fraction,
        "width": width,
        "optimizer": "Adam",
        "learning rate": rate,
        "weight decay": decay,
        "epochs": steps,
        "seeds": len(seeds),
    }
    panels = (
        figure.curves(curves, x="epoch", y="test accuracy", title=f"More layers, seed {seeds[0]}"),
        figure.curves(nodes, x="element g", y="weight a(g)", title="A node of the lowest layer"),
    )
    return Measurement(data, used, seeds, (figure.panels(panels, columns=2, title="Deeper networks"),))


def _purity(outcome: runs.RunOutcome, group: groups.Group) -> float:
    """Return the purity of the lowest layer's nodes, weighted by their squared norms."""
    W = np.asarray(outcome.weights["final"]["weights.0"], float)
    return float(features.node_shares(W) @ features.purity(features.irrep_content(W, group)))


def _pure_node(outcome: runs.RunOutcome, group: groups.Group) -> np.ndarray:
    """Return the first half of the purest node's weights, scaled to unit norm."""
    W = np.asarray(outcome.weights["final"]["weights.0"], float)
    a = W[: group.order, int(np.argmax(features.purity(features.irrep_content(W, group))))]
    return a / np.linalg.norm(a)


def _judge_depths(data: Mapping[str, Any]) -> list[Criterion]:
    """Require later generalisation, a longer delay and purer lowest features than the null, with significance."""
    rows = [
        equals(
            f"networks of {depth} memorise the training pairs",
            f"seeds of {len(facts['memorised at'])}",
            sum(epoch is not None for epoch in facts["memorised at"]),
            len(facts["memorised at"]),
            form="precondition",
        )
        for depth, facts in data.items()
    ]
    late = f"{REASON}; a run that did not generalise counts with its last epoch"
    for (fewer, shallow), (more, deep) in pairwise(data.items()):
        delays = [minus(facts["generalised at"], facts["memorised at"]) for facts in (shallow, deep)]
        rows += [
            above(
                f"training takes longer with {more} than with {fewer}",
                "additional epochs until the held-out pairs are learned",
                lower_bound(minus(deep["generalised at"], shallow["generalised at"])),
                0.0,
                reason=late,
            ),
            above(
                f"grokking is more prominent with {more} than with {fewer}",
                "additional epochs between memorising and generalising",
                lower_bound(minus(delays[1], delays[0])),
                0.0,
                reason=late,
            ),
        ]
    for depth, facts in data.items():
        rows += [
            above(
                f"lowest features are Fourier bases, {depth}",
                "purity of the nodes over that of networks trained on shuffled labels",
                lower_bound(minus(facts["purity"], facts["purity of the null"])),
                0.0,
                reason=REASON,
            ),
            below(
                f"lowest features are distorted, {depth}",
                "purity of the nodes",
                facts["purity"],
                DISTORTED,
                reason="at least 5 % of the weights lie off the main frequency of a node",
            ),
        ]
    return rows


more_layers = Check(_measure_depths, _judge_depths)


def _measure_order(setting: Setting) -> Measurement:
    """Follow the weights of every layer of a plain relu network with three hidden layers."""
    group, fraction, width, seeds = setting.choose(quick=("Z17", 0.85, 128, 4), paper=("Z31", 0.75, 256, 8))
    optimizers: dict[str, tuple[dict[str, Any], int]] = {"Adam": ({"learning_rate": 3e-3, "weight_decay": 1e-3}, 1600)}
    if setting.scale != "quick":
        optimizers["SGD"] = ({"name": "sgd", "learning_rate": 0.5, "weight_decay": 1e-3}, 20_000)
    chosen = setting.seeds_or(range(seeds))
    layers = ("layer 1", "layer 2", "layer 3", "output layer")
    data: dict[str, Any] = {}
    shown = []
    for name, (optimizer, steps) in optimizers.items():
        model = {"kind": "deep", "widths": [width] * 3, "residual": False}
        fields = {"model": model, "recording": {"every": steps // 64}, "snapshots": 65}
        specs = [spec(group, fraction, width, steps, optimizer, seed, **fields) for seed in chosen]
        outcomes = train(setting, "li2-section-7-order", specs, keep_weights=True)
        paths = [_paths(outcome, len(layers)) for outcome in outcomes]
        data[name] = {
            "half of the change at": {
                layer: [_half_time(s, d[:, i]) for s, d in paths] for i, layer in enumerate(layers)
            },
            "done when layer 1 is half done": {
                layer: [_share_done(s, d, i) for s, d in paths] for i, layer in enumerate(layers[1:3], start=1)
            },
            "final test accuracy": [float(o.record.table["test_accuracy"][-1]) for o in outcomes],
        }
        step, distance = paths[0]
        series = [figure.Series(layer, step, distance[:, i] / distance[-1, i]) for i, layer in enumerate(layers)]
        shown.append(figure.curves(series, x="epoch", y="share of the layer's whole change", title=name))
    used = {
        "hidden layers": 3,
        "activation": "relu",
        "group": group,
        "fraction": fraction,
        "width": width,
        "optimizers": list(optimizers),
        "seeds": len(chosen),
    }
    panels = figure.panels(shown, columns=2, title="Which layer changes first") if len(shown) > 1 else shown[0]
    return Measurement(data, used, chosen, (panels,))


def _paths(outcome: runs.RunOutcome, layers: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the recorded epochs and the cosine distance of each layer's weights from their start."""
    steps = sorted(int(name.removeprefix("step-")) for name in outcome.weights if name.startswith("step-"))
    weights = [[np.asarray(outcome.weights[f"step-{s}"][f"weights.{i}"], float) for i in range(layers)] for s in steps]
    distance = [
        [1 - float(features.cosine(W, start)) for W, start in zip(at, weights[0], strict=True)] for at in weights
    ]
    return np.array(steps, float), np.array(distance)


def _half_time(step: np.ndarray, distance: np.ndarray) -> float:
    """Return the epoch at which half of the final distance is reached, interpolated."""
    i = int(np.argmax(distance >= 0.5 * distance[-1]))
    if i == 0:
        return math.nan
    low, high = distance[i - 1 : i + 1]
    return float(step[i - 1] + (0.5 * distance[-1] - low) / (high - low) * (step[i] - step[i - 1]))


def _share_done(step: np.ndarray, distance: np.ndarray, layer: int) -> float:
    """Return the share of its change that a layer has made when the lowest layer has made half of its own."""
    return float(np.interp(_half_time(step, distance[:, 0]), step, distance[:, layer]) / distance[-1, layer])


def _judge_order(data: Mapping[str, Any]) -> list[Criterion]:
    """Require that lower layers change first as printed, or that higher layers do."""
    rows: list[Criterion] = []
    for name, facts in data.items():
        times = facts["half of the change at"]
        hidden = ["layer 1", "layer 2", "layer 3"]
        for low, high in pairwise(hidden):
            rows += [
                _first(f"with {name}, {low} learns before {high}", low, high, times, "printed"),
                _first(f"with {name}, {high} learns before {low}", high, low, times, "corrected"),
            ]
        share = "share of its whole change that the layer has made when layer 1 has made half"
        for layer, done in facts["done when layer 1 is half done"].items():
            rows += [
                at_most(
                    f"with {name}, {layer} does not learn while layer 1 is learning",
                    share,
                    done,
                    0.1,
                    form="printed",
                    reason="a layer that does not learn has made little of its change",
                ),
                above(
                    f"with {name}, {layer} has learned more than layer 1",
                    share,
                    lower_bound(done),
                    0.5,
                    form="corrected",
                    reason=REASON,
                ),
            ]
    return rows


def _first(clause: str, early: str, late: str, times: Mapping[str, Sequence[Any]], form: Any) -> Criterion:
    quantity = f"epochs by which {early} makes half of its change before {late}"
    return above(clause, quantity, lower_bound(minus(times[late], times[early])), 0.0, form=form, reason=REASON)


layer_order = Check(_measure_order, _judge_order)
