"""Nodes per frequency, by weight decay and by the order of the group (Figure 5 and the preference for order 4)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import linregress

from firstlight import runs
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, within
from firstlight.claims.cogo.checks._statistics import difference, lower_bound, quantile
from firstlight.records import Criterion, RunRecord, RunSpec, figure
from firstlight.sweeps import Sweep, run_sweep

DECAYS = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4)
"""Weight decays at the paper's sizes; the paper does not print its own."""
HEAVIER = (1e-3, 2e-3, 5e-3, 1e-2, 2e-2)
"""Weight decays that are added one by one to a group until all of its networks collapse."""
_QUICK_DECAYS = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)


def sweep(setting: Setting, groups: Sequence[str], decays: Sequence[float], seeds: Sequence[int]) -> Sweep:
    """Build a sweep of Figure 5 over groups and weight decays, which `firstlight.sweeps.run_sweep` can resume.

    **Arguments:**

    - `setting`: its scale decides width, learning rate and epochs.
    - `groups`, `decays`, `seeds`: the grid.
    """
    steps = setting.choose(quick=1000, paper=10_000)
    base = {
        "model": {"width": _width(setting)},
        # The paper does not mention held-out pairs for this figure, and training on all pairs is ten times cheaper.
        "task": {"split": {"fraction": 1.0}},
        "optimizer": {"learning_rate": setting.choose(quick=0.03, paper=0.01)},
        "steps": steps,
        "recording": {"every": setting.choose(quick=steps, paper=1000)},
        "lenses": ["cogo"],
    }
    grid = {"task.group": list(groups), "optimizer.weight_decay": list(decays)}
    return Sweep.model_validate({"name": "CoGO, Figure 5", "base": base, "grid": grid, "seeds": list(seeds)})


def trained(setting: Setting, groups: Sequence[str], decays: Sequence[float], seeds: Sequence[int]) -> list[RunRecord]:
    """Run the sweep: in this process at quick scale, else by the sweep engine with a store in `setting.work`."""
    points = sweep(setting, groups, decays, seeds)
    note = f"{', '.join(groups)}, weight decay {min(decays):g} to {max(decays):g}"
    report = lambda moment: setting.progress(moment.done / moment.total, note)  # noqa: E731
    if setting.scale == "quick":
        return [outcome.record for outcome in runs.compute(points.expand(), progress=report, keep_weights=False)]
    result = run_sweep(points, setting.work / "cogo-figure-5.sqlite", progress=report)
    if missing := sum(record is None for record in result.records):
        raise RuntimeError(f"all {len(result.records)} runs of {note} are needed; {missing} failed, run them again")
    return [record for record in result.records if record is not None]


def _width(setting: Setting) -> int:
    return setting.choose(quick=64, paper=512)


def _group(record: RunRecord) -> str:
    """Return the group of a run of the sweep."""
    task: Any = record.spec.task
    return str(task.group)


def _decay(record: RunRecord) -> float:
    return record.spec.optimizer.weight_decay


def orders_of(records: Sequence[RunRecord]) -> list[list[int]]:
    """Return the nodes of every frequency, network by network."""
    return [[int(n) for n in record.summary["cogo"]["orders"]] for record in records]


