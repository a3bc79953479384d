"""Paths of zero loss between global optimizers, and the optimizer of least norm."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, within
from firstlight.claims.cogo.checks._zero import ZERO_POTENTIAL, zero_loss
from firstlight.groups import cyclic, parse
from firstlight.records import Criterion, figure
from firstlight.theories.cogo import craft, table_loss, zero_loss_path
from firstlight.theories.cogo.lemmas import random_unit, unit

SAME_NORM = 1e-11
"""Relative error of ‖z‖², a sum of at most 3 × 36 × 576 squares over the path's products: 64 × √62208 × 3 × 2⁻⁵²."""


def _measure(setting: Setting) -> Measurement:
    """Measure loss and norm along explicit paths from y ∗ z′ to z′, for random units y."""
    seeds = setting.seeds_or(range(3))
    names = setting.choose(quick=("Z7", "Z6"), paper=("Z7", "Z12", "Z4xZ6", "Z23"))
    times = np.linspace(0, 1, setting.choose(quick=41, paper=201))
    losses, ends, least, profiles = [], [], [], {}
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = parse(name)
        for kind in ("F6", "memorise") if group.order < 10 else ("F6",):
            base = craft(group, kind)
            for seed in seeds:
                path = zero_loss_path(random_unit(group, 3, seed), base)
                points = [path.at(float(t)) for t in times]
                losses.append(max(table_loss(*point.weights, group) / max(point.norm2, 1) ** 2 for point in points))
                norms = np.array([point.norm2 for point in points])
                ends.append(norms[-1] / base.norm2)
                least.append(norms.min() / norms[-1])
                if kind == "F6" and name == names[0]:
                    profiles[f"unit {seed}"] = norms
    shown = figure.curves(
        [figure.Series(label, times, norms) for label, norms in profiles.items()],
        x="position on the path",
        y=figure.Axis("‖z‖²", scale="log"),
        title="The norm along paths of zero loss",
        caption=f"{names[0]}: from y ∗ z_F6, y a random unit of order 3, to z_F6.",
        horizontal={"z_F6": float(craft(parse(names[0])).norm2)},
    )
    kinds = [craft(parse("Z23"), kind).norm2 for kind in ("F4+F6", "F6", "memorise")]
    data = {"loss": losses, "end": ends, "least": least, "norms of Z23 by order": kinds, "Z2": _stuck()}
    return Measurement(
        data,
        {"groups": names, "points": len(times)},
        seeds,
        (shown,),
        note=(
            "On Z2 zero loss means Σ abc = ¼ and Σ (a² + b²) c = 0, so that Σ c (a + b)² = ½. With two nodes, whose c "
            "have opposite signs, a + b of the node with c > 0 never vanishes. The proof's intermediate value argument "
            "(eq. 85) does not apply to complex r_kkk. The paths are explicit: shrink all nodes of y except one, turn "
            "the remaining node to 1, and move it to node 0."
        ),
    )


def _stuck() -> dict[str, list[float]]:
    """Return, for z′ and its product with a unit of order 1 on Z2, the loss, Σ c (a + b)², and a + b where c > 0."""
    group = cyclic(2)
    y, base = unit(group, 1, np.pi, np.pi), craft(group)
    solutions = (base, y * base)
    parts = [np.real(solution.z[:, 1]) for solution in solutions]
    return {
        "losses": [table_loss(*solution.weights, group) for solution in solutions],
        "Σ c (a + b)²": [float(np.sum(c * (a + b) ** 2)) for a, b, c in parts],
        "a + b": [float((a + b)[np.argmax(c)]) for a, b, c in parts],
    }


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    """Require zero loss on every path and the least norm at its end; show two optimizers that no path joins."""
    norms, stuck = data["norms of Z23 by order"], data["Z2"]
    reason = "sums of at most 62208 squares of products: 64 × √62208 × 3 × 2⁻⁵²"
    signs = stuck["a + b"]
    return [
        zero_loss("both ends are global optimizers on Z2", "loss of z′ and y ∗ z′", stuck["losses"], "precondition"),
        above(
            "a path of zero loss joins any two optimizers z = y ∗ z′ and z′",
            "Z2, y = (−1, −1, 1): sign of a + b of the node with c > 0 at one end times that at the other; "
            "zero loss keeps it",
            float(np.sign(signs[0]) * np.sign(signs[1])),
            0,
            form="printed",
        ),
        within(
            "on Z2 zero loss keeps the sign of a + b of the node with c > 0, so that no path changes it",
            "Σ c (a + b)² at both ends",
            stuck["Σ c (a + b)²"],
            0.5,
            ZERO_POTENTIAL,
            reason="a sum of two products rounds far below 1e-12",
            form="corrected",
        ),
        zero_loss(
            "a path of zero loss joins y ∗ z′ and z′ if z′ satisfies eq. (4) and y has order 2 or more",
            "largest loss on a path, over ‖z‖⁴",
            data["loss"],
        ),
        within("the path ends at z′", "‖z‖² at the end over that of z′", data["end"], 1, SAME_NORM, reason=reason),
        at_least(
            "L2 regularisation prefers z′ on the path",
            "least ‖z‖² over that of z′",
            data["least"],
            1 - SAME_NORM,
            reason=reason,
        ),
        above(
            "L2 regularisation prefers lower orders",
            "‖z‖² of an optimizer of Z23 less that of the next lower order (4 and 6, 6, d²)",
            np.diff(norms),
            0,
        ),
    ]


zero_loss_paths = Check(_measure, _judge)
