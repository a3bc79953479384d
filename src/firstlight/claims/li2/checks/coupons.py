"""How many nodes find all modes: independent nodes, halved rates, and Muon itself (Lemma 10, Theorem 8)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_most, equals, within
from firstlight.claims.li2.checks.muon import SIGMAS
from firstlight.records import Criterion, figure
from firstlight.theories import li2

QUADRATURE = 1e-10
"""Relative error of T₀ by Gauss–Legendre quadrature on 60 pieces, stated as 1e-12, times 100."""
LARGE = 40.0
"""The exponent at which T_a should be near L."""


def _measure_bound(setting: Setting) -> Measurement:
    """Compare T₀ by quadrature with Monte Carlo and with the printed bound, over random p; then at equal p."""
    trials, cases = setting.choose(quick=(2000, 6), paper=(50_000, 40))
    seeds = setting.seeds_or((0,))
    random = np.random.default_rng(seeds[0])
    data: dict[str, Any] = {"ratios": [], "deviations": []}
    for _ in range(cases):
        mu, a = random.uniform(0.3, 1.0, size=random.integers(2, 9)), random.uniform(1.0, 3.0)
        p = li2.lemmas.selection(mu, a)
        T0 = li2.lemmas.coupons(p)
        counts = li2.lemmas.collect_modes(mu, a, trials=trials, seed=int(random.integers(1 << 30)))
        data["ratios"].append(_printed_bound(p) / T0)
        data["deviations"].append(float((counts.mean() - T0) / (counts.std() / np.sqrt(trials))))
    equal = np.full(8, 1 / 8)
    data["equal"] = li2.lemmas.coupons(equal) / _printed_bound(equal)
    return Measurement(data, {"cases": cases, "trials": trials}, seeds)


def _printed_bound(p: np.ndarray) -> float:
    """Compute max(min_l 1/p_l, L Σ_{l=1}^L 1/l)."""
    return max(float(min(1 / p)), len(p) * float(np.sum(1 / np.arange(1, len(p) + 1))))


def _judge_bound(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the bound in every case, with equality at equal p; T₀ must be the mean of draws."""
    return [
        within(
            "T₀ is the expected number of draws",
            "deviation of the mean of draws from T₀, in standard errors",
            data["deviations"],
            0.0,
            SIGMAS,
            reason=f"one of {len(data['deviations'])} means is farther off with probability 7 × 10⁻⁶ each",
            form="precondition",
        ),
        at_most(
            "T₀ ≥ max(min_l 1/p_l, L Σ 1/l)",
            "the bound over T₀, for random p",
            data["ratios"],
            1 + QUADRATURE,
            reason="quadrature errs by 1e-12; times 100",
        ),
        within(
            "equality holds if all p_l are equal",
            "T₀ over the bound at p = 1/8",
            data["equal"],
            1.0,
            QUADRATURE,
            reason="quadrature errs by 1e-12; times 100",
        ),
    ]


coupon_bound = Check(_measure_bound, _judge_bound)


def chain(mu: np.ndarray, a: float, left: float) -> float:
    """Compute the expected draws until all modes are found, by first-step analysis over the sets of found modes.

    A mode that is already found is drawn at `left` times its rate.
    """
    rates = np.asarray(mu, float) ** a
    bits = 1 << np.arange(len(rates))
    expected = np.zeros(1 << len(rates))
    for taken in range(len(expected) - 2, -1, -1):
        new = (taken & bits) == 0
        all_rates = rates[new].sum() + left * rates[~new].sum()
        expected[taken] = (all_rates + rates[new] @ expected[taken | bits[new]]) / rates[new].sum()
    return float(expected[0])


