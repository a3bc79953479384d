"""The isolated dynamics compared with training: the limit of a fast second layer, and the final norm of both."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import flow, models, tasks
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, within
from firstlight.claims.manifold.checks._networks import random_problem
from firstlight.records import Criterion, figure
from firstlight.theories import manifold

FITTED = 0.01
"""Training loss, relative to a network of zeros, below which the data count as memorised. With λ > 0 it is not 0."""
REPRODUCED = 0.05
"""Largest relative distance at which one path of the weights counts as reproducing another."""
TWO_RATE_ORDER = 0.15
"""How far the power of the ratio of rates may be from −1 between the two largest ratios."""
SAME_NORM = 0.05
"""Relative difference below which two final norms count as the same."""


def _measure_rates(setting: Setting) -> Measurement:
    """Compare W of training, with V faster by a factor, with W of eq. 21 at the same times."""
    seeds = setting.seeds_or(range(setting.choose(quick=1, paper=3)))
    sizes = setting.choose(quick=(4, 2, 5, 1), paper=(12, 5, 16, 3))
    # The larger problem passes a saddle, where trajectories separate; its order is visible for ratios above 1e4.
    ratios = setting.choose(quick=(1.0, 10.0, 100.0, 300.0), paper=(1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6))
    # Explicit steps compile faster than implicit steps and suffice for small problems and moderate ratios.
    solver = setting.choose(quick="tsit5", paper="radau")
    times = np.linspace(0.0, 6.0, 13)
    gaps = []
    for place, seed in enumerate(seeds):
        problem, W = random_problem(seed, "tanh", lam=0.1, bias=False, sizes=sizes)
        limit = manifold.lemmas.resolved_flow(problem, W, times).params
        start, row = manifold.lemmas.best_layers(problem, W), []
        for i, ratio in enumerate(ratios):
            setting.progress((place + i / len(ratios)) / len(seeds), f"seed {seed}, V faster by {ratio:g}")
            path = manifold.lemmas.two_rate_flow(problem, start, ratio, times, solver=solver, rtol=1e-7, atol=1e-9)
            apart = np.linalg.norm(path.params["W"] - limit, axis=(1, 2)) / np.linalg.norm(limit, axis=(1, 2))
            row.append(float(apart.max()))
        gaps.append(row)
    shown = figure.curves(
        [
            figure.Series("measured", ratios, gaps[0]),
            figure.Series("order −1", ratios, gaps[0][-1] * ratios[-1] / np.array(ratios), style="dashed"),
        ],
        x=figure.Axis("rate of V over rate of W", scale="log"),
        y=figure.Axis("largest relative distance of W", scale="log"),
        title="Eq. 21 is the limit of a fast second layer",
        caption="Distance of W from the isolated dynamics over the whole run; ordinary training is at ratio 1.",
    )
    used = {
        **dict(zip(("samples", "inputs", "hidden units", "outputs"), sizes, strict=True)),
        "activation": "tanh",
        "weight decay": 0.1,
        "ratios of rates": ratios,
    }
    return Measurement({"ratios": ratios, "distance of W": gaps}, used, seeds, (shown,))


def _judge_rates(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge training at equal rates, and the power of the ratio of rates at which its distance vanishes."""
    gaps, ratios = np.array(data["distance of W"], float), np.array(data["ratios"], float)
    powers = np.log(gaps[:, -1] / gaps[:, -2]) / np.log(ratios[-1] / ratios[-2])
    return [
        at_most(
            "simulating with the predicted gradients reproduces training (at equal rates)",
            "largest relative distance of W from eq. 21 in training at equal rates, for each seed",
            gaps[:, 0],
            REPRODUCED,
            reason="the paper names no size; a path that is off by more than a twentieth is not reproduced",
            form="printed",
        ),
        at_most(
            "eq. 21 is the limit lr₂/lr₁ → ∞ of training with two rates",
            f"largest relative distance of W from eq. 21 with V {ratios[-1]:g} times as fast, for each seed",
            gaps[:, -1],
            REPRODUCED,
            reason="the same bound as at equal rates",
            form="corrected",
        ),
        within(
            "the limit is reached as lr₁/lr₂",
            "power of the ratio of rates in the distance, between the two largest ratios, for each seed",
            powers,
            -1.0,
            TWO_RATE_ORDER,
            reason="the next order, 1/ratio² for ratios from 100, moves it so only with 25 times the coefficient",
            form="corrected",
        ),
    ]


two_rates = Check(_measure_rates, _judge_rates)


