"""The data fraction at which training generalises, against the order of the group (Figures 4 and 8)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firstlight import groups
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, below, untested, within
from firstlight.claims.li2.checks import phase
from firstlight.claims.li2.checks.boundary import PLAIN, RESIDUAL, SIGMAS
from firstlight.claims.li2.checks.phase import trained_boundaries
from firstlight.claims.li2.checks.printed import LOSS, pairs, printed_decay
from firstlight.claims.li2.checks.training import GENERALISED, described, more_often, spec, train
from firstlight.records import Criterion, figure
from firstlight.theories import li2

PRIMES = ("Z23", "Z31", "Z43", "Z53", "Z71", "Z89", "Z101", "Z127")
COMPOSITES = ("Z24", "Z36", "Z49", "Z60", "Z72", "Z90", "Z100", "Z121")
PRODUCTS = ("Z4xZ7", "Z5xZ6", "Z2xZ2xZ9", "Z13xZ11", "Z5xZ2xZ2xZ2", "Z6xZ4xZ2", "Z3xZ2xZ17", "Z2xZ3xZ3xZ5")

STORE = "li2-boundary.sqlite"
"""The store of all boundaries of trained networks, shared by the checks."""

PARTS = "parts"
"""Name of the folder that holds the working directories of all checks."""

WIDTH, RATE, DECAY, EPOCHS = 2048, 5e-4, phase.DECAY, 3000
"""The caption's width, learning rate and weight decay; epochs are not printed."""

AS_PRINTED = ("Z23", "Z31")
"""Groups on which the caption's weight decay is tested in the printed loss."""

ABOVE = 1.5
"""Fraction of that test, in units of the boundary of the released code: well above the boundary."""

RESOLUTION = 0.2
"""Largest error of an exponent, below the drift 0.23 of the residualised energy in Theorem 4."""

FALSE_ALARM = 0.01
"""Level of Fisher's exact test."""

_SPREAD = f"{SIGMAS:g} standard errors of the fit over groups, as in Theorem 4"


@dataclass(frozen=True)
class Kind:
    """A set of groups whose boundary is fitted.

    **Attributes:**

    - `names`: the groups.
    - `title`: of the figure.
    - `quick`: two groups; the larger needs a smaller share of its pairs.
    - `parts`: sets of groups in which the required share must fall.
    - `seeds`: number of seeds at paper scale, 20 as printed for Figure 4; Figure 8 prints none.
    - `prints_decay`: whether the caption prints a weight decay, which is then tested in the printed loss.
    """

    names: tuple[str, ...]
    title: str
    quick: tuple[str, str]
    parts: Mapping[str, tuple[str, ...]]
    seeds: int
    prints_decay: bool = False


def locate(setting: Setting, names: Sequence[str], seeds: Sequence[int]) -> dict[str, dict[str, float]]:
    """Return p₅₀ of trained networks by group, with its relative error; resumes from the store.

    **Arguments:**

    - `setting`: progress callback and working directory.
    - `names`: the groups.
    - `seeds`: of the networks and splits.
    """
    store = shared_store(setting.work)
    store.parent.mkdir(parents=True, exist_ok=True)
    result = trained_boundaries(
        names,
        store,
        seeds=list(seeds),
        base=phase.setting(WIDTH, RATE, EPOCHS),
        progress=lambda moment: setting.progress(0.9 * moment.done / max(moment.total, 1), "training"),
    )
    columns = ("p50", "error", "seeds", "censored")
    table = result.boundaries.set_index("task.group")
    return {name: {column: float(table.loc[name, column]) for column in columns} for name in names}


def shared_store(work: Path) -> Path:
    """Return the store of the boundaries, beside the working directories of all checks.

    Each check has a directory of its own, which changes with its source. A run is found by its spec, whatever check
    asks for it: cyclic groups are trained once for Figure 4 and for the boundaries of non-Abelian groups.

    >>> shared_store(Path(".firstlight/parts/0123456789abcdef")).as_posix()
    '.firstlight/parts/li2-boundary.sqlite'
    >>> shared_store(Path(".firstlight")).as_posix()
    '.firstlight/li2-boundary.sqlite'
    """
    return (work.parent if work.parent.name == PARTS else work) / STORE


