"""Tables 1 and 2: features of the first layer of ReLU perceptrons on images."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_most, below, untested
from firstlight.claims.fact.checks._networks import (
    BUDGET,
    CONVERGED,
    Network,
    facts,
    quick_network,
    recipe_setting,
    train_all,
)
from firstlight.probes._experiments.perceptrons import Recipe
from firstlight.records import Criterion, figure

SHOWN = ("FACT", "√FACT·FACTᵀ", "√AGOP", "√eNFA")
MEASURES = (*SHOWN, "AGOP", "eNFA")
EXCEPTION = "MNIST, n = 1000"
"""The column for which the paper says that FACT does not win."""

PRINTED = {
    "MNIST, n = 1000": (0.890, 0.956, 0.899, 0.903),
    "MNIST, n = 2000": (0.988, 0.998, 0.923, 0.923),
    "MNIST, n = 5000": (0.995, 1.000, 0.924, 0.917),
    "MNIST, n = 60000": (0.999, 1.000, 0.909, 0.903),
    "CIFAR-10, decay 1e-3": (0.830, 0.929, 0.793, 0.797),
    "CIFAR-10, decay 1e-4": (0.896, 0.943, 0.722, 0.714),
}
"""The columns of Table 2, in the order of `SHOWN`."""

COLUMNS = {
    "MNIST, n = 1000": Network("MNIST", 1000, Recipe(), (0, 1, 2)),
    "MNIST, n = 2000": Network("MNIST", 2000, Recipe(), (0, 1, 2)),
    "MNIST, n = 5000": Network("MNIST", 5000, Recipe(), (0, 1, 2)),
    "MNIST, n = 60000": Network("MNIST", 60_000, Recipe()),
    "CIFAR-10, decay 1e-4": Network("CIFAR-10", 50_000, Recipe()),
    "CIFAR-10, decay 1e-3": Network("CIFAR-10", 50_000, Recipe(weight_decay=1e-3)),
}


def _networks(setting: Setting) -> dict[str, Network]:
    return setting.choose(quick={"digits": quick_network()}, paper=COLUMNS)


def _measured(networks: dict[str, Network], setting: Setting) -> Measurement:
    """Train the networks and return the alignments of their first layers."""
    trained = train_all(networks, setting)
    columns = {
        name: {measure: [result.last()[0][measure] for result in results] for measure in MEASURES} | facts(results)
        for name, results in trained.items()
    }
    means = np.array([[np.mean(values[measure]) for measure in SHOWN] for values in columns.values()])
    shown = figure.alignment(
        means,
        rows=[f"{name}; budget {values['budget']:.2g}" for name, values in columns.items()],
        columns=list(SHOWN),
        y="data",
        value="Pearson",
        title="First-layer features after training",
    )
    seeds = tuple(sorted({seed for network in networks.values() for seed in network.seeds}))
    return Measurement({"columns": columns}, recipe_setting(networks), seeds, (shown,), _NOTE)


_NOTE = (
    "WᵀW is a moving average of FACT with memory 1/2λ: FACT depends on the budget wd·Σlr/(1 − momentum), and "
    "e^(−2·budget) of the initial WᵀW is left at the end."
)


def _leads(values: Mapping[str, Any], ours: tuple[str, ...], others: tuple[str, ...]) -> list[float]:
    """Return by how much the weakest of our measures is above the strongest of the others, for each seed."""
    count = len(values["FACT"])
    return [
        min(values[name][seed] for name in ours) - max(values[name][seed] for name in others) for seed in range(count)
    ]


def _converged(data: Mapping[str, Any]) -> Criterion:
    """Return what both tables presuppose: training to convergence, in every column."""
    return at_most(
        "trained to convergence",
        "training loss of every column",
        {name: values["training loss"] for name, values in data["columns"].items()},
        CONVERGED,
        reason="the paper calls a training converged at a loss of 1e-3 (Section 3.1)",
        form="precondition",
    )


def _measure_table_2(setting: Setting) -> Measurement:
    """Train all columns."""
    return _measured(_networks(setting), setting)


def _judge_table_2(data: Mapping[str, Any]) -> list[Criterion]:
    """Compare both forms of FACT with AGOP, eNFA and their roots, and the roots with the matrices."""
    criteria = [_converged(data)]
    for name, values in data["columns"].items():
        if name == EXCEPTION:
            continue
        clause = f"FACT and its symmetrisation are better correlated than AGOP, eNFA and their roots: {name}"
        quantity = f"smallest lead of FACT and √(FACT·FACTᵀ), budget {values['budget']:.2g}"
        lead = _leads(values, SHOWN[:2], MEASURES[2:])
        short = values["budget"] < BUDGET
        reason = "an order; each seed must show it"
        criteria.append(above(clause, quantity, lead, 0, reason=reason, form="printed" if short else "statement"))
        if short:
            corrected = f"with a budget below {BUDGET}, FACT is not ahead: {name}"
            criteria.append(below(corrected, quantity, lead, 0, reason=reason, form="corrected"))
    for name, values in data["columns"].items():
        roots = [
            *_leads(values, ("√AGOP",), ("AGOP",)),
            *_leads(values, ("√eNFA",), ("eNFA",)),
        ]
        clause = f"AGOP and eNFA are less correlated than their square roots: {name}"
        criteria.append(
            above(clause, "smallest lead of the roots", roots, 0, reason="an order; each seed must show it")
        )
    return criteria


table_2 = Check(_measure_table_2, _judge_table_2)


def _measure_table_1(setting: Setting) -> Measurement:
    """Train the largest MNIST column and the CIFAR-10 column with the printed decay."""
    wanted = setting.choose(
        quick=("digits",),
        paper=("MNIST, n = 60000", "CIFAR-10, decay 1e-4"),
    )
    networks = _networks(setting)
    return _measured({name: networks[name] for name in wanted}, setting)


def _judge_table_1(data: Mapping[str, Any]) -> list[Criterion]:
    """Compare FACT with √AGOP (NFA) and √eNFA, whose numbers the table prints."""
    criteria = [_converged(data)]
    for name, values in data["columns"].items():
        for other, printed in (("√AGOP", "NFA"), ("√eNFA", "eNFA")):
            clause = f"FACT correlates better with WᵀW than {printed}: {name}"
            lead = _leads(values, ("FACT",), (other,))
            criteria.append(above(clause, f"FACT minus {other}", lead, 0, reason="an order; each seed must show it"))
    why = "the table prints no spread, and preprocessing, biases and the reduction of the loss are not printed"
    criteria.append(untested("the printed correlations to their three digits", why))
    return criteria


table_1 = Check(_measure_table_1, _judge_table_1)