def _measure_norms(setting: Setting) -> Measurement:
    """Compare the final norms of eq. 21, Adam with L2 decay and AdamW, from the same weights, with the data fitted."""
    seeds = setting.seeds_or(range(3))
    p, K, fraction = setting.choose(quick=(7, 48, 0.8), paper=(23, 256, 0.7))
    lam, split = 1e-2, tasks.group_task(f"Z{p}", encoding="summed").split(fraction=fraction, seed=0)
    norms: dict[str, list[float]] = {"eq. 21": [], "adam": [], "adamw": []}
    accuracies: dict[str, list[float]] = {"adam": [], "adamw": []}
    losses: dict[str, list[float]] = {"adam": [], "adamw": []}
    for i, seed in enumerate(seeds):
        setting.progress(i / len(seeds), f"seed {seed}")
        E = manifold.embedding(seed, p, K)
        run = manifold.simulate(split, E, eta=0.02, steps=setting.choose(quick=1500, paper=3000), every=500, lam=lam)
        last = run.frame.to_dict("records")[-1]
        norms["eq. 21"].append(last["norm_W"] + last["norm_V"])
        for name in accuracies:
            W, V, accuracy, loss = _trained(setting, name, split, E, lam)
            norms[name].append(float(np.sum(W**2) + np.sum(V**2)))
            accuracies[name].append(accuracy)
            losses[name].append(loss / len(split.train))
    data = {"norms": norms, "training accuracy": accuracies, "training loss over that of zero outputs": losses}
    used = {"group": f"Z{p}", "hidden units": K, "training fraction": fraction, "weight decay": lam}
    return Measurement(data, used, seeds)


def _judge_norms(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the fit, then the norms relative to eq. 21, which descends the norm at the best second layer."""
    norms = {name: np.array(by_seed, float) for name, by_seed in data["norms"].items()}
    reason = "both end in local minima of one cost, which need not be the same; the least norm is read to 5 %"
    return [
        at_least(
            "the training data are memorised",
            "least training accuracy, with Adam and AdamW",
            data["training accuracy"],
            1.0,
            form="precondition",
        ),
        at_most(
            "the training data are memorised",
            "largest training loss over that of zero outputs, with Adam and AdamW",
            data["training loss over that of zero outputs"],
            FITTED,
            reason="at λ > 0 the loss is of order λ, not 0",
            form="precondition",
        ),
        within(
            "with decay as part of the loss, as in eq. 2, learning minimises the norm at zero loss",
            "‖E‖² + ‖W‖² at the end of Adam with L2 decay over that of eq. 21, for each seed",
            norms["adam"] / norms["eq. 21"],
            1.0,
            SAME_NORM,
            reason=reason,
        ),
        at_most(
            "the least norm does not depend on the start",
            "largest norm at the end over the least, of three starts, for eq. 21 and for Adam with L2 decay",
            [norms[name].max() / norms[name].min() for name in ("eq. 21", "adam")],
            1 + SAME_NORM,
            reason=reason,
        ),
        above(
            "eq. 2 is needed: decoupled decay, of AdamW, does not minimise the norm",
            "‖E‖² + ‖W‖² at the end of AdamW over that of eq. 21, for each seed",
            norms["adamw"] / norms["eq. 21"],
            1 + 2 * SAME_NORM,
            reason="twice the difference that counts as the same norm",
        ),
    ]


least_norm = Check(_measure_norms, _judge_norms)


def _trained(
    setting: Setting, name: str, split: tasks.Split, E: np.ndarray, lam: float
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Train on 𝓛_λ from E and its best V; return both layers, the training accuracy and the sum of squares."""
    layers = manifold.lemmas.best_layers(manifold.isolate(split, "relu", lam=lam), E)
    model = models.TwoLayer(E, layers["V"].astype(np.float32), activation="relu")
    run = flow.train_lanes(
        [
            flow.Lane(
                0,
                model,
                split,
                # The gradient of λ‖θ‖² is 2λθ; AdamW multiplies its decay only by the learning rate.
                flow.Optimizer(name=name, learning_rate=setting.choose(quick=1e-2, paper=3e-3), weight_decay=2 * lam),  # type: ignore[arg-type]
            )
        ],
        loss=flow.Loss(projection="none", reduction="sum"),
        steps=setting.choose(quick=4000, paper=20000),
        recording=flow.Recording(every=setting.choose(quick=2000, paper=10000)),
        progress="off",
    )
    final = run.lanes[0].model
    last = run.lanes[0].rows[-1]
    return np.asarray(final.W), np.asarray(final.V), float(last["train_accuracy"]), float(last["train_loss"])