def _energies(setting: Setting, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return p₅₀ of both energies by group."""
    boundaries_of: dict[str, dict[str, float]] = {PLAIN: {}, RESIDUAL: {}}
    for done, name in enumerate(names):
        setting.progress(0.9 + 0.1 * done / len(names), f"energies of {name}")
        for label, residualised in ((PLAIN, False), (RESIDUAL, True)):
            p50 = li2.lemmas.locate_boundary(groups.parse(name), range(5), residualised, 12, 8)
            boundaries_of[label][name] = float(np.exp(np.log(p50).mean()))
    return boundaries_of


def _measure(setting: Setting, kind: Kind) -> Measurement:
    """Locate the boundary of every group; at the quick scale, train two groups on the same share of their pairs."""
    if setting.scale == "quick":
        return same_share(setting, kind.quick, 0.42)
    seeds = setting.seeds_or(range(setting.choose(quick=0, reduced=5, paper=kind.seeds)))
    trained = locate(setting, kind.names, seeds)
    data = {
        "order": {name: groups.parse(name).order for name in kind.names},
        **({"as printed": _as_printed(setting, seeds)} if kind.prints_decay else {}),
        "trained": trained,
        "energies": _energies(setting, kind.names),
        "parts": {part: list(names) for part, names in kind.parts.items()},
    }
    used = {
        "groups": list(kind.names),
        "width": WIDTH,
        "learning rate": RATE,
        "weight decay": DECAY,
        "weight decay of the boundary in the printed loss": {name: phase.decay_of(name) for name in kind.names},
        "optimizer": "Adam",
        "activation": "x²",
        **described(spec("Z2", 1.0, WIDTH, EPOCHS, {}, 0, loss=LOSS)),
        "epochs": EPOCHS,
        "seeds": len(seeds),
    }
    return Measurement(data, used, seeds, (_figure(data, kind.title),))


def _as_printed(setting: Setting, seeds: Sequence[int]) -> dict[str, list[int]]:
    """Return which seeds generalise well above the boundary, with the caption's weight decay in the printed loss."""
    optimizer = {"learning_rate": RATE, "weight_decay": DECAY}
    fields = {"loss": LOSS, "stop": [GENERALISED], "recording": {"every": 25}}
    outcomes = {}
    for name in AS_PRINTED:
        fraction = ABOVE * float(li2.lemmas.released_boundary(groups.parse(name).order))
        specs = [spec(name, fraction, WIDTH, EPOCHS, optimizer, seed, **fields) for seed in seeds]
        records = [outcome.record for outcome in train(setting, "li2-as-printed", specs)]
        outcomes[name] = [int(record.summary["generalised_at"] is not None) for record in records]
    return outcomes


def same_share(setting: Setting, names: Sequence[str], fraction: float) -> Measurement:
    """Train two groups on the same share of their pairs and count the seeds that generalise."""
    width, rate, decay, steps = 128, 1e-2, 1e-3, 600
    seeds = setting.seeds_or(range(6))
    fields = {"loss": LOSS, "stop": [GENERALISED], "recording": {"every": 25}}
    specs = [
        spec(name, fraction, width, steps, {"learning_rate": rate, "weight_decay": eta}, seed, **fields)
        for name in names
        for eta in [printed_decay(decay, pairs(name, fraction))]
        for seed in seeds
    ]
    reached = [o.record.summary["generalised_at"] is not None for o in train(setting, "same-share", specs)]
    n = len(seeds)
    outcomes = {name: [int(r) for r in reached[i * n : (i + 1) * n]] for i, name in enumerate(names)}
    used = {
        "groups": list(names),
        "fraction": fraction,
        "width": width,
        "learning rate": rate,
        "weight decay": f"n · {decay / 2:g}",
        "optimizer": "Adam",
        "activation": "x²",
        **described(specs[0]),
        "epochs": steps,
        "seeds": n,
    }
    bars = figure.bars(
        list(names),
        {"share of seeds that generalise": [float(np.mean(outcomes[name])) for name in names]},
        x="group",
        y="share of seeds",
        title=f"Trained on {fraction:.0%} of the pairs",
    )
    return Measurement({"same share": outcomes}, used, seeds, (bars,))


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    """Require that p falls with M, and compare the exponent of n with M log M and with Theorem 4's energies."""
    falls = "as M grows, the share of the pairs required to generalise falls"
    law = "p ~ M⁻¹ log M, that is n ∝ M log M"
    if "same share" in data:
        (small, few), (large, many) = data["same share"].items()
        return [
            below(
                falls,
                f"p-value that {large} does not generalise more often than {small} on the same share",
                more_often(many, few),
                FALSE_ALARM,
                reason="Fisher's exact test over seeds",
            ),
            untested(law, "two groups do not determine an exponent"),
        ]
    order = {name: float(M) for name, M in data["order"].items()}
    p50 = {name: row["p50"] for name, row in data["trained"].items()}
    fit = _fit(order, p50)
    residual = _fit(order, data["energies"][RESIDUAL])
    apart = float(np.hypot(fit.drift_error, residual.drift_error))
    rows = [
        at_most(
            "every group has a boundary within the search",
            "seeds without one",
            [row["censored"] for row in data["trained"].values()],
            0,
            form="precondition",
            reason="a seed without a boundary has no p₅₀",
        ),
        at_most(
            "the fit can tell M log M from the drift of Theorem 4's energies",
            f"{SIGMAS:g} standard errors of the exponent",
            SIGMAS * fit.drift_error,
            RESOLUTION,
            form="precondition",
            reason="the residualised energy of Theorem 4 drifts like M^0.23",
        ),
    ]
    for name, outcomes in data.get("as printed", {}).items():
        rows += _decay_rows(name, outcomes)
    for part, names in data["parts"].items():
        mine = _fit({name: order[name] for name in names}, p50)
        rows.append(
            below(
                f"{falls}, {part}",
                f"exponent of M in p plus {SIGMAS:g} standard errors",
                mine.power - 2 + SIGMAS * mine.power_error,
                0.0,
                reason=_SPREAD,
            )
        )
    return [
        *rows,
        within(
            law,
            "fitted power of M in n",
            fit.power,
            fit.power - fit.drift,
            SIGMAS * fit.drift_error,
            form="printed",
            reason=f"the power that M log M has over these orders, and {_SPREAD}",
        ),
        at_least(
            "n grows at least like M log M",
            f"exponent of M in n/(M ln M) plus {SIGMAS:g} standard errors",
            fit.drift + SIGMAS * fit.drift_error,
            0.0,
            form="corrected",
            reason=_SPREAD,
        ),
        at_most(
            "n grows at most like the boundary of Theorem 4's residualised energy",
            f"exponent of M in n over that of the energy, less {SIGMAS:g} standard errors",
            fit.drift - residual.drift - SIGMAS * apart,
            0.0,
            form="corrected",
            reason=_SPREAD,
        ),
    ]


def _decay_rows(name: str, outcomes: Sequence[Any]) -> list[Criterion]:
    """Compare both readings of the caption's weight decay where the boundary search has all seeds generalise."""
    share = float(np.mean([float(x) for x in outcomes]))
    quantity = f"share of seeds that generalise on {ABOVE:g} times the share of the boundary, {name}"
    return [
        at_least(
            "networks above the boundary generalise with the caption's weight decay in the printed loss",
            quantity,
            share,
            0.5,
            form="printed",
            reason="at the boundary half of the seeds do",
        ),
        below(
            "they do not: the caption's weight decay belongs to the released code's loss, n/2 times as much",
            quantity,
            share,
            0.5,
            form="corrected",
            reason="at the boundary half of the seeds do",
        ),
    ]


def _fit(order: Mapping[str, float], p50: Mapping[str, float]) -> Any:
    return li2.lemmas.fit_boundary(np.array(list(order.values())), np.array([p50[name] for name in order], float))


def _figure(data: Mapping[str, Any], title: str) -> figure.FigureData:
    names = sorted(data["order"], key=data["order"].__getitem__)
    M = np.array([data["order"][name] for name in names], float)
    trained = [data["trained"][name] for name in names]
    p, error = (np.array([row[column] for row in trained]) for column in ("p50", "error"))
    series = [figure.Series("trained networks", M, p, p * np.exp(-error), p * np.exp(error))]
    series += [figure.Series(label, M, [p50[name] for name in names]) for label, p50 in data["energies"].items()]
    line = np.geomspace(M.min() * 0.9, M.max() * 1.1, 60)
    theory = figure.Series("2.7482 ln M / M", line, li2.lemmas.released_boundary(line))
    x, y = figure.Axis("order of the group M", scale="log"), figure.Axis("data fraction at the boundary", scale="log")
    return figure.scatter(series, x=x, y=y, title=title, caption=", ".join(names), fits=[theory])


CYCLIC = Kind(
    PRIMES + COMPOSITES, "Cyclic groups", ("Z13", "Z31"), {"prime M": PRIMES, "composite M": COMPOSITES}, 20, True
)
PRODUCT = Kind(PRODUCTS, "Product groups", ("Z3xZ4", "Z4xZ7"), {"product groups": PRODUCTS}, 5)

cyclic_groups = Check(lambda setting: _measure(setting, CYCLIC), _judge)
product_groups = Check(lambda setting: _measure(setting, PRODUCT), _judge)
