"""The isolated dynamics compared with training: the limit of a fast second layer, and the final norm of both."""

from itertools import pairwise

import numpy as np

from firstlight import flow, models, tasks
from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.manifold.checks._networks import random_problem
from firstlight.claims.manifold.tolerances import SAME_NORM, TWO_RATE_ORDER
from firstlight.records import figure
from firstlight.theories import manifold

FITTED = 0.01
"""Training loss, relative to a network of zeros, below which the data count as memorised. With λ > 0 it is not 0."""


def two_rates(setting: Setting) -> Outcome:
    """Compare W of training, with V faster by a factor, with W of eq. 21 at the same times."""
    seed = setting.seeds_or((0,))[0]
    sizes = setting.choose(quick=(4, 2, 5, 1), paper=(12, 5, 16, 3))
    # The larger problem passes a saddle, where trajectories separate; its order is visible for ratios above 1e4.
    ratios = setting.choose(quick=(1.0, 10.0, 100.0, 300.0), paper=(1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6))
    problem, W = random_problem(seed, "tanh", lam=0.1, bias=False, sizes=sizes)
    times = np.linspace(0.0, 6.0, 13)
    limit = manifold.lemmas.resolved_flow(problem, W, times)
    start = manifold.lemmas.best_layers(problem, W)
    # Explicit steps compile faster than implicit steps and suffice for small problems and moderate ratios.
    solver = setting.choose(quick="tsit5", paper="radau")
    gaps, norms = [], []
    for i, ratio in enumerate(ratios):
        setting.progress(i / len(ratios), f"V faster by {ratio:g}")
        path = manifold.lemmas.two_rate_flow(problem, start, ratio, times, solver=solver, rtol=1e-7, atol=1e-9)
        apart = np.linalg.norm(path.params["W"] - limit.params, axis=(1, 2)) / np.linalg.norm(limit.params, axis=(1, 2))
        gaps.append(float(apart.max()))
        norms.append(float(np.sum(path.params["W"][-1] ** 2) + np.sum(path.params["V"][-1] ** 2)))
    orders = np.diff(np.log(gaps)) / np.diff(np.log(ratios))
    slope = float(orders[-1])
    V = manifold.lemmas.best_layers(problem, limit.final)["V"]
    ends = float(np.sum(limit.final**2) + np.sum(V**2))
    measured = {
        "largest relative distance of W": {f"{r:g}": gap for r, gap in zip(ratios, gaps, strict=True)},
        "order in the ratio of rates": slope,
        "order between ratios": {f"{a:g} to {b:g}": o for (a, b), o in zip(pairwise(ratios), orders, strict=True)},
        "norm at the end": {**{f"{r:g}": n for r, n in zip(ratios, norms, strict=True)}, "eq. 21": ends},
    }
    shown = figure.curves(
        [
            figure.Series("measured", ratios, gaps),
            figure.Series("order −1", ratios, gaps[-1] * ratios[-1] / np.array(ratios), style="dashed"),
        ],
        x=figure.Axis("rate of V over rate of W", scale="log"),
        y=figure.Axis("largest relative distance of W", scale="log"),
        title="Eq. 21 is the limit of a fast second layer",
        caption="Distance of W from the isolated dynamics over the whole run; ordinary training is at ratio 1.",
    )
    holds = abs(slope + 1) <= TWO_RATE_ORDER and gaps[0] > 100 * gaps[-1]
    return Outcome(
        "holds-as-corrected" if holds else "fails",
        measured,
        {"order in the ratio of rates": -1.0},
        evidence=(
            f"Relative distance of W from eq. 21: up to {gaps[0]:.2g} at equal rates, {gaps[-1]:.2g} with V "
            f"{ratios[-1]:g} times as fast."
        ),
        figures=(shown,),
        seeds=(seed,),
    )


def least_norm(setting: Setting) -> Outcome:
    """Compare the final norms of eq. 21, Adam with L2 decay and AdamW, from the same weights, with the data fitted."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=3)))
    p, K, fraction = setting.choose(quick=(7, 48, 0.8), paper=(23, 256, 0.7))
    lam, split = 1e-2, tasks.group_task(f"Z{p}", encoding="summed").split(fraction=fraction, seed=0)
    norms: dict[str, list[float]] = {"eq. 21": [], "adam, L2": [], "adamw": []}
    fits: dict[str, list[tuple[float, float]]] = {"adam, L2": [], "adamw": []}
    for i, seed in enumerate(seeds):
        setting.progress(i / len(seeds), f"seed {seed}")
        E = manifold.embedding(seed, p, K)
        run = manifold.simulate(split, E, eta=0.02, steps=setting.choose(quick=1500, paper=3000), every=500, lam=lam)
        last = run.frame.to_dict("records")[-1]
        norms["eq. 21"].append(last["norm_W"] + last["norm_V"])
        for name, key in (("adam", "adam, L2"), ("adamw", "adamw")):
            W, V, accuracy, loss = _trained(setting, name, split, E, lam)
            norms[key].append(float(np.sum(W**2) + np.sum(V**2)))
            fits[key].append((accuracy, loss / len(split.train)))
    excess = {name: [x / y - 1 for x, y in zip(norms[name], norms["eq. 21"], strict=True)] for name in fits}
    spread = {name: max(by_seed) / min(by_seed) - 1 for name, by_seed in norms.items()}
    measured = {
        "‖E‖² + ‖W‖²": {name: float(np.mean(by_seed)) for name, by_seed in norms.items()},
        "spread over seeds": spread,
        "training accuracy, least": {name: min(a for a, _ in by_seed) for name, by_seed in fits.items()},
        "training loss over that of zero outputs, largest": {
            n: max(x for _, x in by_seed) for n, by_seed in fits.items()
        },
        "adam with L2, excess over eq. 21, largest": max(excess["adam, L2"], key=abs),
        "adamw, excess over eq. 21, least": min(excess["adamw"]),
    }
    fitted = all(accuracy == 1 and loss <= FITTED for by_seed in fits.values() for accuracy, loss in by_seed)
    same = max(map(abs, excess["adam, L2"])) <= SAME_NORM >= max(spread["eq. 21"], spread["adam, L2"])
    means = measured["‖E‖² + ‖W‖²"]
    return Outcome(
        "holds-as-corrected" if fitted and same and min(excess["adamw"]) > 2 * SAME_NORM else "fails",
        measured,
        {
            "adam with L2, excess over eq. 21, largest": 0.0,
            "training accuracy, least": dict.fromkeys(fits, 1.0),
            "training loss over that of zero outputs, largest": f"at most {FITTED}",
        },
        evidence=(
            f"AdamW, whose decay is not part of the loss, ends at ‖E‖² + ‖W‖² = {means['adamw']:.4g}, Adam with L2 "
            f"decay at {means['adam, L2']:.4g}, eq. 21 at {means['eq. 21']:.4g}. All fit every training row."
        ),
        seeds=seeds,
    )


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