def _measure_decay(setting: Setting) -> Measurement:
    """Count nodes per frequency over weight decay, for each group, until all networks of the group collapse."""
    seeds = setting.seeds_or(range(setting.choose(quick=6, paper=5)))
    groups = setting.choose(quick=("Z11",), paper=("Z23", "Z71", "Z127"))
    decays = setting.choose(quick=_QUICK_DECAYS, paper=DECAYS)
    table: dict[str, dict[str, list[list[int]]]] = {name: {} for name in groups}
    for record in trained(setting, groups, decays, seeds):
        row = table[_group(record)].setdefault(f"{_decay(record):g}", [])
        row += orders_of([record])
    for name, rows in table.items():
        for decay in HEAVIER:
            if _collapsed(list(rows.values())[-1]):
                break
            if f"{decay:g}" not in rows:
                rows[f"{decay:g}"] = orders_of(trained(setting, (name,), (decay,), seeds))
    data = {"orders": table, "nodes available": {name: 2 * _width(setting) / (int(name[1:]) - 1) for name in groups}}
    panels = tuple(_panel(name, rows) for name, rows in table.items())
    title, caption = "Nodes per frequency by weight decay", f"{len(seeds)} seeds each."
    used = sweep(setting, groups, decays, seeds).expand()[0]
    return Measurement(
        data,
        {
            "groups": groups,
            "width": _width(setting),
            **_described(used),
            "optimizer": used.optimizer.name,
            "learning rate": used.optimizer.learning_rate,
            "schedule": used.optimizer.schedule.shape,
            "epochs": used.steps,
            "seeds": len(seeds),
            "weight decays": {name: list(rows) for name, rows in table.items()},
            "train fraction": 1.0,
        },
        seeds,
        (figure.panels(panels, columns=3, title=title, caption=caption),),
        note="Trained on all pairs; the paper does not say whether this figure holds out pairs.",
    )


def _collapsed(networks: Sequence[Sequence[float]]) -> bool:
    """Check that no frequency of any network has nodes."""
    return not any(map(any, networks))


def _survive(networks: Sequence[Sequence[float]]) -> bool:
    """Check that every frequency of every network has nodes."""
    return all(map(all, networks))


def _judge_decay(data: Mapping[str, Any]) -> list[Criterion]:
    """Require orders at 4 and 6, a significant shift to lower orders, and a collapse at the heaviest decay."""
    rows = []
    for name, table in data["orders"].items():
        alive = {decay: networks for decay, networks in table.items() if _survive(networks)}
        if len(alive) < 2:
            rows.append(at_least("networks learn", f"{name}: weight decays without collapse", len(alive), 2))
            continue
        pooled = Counter(n for networks in alive.values() for network in networks for n in network)
        medians = [float(np.median(networks)) for networks in alive.values()]
        means = np.array([[np.mean(network) for network in networks] for networks in alive.values()])
        shares = [float(np.isin(network, (4, 6)).mean()) for networks in alive.values() for network in networks]
        logs = np.repeat(np.log([float(decay) for decay in alive]), means.shape[1])
        available = f"{data['nodes available'][name]:.0f}"
        rows += [
            within(
                f"the order remains constant, at 4 to 6, though {available} nodes are available a frequency",
                f"{name}: median nodes per frequency, by weight decay without collapse",
                medians,
                5,
                1,
                reason="the caption's two lines, order 4 and order 6",
            ),
            above(
                "the distribution is concentrated at 4 and 6",
                f"{name}: share of frequencies with 4 or 6 nodes, lower 99 % bound over networks",
                lower_bound(shares),
                0.5,
                reason="most frequencies",
            ),
            above(
                "the distribution is concentrated at 4 and 6, not between",
                f"{name}: frequencies with 4, and with 6 nodes, each less those with 5",
                [pooled[4] - pooled[5], pooled[6] - pooled[5]],
                0,
            ),
            above(
                "heavier weight decay shifts the distribution to low orders",
                f"{name}: fall of the mean order per unit of log decay, in standard errors",
                _t_value(logs, -means.ravel()),
                quantile(means.size),
                reason="one-sided 99 % quantile of Student's t over networks",
            ),
            above(
                "the heaviest decay without collapse has lower orders than the lightest",
                f"{name}: difference of mean orders, in standard errors over seeds",
                difference(means[0], means[-1]),
                quantile(2 * means.shape[1]),
                reason="one-sided 99 % quantile of Student's t over networks",
            ),
            at_least(
                "until the model collapses",
                f"{name}: share of networks without any node at a frequency, at weight decay {list(table)[-1]}",
                float(np.mean([not any(network) for network in list(table.values())[-1]])),
                1,
                reason="a collapsed network has lost every frequency",
            ),
        ]
    return rows