def _measure_nodes(setting: Setting) -> Measurement:
    """Count nodes until all modes are found: independent nodes, halved rates, and Muon itself."""
    trials, few, L = setting.choose(quick=(3000, 150, 5), paper=(100_000, 3000, 10))
    seeds = setting.seeds_or((0,))
    mu = np.linspace(1.0, 0.5, L)
    exponents = (1.5, 2.0, 3.0)
    rows: dict[str, list[float]] = {"independent": [], "T_a": [], "halved": [], "Muon": []}
    data: dict[str, Any] = {"L": L, "chain": [], "bound": [], "deviations": {"none": [], "halved": []}}
    data |= {"Muon from T_a": []}
    for done, a in enumerate(exponents):
        setting.progress(done / len(exponents), f"a = {a}")
        p = li2.lemmas.selection(mu, a)
        predicted = {"none": li2.lemmas.coupons(p), "halved": li2.lemmas.guided_coupons(p, a)}
        data["chain"] += [predicted["none"] / chain(mu, a, 1.0), predicted["halved"] / chain(mu, a, 0.5**a)]
        data["bound"].append(max(1 / p.min(), float(np.sum(1 / np.arange(1, L + 1)))) / predicted["none"])
        counts = {
            guide: li2.lemmas.collect_modes(mu, a, trials=trials, seed=seeds[0], guide=guide) for guide in predicted
        }
        for guide, expected in predicted.items():
            error = counts[guide].std() / np.sqrt(trials)
            data["deviations"][guide].append(float((counts[guide].mean() - expected) / error))
        muon = li2.lemmas.collect_modes(mu, a, trials=few, seed=seeds[0], guide="muon")
        # Where every run needs the same number of nodes the spread is 0, and one node in one run is the resolution.
        error = max(muon.std(), 1.0) / np.sqrt(few)
        data["Muon from T_a"].append(float((muon.mean() - predicted["halved"]) / error))
        values = (counts["none"].mean(), predicted["halved"], counts["halved"].mean(), muon.mean())
        for name, value in zip(rows, values, strict=True):
            rows[name].append(float(value))
    data |= {"nodes": rows, "large a": _large_exponent(L)}
    bars = figure.bars(
        [f"a = {a:g}" for a in exponents],
        rows,
        x="exponent of the start",
        y="nodes",
        title=f"Nodes until all {L} modes are found",
    )
    return Measurement(data, {"mu": mu, "trials": trials, "Muon trials": few}, seeds, (bars,))


def _large_exponent(L: int) -> dict[str, float]:
    """Return T_a/L at a large exponent, for rates within and beyond a factor of 2."""
    spans = {"max μ < 2 min μ": np.linspace(1.0, 0.7, L), "max μ > 2 min μ": np.linspace(1.0, 0.3, L)}
    return {name: chain(mu, LARGE, 0.5**LARGE) / L for name, mu in spans.items()}


def _judge_nodes(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge T₀ and T_a: for Muon as printed, and for halved rates."""
    nodes, L, sampling = data["nodes"], data["L"], "a mean of draws is farther off with probability 7 × 10⁻⁶"
    return [
        within(
            "Pr[w → ζ_l] = μ_l^a/Σμ^a: independent nodes need T₀ of eq. 43",
            "deviation of the mean number of nodes from T₀, in standard errors",
            data["deviations"]["none"],
            0.0,
            SIGMAS,
            reason=sampling,
        ),
        at_most(
            "T₀ ≥ max(1/min_l p_l, Σ 1/l)",
            "the bound over T₀",
            data["bound"],
            1 + QUADRATURE,
            reason="quadrature errs by 1e-12; times 100",
        ),
        within(
            "nodes trained one after the other by Muon need T_a = 2^{−a}T₀ + (1 − 2^{−a})L of them",
            "deviation of the mean number of nodes from T_a, in standard errors",
            data["Muon from T_a"],
            0.0,
            SIGMAS,
            reason=sampling,
            form="printed",
        ),
        within(
            "T_a is exact for nodes whose μ is halved on modes already taken",
            "deviation of the mean number of nodes from T_a, in standard errors",
            data["deviations"]["halved"],
            0.0,
            SIGMAS,
            reason=sampling,
            form="corrected",
        ),
        within(
            "T₀ and T_a are the expected numbers",
            "quadrature over the exact chain of sets of found modes",
            data["chain"],
            1.0,
            QUADRATURE,
            reason="quadrature errs by 1e-12; times 100",
            form="corrected",
        ),
        equals(
            "under Muon itself L nodes suffice",
            f"mean number of nodes for {L} modes at a = 1.5, 2, 3",
            nodes["Muon"],
            [float(L)] * len(nodes["Muon"]),
            form="corrected",
        ),
        above(
            "T_a is an upper bound for Muon",
            "T_a less Muon's nodes",
            list(np.subtract(nodes["T_a"], nodes["Muon"])),
            0.0,
            form="corrected",
        ),
        within(
            "for large a, T_a ~ L for all μ ≤ 1",
            "T_a/L at a = 40 for μ from 1 to 0.3",
            data["large a"]["max μ > 2 min μ"],
            1.0,
            0.01,
            reason="a limit of 1, to 1 %",
            form="printed",
        ),
        within(
            "for large a, T_a ~ L if max μ < 2 min μ",
            "T_a/L at a = 40 for μ from 1 to 0.7",
            data["large a"]["max μ < 2 min μ"],
            1.0,
            0.01,
            reason="the rest is at most 2 (max μ/2 min μ)^a = 3e-6",
            form="corrected",
        ),
    ]


rebalancing = Check(_measure_nodes, _judge_nodes)
