"""Paths of zero loss between global optimizers, and the optimizer of least norm."""

import numpy as np

from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.cogo.tolerances import SAME_NORM, ZERO_LOSS
from firstlight.groups import cyclic, parse
from firstlight.records import figure
from firstlight.theories.cogo import craft, table_loss, zero_loss_path
from firstlight.theories.cogo.lemmas import random_unit, unit


def zero_loss_paths(setting: Setting) -> Outcome:
    """Measure loss and norm along explicit paths from y ∗ z′ to z′, for random units y."""
    seeds = setting.seeds_or(range(3))
    names = setting.choose(quick=("Z7", "Z6"), paper=("Z7", "Z12", "Z4xZ6", "Z23"))
    times = np.linspace(0, 1, setting.choose(quick=41, paper=201))
    loss, end, gaps, profiles = 0.0, 0.0, [], {}
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = parse(name)
        for kind in ("F6", "memorise") if group.order < 10 else ("F6",):
            base = craft(group, kind)
            for seed in seeds:
                path = zero_loss_path(random_unit(group, 3, seed), base)
                points = [path.at(float(t)) for t in times]
                losses = [table_loss(*point.weights, group) / max(point.norm2, 1) ** 2 for point in points]
                loss = max(loss, *losses)
                norms = np.array([point.norm2 for point in points])
                end = max(end, abs(norms[-1] / base.norm2 - 1))
                gaps.append(float(norms.min() >= norms[-1] * (1 - SAME_NORM)))
                if kind == "F6" and name == names[0]:
                    profiles[f"unit {seed}"] = norms
    ends, refused = _stuck()
    kinds = {kind: craft(parse("Z23"), kind).norm2 for kind in ("F4+F6", "F6", "memorise")}
    ordered = list(kinds.values()) == sorted(kinds.values())
    measured = {
        "largest loss on a path": loss,
        "norm² at the end over that of z′, less 1": end,
        "paths on which z′ has the least norm": sum(gaps),
        "norm² of optimizers of Z23": kinds,
        "loss of z′ and y ∗ z′ on Z2, y = (−1, −1, 1)": ends,
    }
    holds = max(ends) < ZERO_LOSS and refused and loss < ZERO_LOSS and end < SAME_NORM and all(gaps) and ordered
    shown = figure.curves(
        [figure.Series(label, times, norms) for label, norms in profiles.items()],
        x="position on the path",
        y=figure.Axis("‖z‖²", scale="log"),
        title="The norm along paths of zero loss",
        caption=f"{names[0]}: from y ∗ z_F6, y a random unit of order 3, to z_F6.",
        horizontal={"z_F6": float(craft(parse(names[0])).norm2)},
    )
    return Outcome(
        "holds-as-corrected" if holds else "fails",
        measured,
        {"largest loss on a path": 0.0, "paths on which z′ has the least norm": len(gaps)},
        evidence=(
            "On Z2 both z_F6 and its product with the unit (−1, −1, 1) have zero loss, and no path joins them. With "
            "two nodes zero loss leaves Σ c w wᵀ = [[p, ¼], [¼, −p]] for w = (a, b). The node with c > 0, at the angle "
            "φ, has p cos 2φ + ¼ sin 2φ > 0, which never holds at φ = −π/4, so its a + b cannot change sign. The "
            "proof's intermediate value argument (eq. 85) does not apply to complex r_kkk. The paths of this check are "
            "explicit: shrink all nodes of y except one, turn the remaining node to 1, and move it to node 0."
        ),
        figures=(shown,),
        seeds=seeds,
    )


def _stuck() -> tuple[list[float], bool]:
    """Return, on Z2, the losses of z′ and of its product with a unit of order 1, and whether no path exists."""
    group = cyclic(2)
    y, base = unit(group, 1, np.pi, np.pi), craft(group)
    losses = [table_loss(*solution.weights, group) for solution in (base, y * base)]
    try:
        zero_loss_path(y, base)
    except ValueError:
        return losses, True
    return losses, False
