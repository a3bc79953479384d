"""Figures 3 and 8 to 10: features of every hidden layer, at the end of training and along it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, below
from firstlight.claims.fact.checks._networks import (
    BUDGET,
    CONVERGED,
    Network,
    facts,
    quick_network,
    recipe_setting,
    train_all,
)
from firstlight.probes._experiments.perceptrons import Recipe, Trained
from firstlight.records import Criterion, figure

MEASURES = ("FACT", "√FACT·FACTᵀ", "AGOP", "√AGOP", "eNFA", "√eNFA")
SHOWN = ("FACT", "√FACT·FACTᵀ", "√AGOP", "√eNFA")
LAYERS = 3
"""Figures 8 and 10 show the first three layers."""

NEAR_PERFECT, LOW = 0.95, 0.5
"""Correlations that count as near-perfect and as low."""

_FIVE = tuple(range(5))
PRINTED = {
    "MNIST": Network("MNIST", 60_000, Recipe(hidden=5), _FIVE),
    "CIFAR-10": Network("CIFAR-10", 50_000, Recipe(hidden=5, width=3072), _FIVE, tuple(range(0, 200, 20))),
}
"""The networks of the figures as printed."""

_SMALL = Recipe(hidden=5, width=512, epochs=500, rate=0.2, weight_decay=2e-4)
SMALLER = {
    "MNIST": Network("MNIST", 2000, _SMALL, (0,), tuple(range(0, 500, 50))),
    "CIFAR-10": Network("CIFAR-10", 2000, _SMALL, (0,), tuple(range(0, 500, 50))),
}
"""The networks of the scale reduced: fewer rows and steps, with a rate and a decay that restore the budget."""


def _networks(setting: Setting) -> dict[str, Network]:
    return setting.choose(quick={"digits": quick_network()}, reduced=SMALLER, paper=PRINTED)


def _converged(data: Mapping[str, Any]) -> list[Criterion]:
    """Return what the statements presuppose: training to convergence."""
    return [
        at_most(
            "trained to interpolation",
            "training loss",
            [network["training loss"] for network in data["networks"].values()],
            CONVERGED,
            reason="the paper's definition of convergence (Section 3.1)",
            form="precondition",
        ),
        at_least(
            "trained long enough for weight decay to act",
            "budget wd·Σlr/(1 − momentum)",
            [network["budget"] for network in data["networks"].values()],
            BUDGET,
            reason="e^(−2·budget) of the initial WᵀW is left at the end",
            form="precondition",
        ),
    ]


def _described(trained: list[Trained]) -> dict[str, Any]:
    hidden = trained[0].recipe.hidden
    return facts(trained) | {"residuals": [result.residuals[:hidden] for result in trained]}


def _name(measure: str, backward: bool) -> str:
    """Return the paper's name of a measure; backward measures are bFACT, √bAGOP, …"""
    return measure.replace("FACT", "bFACT").replace("AGOP", "bAGOP").replace("eNFA", "beNFA") if backward else measure


def _side(backward: bool) -> str:
    return "WWᵀ" if backward else "WᵀW"


def _seeds(networks: Mapping[str, Network]) -> tuple[int, ...]:
    return tuple(sorted({seed for network in networks.values() for seed in network.seeds}))


def _measure_depth(setting: Setting, *, backward: bool) -> Measurement:
    """Return the alignments of every hidden layer at the end, averaged over seeds."""
    networks = _networks(setting)
    described, panels = {}, []
    for name, results in train_all(networks, setting).items():
        hidden = results[0].recipe.hidden
        layers = [result.last(backward=backward)[:hidden] for result in results]
        values = {m: np.mean([[layer[m] for layer in run] for run in layers], axis=0) for m in MEASURES}
        described[name] = _described(results) | {"alignments": values}
        series = [figure.Series(_name(m, backward), np.arange(1, hidden + 1), v) for m, v in values.items()]
        title = f"{name}, budget {results[0].budget:.2g}"
        panels.append(figure.curves(series, x="hidden layer", y=f"Pearson, with {_side(backward)}", title=title))
    shown = figure.panels(panels, title=f"Every layer's {_side(backward)}", columns=2)
    return Measurement({"networks": described}, recipe_setting(networks), _seeds(networks), (shown,))


def _judge_depth(data: Mapping[str, Any], *, backward: bool) -> list[Criterion]:
    """Require FACT to be near-perfect at every layer and ahead of AGOP, eNFA and their roots."""
    ours, side = _name("FACT", backward), _side(backward)
    criteria = _converged(data)
    for name, network in data["networks"].items():
        values = network["alignments"]
        means = {m: float(np.mean(values[m])) for m in MEASURES}
        criteria.append(
            at_least(
                f"{ours} correlates with {side} at every hidden layer: {name}",
                f"correlation of {ours} by layer, mean over seeds",
                values["FACT"],
                NEAR_PERFECT,
                reason="a correlation of 0.95 counts as near-perfect",
            )
        )
        criteria.append(
            above(
                f"more than AGOP, eNFA and their roots, over all layers: {name}",
                f"mean over layers of {ours} minus that of the best other",
                means["FACT"] - max(means[m] for m in MEASURES if "FACT" not in m),
                0,
                reason="an order of curves that are averages over runs, as in the figure",
            )
        )
    return criteria


