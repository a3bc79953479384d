"""Regimes over width and weight decay (Figure 1), and flat against sharp optima (Section 8)."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from firstlight import features, groups, runs, tasks
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, untested
from firstlight.claims.li2.checks.training import GENERALISED, REASON, lower_bound, minus, spec, train
from firstlight.records import Criterion, RunSpec, figure

CHANCE = 0.1
"""Test accuracy below which a network has not generalised at all; guessing gives 1/M."""

GENERALISES = 0.95
"""Test accuracy at which a network counts as generalising, for accuracies averaged over seeds."""

CHANGE = 0.1
"""Size of a random change of the weights, relative to the norm of each layer."""

INFORMED = 0.5
"""Cosine of G_F with ỸỸᵀF at which the backpropagated gradient counts as meaningful."""


def _measure_regimes(setting: Setting) -> Measurement:
    """Train over widths K and weight decays η; measure the change of W, purity and test accuracy."""
    group, fraction, rate, steps = setting.choose(quick=("Z23", 0.6, 2e-3, 500), paper=("Z71", 0.4, 1e-3, 1500))
    widths = setting.choose(quick=(128, 256, 512), paper=(256, 512, 1024, 2048))
    decays = setting.choose(quick=(0.0, 1e-3), paper=(0.0, 2e-5, 2e-4, 2e-3))
    suitable = setting.choose(quick=1e-3, paper=2e-4)
    seeds = setting.seeds_or(range(3))
    keys = [(K, decay) for K in widths for decay in decays]
    specs = [
        spec(group, fraction, K, steps, {"learning_rate": rate, "weight_decay": decay}, seed, snapshots=1)
        for K, decay in keys
        for seed in seeds
    ]
    outcomes = train(setting, "li2-figure-1", specs, keep_weights=True)
    known, n = groups.parse(group), len(seeds)
    measured = {key: [_regime(o, known) for o in outcomes[i * n : (i + 1) * n]] for i, key in enumerate(keys)}
    column = lambda key, name: [row[name] for row in measured[key]]  # noqa: E731
    names = ("change", "purity", "test", "train")
    data = {
        word: {f"K = {K}": {name: column((K, decay), name) for name in names} for K in widths}
        for word, decay in (("no decay", 0.0), ("suitable decay", suitable))
    }
    used = {
        "widths": list(widths),
        "weight decays": list(decays),
        "group": group,
        "fraction": fraction,
        "optimizer": "Adam",
        "learning rate": rate,
        "activation": "x²",
        "epochs": steps,
        "seeds": n,
    }
    panels = [
        figure.curves(
            [
                figure.Series(f"η = {d:g}", widths, [float(np.mean(column((K, d), name))) for K in widths])
                for d in decays
            ],
            x=figure.Axis("width K", scale="log"),
            y=title,
            title=title,
        )
        for name, title in (("change", "change of W"), ("purity", "purity of the nodes"), ("test", "test accuracy"))
    ]
    shown = figure.panels(panels, columns=3, title=f"Regimes of {group} over width and weight decay")
    return Measurement(data, used, seeds, (shown,))


def _regime(outcome: runs.RunOutcome, group: groups.Group) -> dict[str, float]:
    W, start = (np.asarray(outcome.weights[name]["W"], float) for name in ("final", "step-0"))
    table = outcome.record.table
    return {
        "change": 1 - float(features.cosine(W, start)),
        "purity": float(features.node_shares(W) @ features.purity(features.irrep_content(W, group))),
        "test": float(table["test_accuracy"][-1]),
        "train": float(table["train_accuracy"][-1]),
    }


def _judge_regimes(data: Mapping[str, Any]) -> list[Criterion]:
    """Require a lazy regime without decay that deepens with width, and feature learning with a suitable decay."""
    free, decayed = data["no decay"], data["suitable decay"]
    widest = list(free)[-1]
    rows = [
        at_least(
            "the training pairs are learned in both regimes",
            "final training accuracy",
            [row["train"] for part in (free, decayed) for row in part.values()],
            0.99,
            form="precondition",
            reason="one pair of a hundred may be wrong",
        ),
        at_most(
            f"NTK regime without weight decay at {widest}: no generalisation",
            "final test accuracy",
            free[widest]["test"],
            CHANCE,
            reason="a tenth of the held-out pairs",
        ),
    ]
    rows += [
        above(
            f"towards the NTK regime, the hidden layer changes less at {wide} than at {narrow}",
            "difference of the cosine distances of W from its start, η = 0",
            lower_bound(minus(free[narrow]["change"], free[wide]["change"])),
            0.0,
            reason=REASON,
        )
        for narrow, wide in pairwise(free)
    ]
    for width, row in decayed.items():
        rows += [
            above(
                f"feature learning regime with a suitable weight decay, {width}: features",
                "purity of the nodes over that without decay",
                lower_bound(minus(row["purity"], free[width]["purity"])),
                0.0,
                reason=REASON,
            ),
            at_least(
                f"feature learning regime with a suitable weight decay, {width}: generalisation",
                "final test accuracy",
                row["test"],
                GENERALISES,
                reason="one pair of twenty may be wrong, on average over seeds",
            ),
        ]
    return [*rows, untested("the regimes lie in the plane of K and η as drawn", "the picture is not part of the text")]


regimes = Check(_measure_regimes, _judge_regimes)


def _measure_optima(setting: Setting) -> Measurement:
    """Compare the sharpness of four networks, and two rates of the output layer."""
    group, width, steps = setting.choose(quick=("Z23", 256, 400), paper=("Z71", 1024, 800))
    fraction, limited = setting.choose(quick=(0.6, 0.25), paper=(0.4, 0.1))
    rate, decay = setting.choose(quick=(2e-3, 1e-3), paper=(1e-3, 2e-4))
    seeds = setting.seeds_or(range(setting.choose(quick=3, paper=5)))
    task = lambda p, noise=0.0: {"group": group, "split": {"fraction": p}, "label_noise": noise}  # noqa: E731
    with_decay, without = {"learning_rate": rate, "weight_decay": decay}, {"learning_rate": rate, "weight_decay": 0.0}
    networks = {
        "generalising": (with_decay, task(fraction)),
        "overfitting": (without, task(fraction)),
        "noisy labels": (with_decay, task(fraction, 0.99)),
        "limited data": (with_decay, task(limited)),
    }
    specs = {
        name: [spec(group, fraction, width, steps, optimizer, seed, task=of) for seed in seeds]
        for name, (optimizer, of) in networks.items()
    }
    outcomes = train(setting, "li2-section-8", [run for mine in specs.values() for run in mine], keep_weights=True)
    n = len(seeds)
    facts = {}
    for i, (name, mine) in enumerate(specs.items()):
        pairs = list(zip(mine, outcomes[i * n : (i + 1) * n], strict=True))
        facts[name] = {
            "log sharpness": [float(np.log(_sharpness(run, outcome))) for run, outcome in pairs],
            "log nodes": [float(np.log(_nodes(outcome))) for _, outcome in pairs],
            "train accuracy": [float(outcome.record.table["train_accuracy"][-1]) for _, outcome in pairs],
            "test accuracy": [float(outcome.record.table["test_accuracy"][-1]) for _, outcome in pairs],
        }
    used = {
        "group": group,
        "fraction": fraction,
        "limited fraction": limited,
        "width": width,
        "optimizer": "Adam",
        "learning rate": rate,
        "weight decay": decay,
        "activation": "x²",
        "epochs": steps,
        "seeds": n,
    }
    stage, factors = _first_stage(setting, group, fraction, width, with_decay, seeds)
    bars = figure.bars(
        list(facts),
        {"loss added by a change of 10 %": [float(np.exp(np.mean(row["log sharpness"]))) for row in facts.values()]},
        x="network",
        y="rise of the training loss",
        title="Flat and sharp optima",
    )
    return Measurement({"networks": facts, "first stage": stage}, used | {"rates of V": factors}, seeds, (bars,))


def _first_stage(
    setting: Setting, group: str, fraction: float, width: int, optimizer: Mapping[str, Any], seeds: tuple[int, ...]
) -> tuple[dict[str, Any], list[float]]:
    """Train with a small and a large rate of V, which alone learns in Stage I; W has the same rate in both."""
    factors = {"small rate": 0.1, "large rate": 3.0}
    steps = setting.choose(quick=600, paper=1200)
    fields = {"stop": [GENERALISED], "recording": {"every": 4}, "lenses": ["li2"]}
    half = {**optimizer, "learning_rate": optimizer["learning_rate"] / 2}
    specs = [
        spec(group, fraction, width, steps, {**half, "layer_rates": {"V": factor}}, seed, **fields)
        for factor in factors.values()
        for seed in seeds
    ]
    records = [o.record for o in train(setting, "li2-section-8", specs)]
    stage, n = {}, len(seeds)
    for i, name in enumerate(factors):
        mine = records[i * n : (i + 1) * n]
        reached = [np.flatnonzero(np.asarray(r.table["li2.alignment"]) > INFORMED) for r in mine]
        stage[name] = {
            "meaningful at": [
                float(r.table.step[at[0]]) if len(at) else None for r, at in zip(mine, reached, strict=True)
            ],
            "generalised at": [r.summary["generalised_at"] or steps for r in mine],
        }
    return stage, list(factors.values())


def _sharpness(run: RunSpec, outcome: runs.RunOutcome) -> float:
    """Return the mean rise of the training loss under random changes of the weights, 10 % of each layer's norm."""
    lane = runs.resolve(run).lane
    task: tasks.Task = lane.split.task
    rows = lane.split.train
    X, Y = task.inputs.dense()[rows], np.eye(task.outputs)[task.targets[rows]]
    W, V = (np.asarray(outcome.weights["final"][name], float) for name in ("W", "V"))

    def loss(W: np.ndarray, V: np.ndarray) -> float:
        R = (X @ W) ** 2 @ V - Y
        return float(np.mean(np.sum((R - R.mean(axis=1, keepdims=True)) ** 2, axis=1)))

    random, rises = np.random.default_rng(run.seed), []
    for _ in range(8):
        moved = [
            A + CHANGE * np.linalg.norm(A) * D / np.linalg.norm(D)
            for A in (W, V)
            for D in [random.normal(size=A.shape)]
        ]
        rises.append(loss(*moved) - loss(W, V))
    return float(np.mean(rises))


