"""Generalisation near the boundary: learning rates (Figure 3), and two shares of the pairs of Z127 (Section 5.4)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from firstlight import sweeps
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, below
from firstlight.claims.li2.checks.printed import LOSS, pairs, printed_decay
from firstlight.claims.li2.checks.training import GENERALISED, described, more_often, spec, train
from firstlight.records import Criterion, figure

FALSE_ALARM = 0.01
"""Level of Fisher's exact test."""

HIGH, LOW = 0.9, 0.1
"""Shares of seeds that count as "with high probability" and as its opposite."""

_FRACTIONS = {
    "Z17": (0.35, 0.42, 0.43, 0.6),
    "Z23": (0.3, 0.34, 0.35, 0.6),
    "Z71": (0.12, 0.165, 0.19, 0.27),
    "Z127": (0.09, 0.115, 0.13, 0.17),
}
"""Data fractions: one below the boundary, two in the critical region, one above."""

_CHOSEN = "Rates and fractions were chosen on seeds 0 to 11; the seeds here are others."

Outcomes = dict[str, list[int]]
"""Whether each seed generalised, by learning rate or by fraction."""


def _stop(steps: int) -> list[dict[str, Any]]:
    """End a run once it has generalised, or has memorised and stalled."""
    return [GENERALISED, sweeps.default_stall(steps).model_dump(exclude_none=True)]


def _measure_rates(setting: Setting) -> Measurement:
    """Train below, in and above the critical region with a small and a large learning rate."""
    names = setting.choose(quick=("Z17",), paper=("Z23", "Z71", "Z127"))
    small, large = setting.choose(quick=(2e-2, 3e-1), paper=(1e-3, 1e-2))
    width, decay, steps = setting.choose(quick=(128, 1e-3, 1500), paper=(1024, 2e-4, 3000))
    seeds = setting.seeds_or(range(12, setting.choose(quick=24, paper=27)))
    keys = [(name, p, rate) for name in names for p in _FRACTIONS[name] for rate in (small, large)]
    specs = [
        spec(
            name,
            p,
            width,
            steps,
            {"learning_rate": rate, "weight_decay": printed_decay(decay, pairs(name, p))},
            seed,
            loss=LOSS,
            stop=_stop(steps),
            recording={"every": 25},
        )
        for name, p, rate in keys
        for seed in seeds
    ]
    outcomes = [o.record for o in train(setting, "li2-figure-3", specs)]
    n = len(seeds)
    reached: dict[str, Any] = {name: {} for name in names}
    accuracy: dict[tuple[str, float, float], float] = {}
    for i, (name, p, rate) in enumerate(keys):
        mine = outcomes[i * n : (i + 1) * n]
        word = "small rate" if rate == small else "large rate"
        reached[name].setdefault(f"{p:g}", {})[word] = [int(r.summary["generalised_at"] is not None) for r in mine]
        accuracy[name, p, rate] = float(np.mean([r.table["test_accuracy"][-1] for r in mine]))
    panels = [
        figure.curves(
            [
                figure.Series(
                    f"learning rate {rate:g}", _FRACTIONS[name], [accuracy[name, p, rate] for p in _FRACTIONS[name]]
                )
                for rate in (small, large)
            ],
            x="data fraction",
            y="test accuracy at the end",
            title=name,
        )
        for name in names
    ]
    used = {
        "groups": list(names),
        "width": width,
        "seeds": n,
        "learning rates": [small, large],
        "fractions": {name: list(_FRACTIONS[name]) for name in names},
        "weight decay": f"n · {decay / 2:g}",
        "optimizer": "Adam",
        "activation": "x²",
        **described(specs[0]),
        "epochs": steps,
    }
    shown = figure.panels(panels, columns=3, title="Near the boundary, by learning rate")
    return Measurement({"generalised": reached}, used, seeds, (shown,), _CHOSEN)