def _measure_epochs(setting: Setting, *, backward: bool) -> Measurement:
    """Return the alignments of the first three layers along training, averaged over seeds."""
    name, network = list(_networks(setting).items())[-1]
    results = train_all({name: network}, setting)[name]
    sides = [result.backward if backward else result.forward for result in results]
    epochs = sorted(sides[0])
    curves = {
        f"layer {layer + 1}": {
            m: np.mean([[side[epoch][layer][m] for epoch in epochs] for side in sides], axis=0) for m in SHOWN
        }
        for layer in range(LAYERS)
    }
    panels = [
        figure.curves(
            [figure.Series(_name(m, backward), np.array(epochs), v) for m, v in values.items()],
            x="epoch",
            y=f"Pearson, with {_side(backward)}",
            title=layer,
        )
        for layer, values in curves.items()
    ]
    shown = figure.panels(panels, columns=3, title=f"Alignment with {_side(backward)} along training, {name}")
    data = {"networks": {name: _described(results)}, "epochs": epochs, "curves": curves}
    return Measurement(data, recipe_setting({name: network}), network.seeds, (shown,))


def _judge_forward_epochs(data: Mapping[str, Any]) -> list[Criterion]:
    """Require FACT to be low for most epochs and near-perfect at the end, and its symmetrised form to be ahead."""
    curves, epochs = data["curves"], np.array(data["epochs"], float)
    FACT = {layer: np.array(values["FACT"], float) for layer, values in curves.items()}
    root = {layer: np.array(values["√FACT·FACTᵀ"], float) for layer, values in curves.items()}
    mean = np.mean(list(FACT.values()), axis=0)
    half = float(np.interp(epochs[-1] / 2, epochs, mean))
    return [
        *_converged(data),
        below(
            "FACT has low correlation for most epochs",
            "median over epochs of the correlation of FACT, mean over seeds and the three layers",
            float(np.median(mean)),
            LOW,
            reason="most epochs are more than half of them; low is below a half",
        ),
        _near_perfect("FACT", FACT),
        above(
            "the increase is sharp and late",
            "rise of FACT in the second half of the epochs minus that in the first, mean over seeds and layers",
            float(mean[-1] - 2 * half + mean[0]),
            0,
            reason="a steady increase has the same rise in both halves",
        ),
        above(
            "√(FACT·FACTᵀ) has nontrivial correlation before",
            f"smallest lead of √(FACT·FACTᵀ) over its value at initialisation; {_AVERAGES}",
            {layer: values[1:] - values[0] for layer, values in root.items()},
            0,
            reason="the random weights at initialisation are the null",
        ),
        above(
            "√(FACT·FACTᵀ) has nontrivial correlation while FACT is low",
            f"median over epochs of √(FACT·FACTᵀ) minus that of FACT; {_AVERAGES}",
            {layer: float(np.median(root[layer]) - np.median(FACT[layer])) for layer in FACT},
            0,
            reason="an order",
        ),
    ]


def _judge_backward_epochs(data: Mapping[str, Any]) -> list[Criterion]:
    """Require bFACT to become near-perfect only late."""
    bFACT = {layer: np.array(values["FACT"], float) for layer, values in data["curves"].items()}
    others = {layer: max(values[m][-1] for m in ("√AGOP", "√eNFA")) for layer, values in data["curves"].items()}
    return [
        *_converged(data),
        _near_perfect("bFACT", bFACT),
        below(
            "bFACT is below near-perfect for most epochs",
            f"median over epochs of the correlation of bFACT; {_AVERAGES}",
            {layer: float(np.median(values)) for layer, values in bFACT.items()},
            NEAR_PERFECT,
            reason="most epochs are more than half of them",
        ),
        above(
            "at the end bFACT is ahead of √bAGOP and √beNFA",
            f"lead at the end; {_AVERAGES}",
            {layer: values[-1] - others[layer] for layer, values in bFACT.items()},
            0,
            reason="an order of curves that are averages over runs, as in the figure",
        ),
    ]


_AVERAGES = "mean over seeds, the three layers"


def _near_perfect(name: str, curves: Mapping[str, np.ndarray]) -> Criterion:
    return at_least(
        f"{name} increases to near-perfect correlation",
        f"correlation of {name} at the end; {_AVERAGES}",
        {layer: values[-1] for layer, values in curves.items()},
        NEAR_PERFECT,
        reason="a correlation of 0.95 counts as near-perfect",
    )


figure_3 = Check(
    lambda setting: _measure_depth(setting, backward=False), lambda data: _judge_depth(data, backward=False)
)
figure_9 = Check(lambda setting: _measure_depth(setting, backward=True), lambda data: _judge_depth(data, backward=True))
figure_8 = Check(lambda setting: _measure_epochs(setting, backward=False), _judge_forward_epochs)
figure_10 = Check(lambda setting: _measure_epochs(setting, backward=True), _judge_backward_epochs)