orders_by_decay = Check(_measure_decay, _judge_decay)


def _measure_preference(setting: Setting) -> Measurement:
    """Compare the share of frequencies with 4 nodes between groups of growing order, trained alike."""
    seeds = setting.seeds_or(range(setting.choose(quick=8, paper=5)))
    groups = setting.choose(quick=("Z7", "Z11"), paper=("Z23", "Z71", "Z127"))
    decays = setting.choose(quick=(3e-3,), paper=DECAYS[2:5])
    shares: dict[str, dict[str, list[float]]] = {name: {} for name in groups}
    lost = 0
    for record in trained(setting, groups, decays, seeds):
        (orders,) = orders_of([record])
        row = shares[_group(record)].setdefault(f"{_decay(record):g}", [])
        row.append(float(np.mean(np.array(orders) == 4)))
        lost += orders.count(0)
    used = sweep(setting, groups, decays, seeds).expand()[0]
    bars = figure.bars(
        list(groups),
        {f"decay {decay:g}": [float(np.mean(shares[name][f"{decay:g}"])) for name in groups] for decay in decays},
        x="group",
        y="share of frequencies with 4 nodes",
        title="Order 4 by the size of the problem",
    )
    return Measurement(
        {"shares of order 4": shares, "frequencies without nodes": lost},
        {
            "groups": groups,
            "width": _width(setting),
            **_described(used),
            "optimizer": used.optimizer.name,
            "learning rate": used.optimizer.learning_rate,
            "epochs": used.steps,
            "weight decays": decays,
        },
        seeds,
        (bars,),
    )


def _judge_preference(data: Mapping[str, Any]) -> list[Criterion]:
    """Require order 4 to occur, and its share to grow from each group to the next at every weight decay."""
    shares = data["shares of order 4"]
    names = list(shares)
    rows = [
        within(
            "no network has collapsed",
            "frequencies without nodes",
            data["frequencies without nodes"],
            0,
            0,
            form="precondition",
            reason="a frequency without nodes has no order",
        ),
        above(
            "order-4 solutions are found",
            "least share of frequencies with 4 nodes, mean over seeds",
            [float(np.mean(row)) for name in names for row in shares[name].values()],
            0,
            reason="they occur",
        ),
    ]
    for small, large in pairwise(names):
        for decay, row in shares[small].items():
            rows.append(
                above(
                    f"order 4 is preferred more in {large} than in {small}",
                    f"difference of shares at weight decay {decay}, in standard errors over seeds",
                    difference(shares[large][decay], row),
                    quantile(len(row) + len(shares[large][decay])),
                    reason="one-sided 99 % quantile of Student's t",
                )
            )
    return rows


order_four_by_size = Check(_measure_preference, _judge_preference)


def _described(spec: RunSpec) -> dict[str, Any]:
    """Return the fields of the model and the loss of a run."""
    model: Any = spec.model
    return {"activation": model.activation, "biases": model.bias, "projection": spec.loss.projection}


def _t_value(x: np.ndarray, y: np.ndarray) -> float:
    """Return the slope of y against x in standard errors; NaN for points on a line, which have none."""
    fit: Any = linregress(x, y)
    return float(fit.slope / fit.stderr) if fit.stderr > 0 else float("nan")


def _panel(name: str, table: Mapping[str, Sequence[Sequence[int]]]) -> figure.FigureData:
    most = max(n for networks in table.values() for network in networks for n in network)
    shares = np.array([[np.mean(np.array(networks) == n) for n in range(most + 1)] for networks in table.values()])
    return figure.heatmap(
        shares,
        x="nodes per frequency",
        y="weight decay",
        value="share of frequencies",
        rows=list(table),
        columns=[str(n) for n in range(most + 1)],
        title=name,
        limits=(0, 1),
    )