def _nodes(outcome: runs.RunOutcome) -> float:
    """Return the effective number of nodes, (Σs)²/Σs² with s = ‖w_j‖²‖v_j‖, the size of a node's contribution."""
    W, V = (np.asarray(outcome.weights["final"][name], float) for name in ("W", "V"))
    s = np.sum(W**2, axis=0) * np.linalg.norm(V, axis=1)
    return float(s.sum() ** 2 / np.sum(s**2))


def _judge_optima(data: Mapping[str, Any]) -> list[Criterion]:
    """Require sharper optima where the network overfits or memorises, and a quicker Stage II with a large rate."""
    networks, stage = data["networks"], data["first stage"]
    flat = networks["generalising"]
    more = lambda name, what: lower_bound(minus(networks[name][what], flat[what]))  # noqa: E731
    sharpness = "log of the rise of the loss under random changes of 10 %, over that of the generalising network"
    nodes = "log of the effective number of nodes, over that of the generalising network"
    less_flat = "memorising features are less flat"
    sooner = lambda what: lower_bound(minus(stage["small rate"][what], stage["large rate"][what]))  # noqa: E731
    return [
        at_least(
            "all networks learn their training pairs",
            "final training accuracy",
            [row["train accuracy"] for row in networks.values()],
            0.99,
            form="precondition",
            reason="one pair of a hundred may be wrong",
        ),
        at_least(
            "one network generalises",
            "test accuracy",
            flat["test accuracy"],
            GENERALISES,
            form="precondition",
            reason="one pair of twenty may be wrong, on average over seeds",
        ),
        above(
            "optima that overfit random features are sharp, those with learned features are flat",
            sharpness,
            more("overfitting", "log sharpness"),
            0.0,
            reason=REASON,
        ),
        above(f"{less_flat}: noisy data", sharpness, more("noisy labels", "log sharpness"), 0.0, reason=REASON),
        above(
            f"{less_flat}: limited data",
            sharpness,
            more("limited data", "log sharpness"),
            0.0,
            reason=REASON,
            form="printed",
        ),
        above(
            "with limited data, the memorising network is the flatter one",
            "the same with the opposite sign",
            lower_bound(minus(flat["log sharpness"], networks["limited data"]["log sharpness"])),
            0.0,
            reason=REASON,
            form="corrected",
        ),
        above(
            "memorising features need more nodes: noisy data",
            nodes,
            more("noisy labels", "log nodes"),
            0.0,
            reason=REASON,
        ),
        above(
            "memorising features need more nodes: limited data",
            nodes,
            more("limited data", "log nodes"),
            0.0,
            reason=REASON,
        ),
        above(
            "a large rate in Stage I makes G_F meaningful sooner",
            f"epochs saved until cos(G_F, ỸỸᵀF) > {INFORMED}",
            sooner("meaningful at"),
            0.0,
            reason=REASON,
        ),
        above(
            "and so triggers Stage II",
            "epochs saved until the held-out pairs are learned",
            sooner("generalised at"),
            0.0,
            reason=REASON,
        ),
    ]


flat_and_sharp = Check(_measure_optima, _judge_optima)
