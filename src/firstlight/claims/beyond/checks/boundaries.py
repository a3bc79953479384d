"""The data fraction at which networks generalise on non-Abelian groups."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import groups
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, below, untested
from firstlight.claims.li2.checks import boundaries, phase
from firstlight.claims.li2.checks.boundary import SIGMAS
from firstlight.claims.li2.checks.training import more_often
from firstlight.records import Criterion, figure
from firstlight.theories import li2

CYCLIC = ("Z23", "Z24", "Z31", "Z36", "Z43", "Z49", "Z53", "Z60")
DIHEDRAL = ("D12", "D18", "D23")
HARDER = ("S4", "SL(2,3)", "Dic10", "A5")

LIKE_CYCLIC = 1.2
"""Factor up to which dihedral groups count as cyclic ones: that of Theorem 4's energies between d = 1 and d = 2."""

NEARLY_ALL = 0.9
"""Share of seeds that generalise."""

FALSE_ALARM = 0.01
"""Level of Fisher's exact test."""

_SPREAD = f"{SIGMAS:g} standard errors: of p₅₀ over seeds, and of the cyclic groups' fit"


def _measure(setting: Setting) -> Measurement:
    """Locate the boundaries of cyclic and non-Abelian groups; at the quick scale, train on one share of the pairs."""
    if setting.scale == "quick":
        return boundaries.same_share(setting, ("Z24", "D12", "S4", "SL(2,3)"), 0.42)
    seeds = setting.seeds_or(range(5))
    trained = boundaries.locate(setting, CYCLIC + DIHEDRAL + HARDER, seeds)
    parsed = {name: groups.parse(name) for name in trained}
    data = {
        "order": {name: group.order for name, group in parsed.items()},
        "dimension": {name: max(irrep.dim for irrep in group.irreps()) for name, group in parsed.items()},
        "trained": trained,
    }
    used = {
        "groups": list(trained),
        "width": boundaries.WIDTH,
        "learning rate": boundaries.RATE,
        "weight decay": {name: phase.decay_of(name) for name in trained},
        "loss": "½ sum of ‖P⊥(Y − Ŷ)‖², P⊥ over samples",
        "epochs": boundaries.EPOCHS,
        "optimizer": "Adam",
        "activation": "x²",
        "seeds": len(seeds),
    }
    return Measurement(data, used, seeds, (_figure(data),))


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    """Compare n of non-Abelian groups with that of cyclic groups of the same order."""
    like, more, less = (
        "dihedral groups generalise on the share that cyclic groups of their order need",
        "groups with irreps of dimension 3 or more, or quaternionic irreps, need more pairs",
        "no group needs d² times the pairs of a cyclic group, d its largest dimension",
    )
    if "same share" in data:
        outcomes = data["same share"]
        cyclic, dihedral, *harder = outcomes
        return [
            at_least(
                like,
                "share of seeds that generalise",
                [_mean(outcomes[g]) for g in (cyclic, dihedral)],
                NEARLY_ALL,
                reason="nearly all seeds are nine of ten",
            ),
            *(
                below(
                    f"{more}: {name}",
                    f"p-value that {cyclic} does not generalise more often on the same share",
                    more_often(outcomes[cyclic], outcomes[name]),
                    FALSE_ALARM,
                    reason="Fisher's exact test over seeds",
                )
                for name in harder
            ),
            untested(less, "one share of the pairs does not locate a boundary"),
        ]
    rows = [
        at_most(
            "every group has a boundary within the search",
            "seeds without one",
            [row["censored"] for row in data["trained"].values()],
            0,
            form="precondition",
            reason="a seed without a boundary has no p₅₀",
        )
    ]
    for name in (*DIHEDRAL, *HARDER):
        ratio, error = _over_cyclic(data, name)
        if name in DIHEDRAL:
            quantity = "log of n over that of cyclic groups, less its error"
            rows.append(at_most(f"{like}: {name}", quantity, ratio - error, float(np.log(LIKE_CYCLIC)), reason=_SPREAD))
        else:
            quantity = "log of n over that of cyclic groups, less its error"
            rows.append(above(f"{more}: {name}", quantity, ratio - error, 0.0, reason=_SPREAD))
        square = float(2 * np.log(data["dimension"][name]))
        quantity = "log of n over that of cyclic groups, plus its error"
        rows.append(below(f"{less}: {name}", quantity, ratio + error, square, reason=_SPREAD))
    return rows


non_abelian_groups = Check(_measure, _judge)


def _mean(outcomes: Any) -> float:
    return float(np.mean([float(x) for x in outcomes]))


def _over_cyclic(data: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Return the log of p₅₀ over the cyclic groups' fit at the same order, and three standard errors of it."""
    x = np.log([data["order"][g] for g in CYCLIC])
    y = np.log([data["trained"][g]["p50"] for g in CYCLIC])
    slope, height = np.polyfit(x, y, 1)
    rest = y - height - slope * x
    here = np.log(data["order"][name])
    variance = rest @ rest / (len(x) - 2) * (1 / len(x) + (here - x.mean()) ** 2 / np.sum((x - x.mean()) ** 2))
    error = np.hypot(data["trained"][name]["error"], np.sqrt(variance))
    return float(np.log(data["trained"][name]["p50"]) - height - slope * here), float(SIGMAS * error)


def _figure(data: Mapping[str, Any]) -> figure.FigureData:
    series = []
    for label, names in (("cyclic", CYCLIC), ("dihedral", DIHEDRAL), ("other", HARDER)):
        M = np.array([data["order"][name] for name in names], float)
        p, error = (np.array([data["trained"][name][column] for name in names]) for column in ("p50", "error"))
        series.append(figure.Series(label, M, p, p * np.exp(-error), p * np.exp(error)))
    line = np.geomspace(20, 70, 60)
    return figure.scatter(
        series,
        x=figure.Axis("order of the group M", scale="log"),
        y=figure.Axis("data fraction at the boundary", scale="log"),
        title="Non-Abelian groups need more pairs",
        caption=", ".join((*CYCLIC, *DIHEDRAL, *HARDER)),
        fits=[figure.Series("2.7482 ln M / M", line, li2.lemmas.released_boundary(line))],
    )