def _judge_rates(data: Mapping[str, Any]) -> list[Criterion]:
    """Require a transition at either rate, and a difference of the rates in the critical region."""
    rows = []
    for name, by_fraction in data["generalised"].items():
        first, *critical, last = by_fraction.values()
        pooled = {rate: [x for row in critical for x in row[rate]] for rate in ("small rate", "large rate")}
        rows += [
            at_most(
                f"no generalisable solutions below the boundary of {name}",
                "share of seeds that generalise at the lowest fraction, by rate",
                {rate: _share(first[rate]) for rate in first},
                LOW,
                reason="one seed of ten",
            ),
            at_least(
                f"generalisable solutions above the boundary of {name}",
                "share of seeds that generalise at the highest fraction, by rate",
                {rate: _share(last[rate]) for rate in last},
                HIGH,
                reason="nine seeds of ten",
            ),
            above(
                f"in the critical region of {name}, the small learning rate generalises more often",
                "share of runs that generalise, small rate less large rate",
                _share(pooled["small rate"]) - _share(pooled["large rate"]),
                0.0,
                reason="an order; the next row has its significance",
            ),
            below(
                f"in the critical region of {name}, the difference is significant",
                "p-value of no difference",
                more_often(pooled["small rate"], pooled["large rate"]),
                FALSE_ALARM,
                reason="Fisher's exact test over seeds and two fractions",
            ),
        ]
    return rows


learning_rates = Check(_measure_rates, _judge_rates)


def _share(outcomes: Sequence[Any]) -> float:
    return float(np.mean([float(x) for x in outcomes]))


def _measure_shares(setting: Setting) -> Measurement:
    """Train one group on the two printed shares of its pairs, and on a smaller share."""
    name, shares = setting.choose(quick=("Z17", (0.6, 0.38, 0.3)), paper=("Z127", (0.16, 0.13, 0.11)))
    width, rate, decay, steps = setting.choose(quick=(128, 1e-2, 1e-3, 800), paper=(1024, 5e-4, 2e-4, 3000))
    seeds = setting.seeds_or(range(setting.choose(quick=5, paper=10)))
    optimizers = {p: {"learning_rate": rate, "weight_decay": printed_decay(decay, pairs(name, p))} for p in shares}
    fields = {"loss": LOSS, "stop": _stop(steps), "recording": {"every": 25}}
    specs = [spec(name, p, width, steps, optimizers[p], seed, **fields) for p in shares for seed in seeds]
    records = [o.record for o in train(setting, "li2-section-5-4", specs)]
    n = len(seeds)
    words = ("larger share", "smaller share", "smallest share")
    parts = {word: records[i * n : (i + 1) * n] for i, word in enumerate(words)}
    data = {
        "generalised": {w: [int(r.summary["generalised_at"] is not None) for r in mine] for w, mine in parts.items()},
        "memorised": {w: [int(r.summary["memorised_at"] is not None) for r in mine] for w, mine in parts.items()},
        "fraction": dict(zip(words, shares, strict=True)),
    }
    used = {
        "group": name,
        "fractions": list(shares[:2]),
        "third fraction": shares[2],
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
        [f"{p:.0%}" for p in shares],
        {
            "generalise": [_share(data["generalised"][w]) for w in words],
            "memorise": [_share(data["memorised"][w]) for w in words],
        },
        x="share of the pairs",
        y="share of seeds",
        title=name,
    )
    return Measurement(data, used, seeds, (bars,))


def _judge_shares(data: Mapping[str, Any]) -> list[Criterion]:
    """Require generalisation at the larger share in nearly all seeds, and at the smaller share in nearly none."""
    reached, p = data["generalised"], data["fraction"]
    return [
        at_least(
            "the training pairs are memorised",
            "share of seeds, by fraction",
            {word: _share(mine) for word, mine in data["memorised"].items()},
            1.0,
            form="precondition",
            reason="every seed; a network that has not memorised is in neither phase",
        ),
        at_least(
            f"with {p['larger share']:.0%} of the data, generalisable solutions with high probability",
            "share of seeds that generalise",
            _share(reached["larger share"]),
            HIGH,
            reason="nine of ten",
        ),
        at_most(
            f"with {p['smaller share']:.0%} of the data, non-generalisable solutions with high probability",
            "share of seeds that generalise",
            _share(reached["smaller share"]),
            LOW,
            form="printed",
            reason="one of ten",
        ),
        at_most(
            f"with {p['smallest share']:.0%} of the data, non-generalisable solutions with high probability",
            "share of seeds that generalise",
            _share(reached["smallest share"]),
            LOW,
            form="corrected",
            reason="one of ten",
        ),
    ]


two_shares = Check(_measure_shares, _judge_shares)
