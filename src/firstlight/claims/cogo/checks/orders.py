"""Nodes per frequency, by weight decay and by the order of the group (Figure 5)."""

from itertools import pairwise
from typing import Any

import numpy as np

from firstlight import runs
from firstlight.claims._claim import Outcome, Setting
from firstlight.records import figure
from firstlight.sweeps import Sweep, run_sweep

Orders = dict[tuple[str, float], np.ndarray]
"""Nodes of every frequency, by group and weight decay."""

COLLAPSED = 2
"""Mean nodes per frequency below which weight decay has removed the features."""


def sweep(setting: Setting) -> Sweep:
    """Build the sweep of Figure 5, which `firstlight.sweeps.run_sweep` can resume."""
    base = {
        "model": {"width": setting.choose(quick=64, paper=512)},
        # The paper does not mention held-out pairs for this figure, and training on all pairs is ten times cheaper.
        "task": {"split": {"fraction": 1.0}},
        "optimizer": {"learning_rate": setting.choose(quick=0.03, paper=0.01)},
        "steps": setting.choose(quick=800, paper=10_000),
        "recording": {"every": setting.choose(quick=800, paper=1000)},
        "lenses": ["cogo"],
    }
    if setting.scale == "quick":
        base["optimizer"]["schedule"] = {"shape": "cosine"}
    grid = {
        "task.group": setting.choose(quick=["Z11"], paper=["Z23", "Z71", "Z127"]),
        "optimizer.weight_decay": setting.choose(
            quick=[3e-4, 1e-3, 3e-3, 1e-1], paper=[1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4]
        ),
    }
    return Sweep.model_validate(
        {"name": "CoGO, Figure 5", "base": base, "grid": grid, "seeds": list(setting.seeds_or(_seeds(setting)))}
    )


def _seeds(setting: Setting) -> range:
    return range(setting.choose(quick=2, paper=5))


def orders_by_decay(setting: Setting) -> Outcome:
    """Measure the distribution of nodes per frequency over weight decay, for each group."""
    seeds = setting.seeds_or(_seeds(setting))
    records = [(record.spec.task.group, record) for record in _run(setting)]
    names = list(dict.fromkeys(name for name, _ in records))
    decays = sorted({record.spec.optimizer.weight_decay for _, record in records})
    orders = {
        (name, decay): np.array(
            [
                n
                for own, record in records
                if own == name and record.spec.optimizer.weight_decay == decay
                for n in record.summary["cogo"]["orders"]
            ]
        )
        for name in names
        for decay in decays
    }
    means = {name: [_mean(orders[name, decay]) for decay in decays] for name in names}
    surviving = {name: [m for m in means[name] if m > COLLAPSED] for name in names}
    # More weight decay removes nodes one by one, until no features are left.
    falling = {
        name: len(k) > 1 and all(x >= y - 0.25 for x, y in pairwise(k)) and k[0] > k[-1]
        for name, k in surviving.items()
    }
    pooled = np.concatenate([np.zeros(0), *(numbers for numbers in orders.values() if _mean(numbers) > COLLAPSED)])
    near = _mean((pooled >= 4) & (pooled <= 6))
    collapsed = setting.scale == "paper" or all(means[name][-1] < COLLAPSED for name in names)
    measured = {
        "mean nodes per frequency": {name: dict(zip(map(str, decays), m, strict=True)) for name, m in means.items()},
        "more decay, fewer nodes": falling,
        "share with 4 to 6 nodes, where not collapsed": near,
        "share with 4": {name: _share(orders, name, decays, 4) for name in names},
        "share with 6": {name: _share(orders, name, decays, 6) for name in names},
    }
    holds = bool(names) and all(falling.values()) and near > 0.6 and collapsed
    panels = tuple(_panel(name, decays, orders) for name in names)
    title = "Nodes per frequency by weight decay"
    return Outcome(
        "holds" if holds else "fails",
        measured,
        {"more decay, fewer nodes": dict.fromkeys(names, True)},
        evidence=setting.choose(
            quick="Here q = 64, 800 epochs at rate 0.03 with cosine decay, and weight decay up to collapse.",
            paper="Trained on all pairs; the paper does not say whether this figure holds out pairs.",
        ),
        figures=(figure.panels(panels, columns=3, title=title, caption=f"{len(seeds)} seeds each."),) if panels else (),
        seeds=seeds,
    )


def _run(setting: Setting) -> list[Any]:
    """Run the sweep: in this process at quick scale, by the sweep engine with a store at paper scale."""
    if setting.scale == "quick":
        report = lambda moment: setting.progress(moment.done / moment.total, "training")  # noqa: E731
        outcomes = runs.compute(sweep(setting).expand(), progress=report, keep_weights=False)
        return [outcome.record for outcome in outcomes]
    report = lambda moment: setting.progress(moment.done / moment.total, "sweep")  # noqa: E731
    result = run_sweep(sweep(setting), setting.work / "cogo-figure-5.sqlite", progress=report)
    return [record for record in result.records if record is not None]


def _mean(values: np.ndarray) -> float:
    """Return the mean, or 0 for an empty array."""
    return float(values.mean()) if len(values) else 0.0


def _share(orders: Orders, name: str, decays: list[float], order: int) -> float:
    """Return the share of frequencies with `order` nodes, over the decays without collapse."""
    numbers = [orders[name, decay] for decay in decays if _mean(orders[name, decay]) > COLLAPSED]
    return _mean(np.concatenate([np.zeros(0), *numbers]) == order)


def _panel(name: str, decays: list[float], orders: Orders) -> figure.FigureData:
    most = max(int(numbers.max(initial=0)) for key, numbers in orders.items() if key[0] == name)
    shares = np.array([[_mean(orders[name, decay] == n) for n in range(most + 1)] for decay in decays])
    return figure.heatmap(
        shares,
        x="nodes per frequency",
        y="weight decay",
        value="share of frequencies",
        rows=[f"{decay:g}" for decay in decays],
        columns=[str(n) for n in range(most + 1)],
        title=name,
        limits=(0, 1),
    )
