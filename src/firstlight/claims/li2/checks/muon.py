"""Muon and diversity (Lemmas 2 and 7 to 10, Theorem 8)."""

import numpy as np

from firstlight import _canonical as canonical
from firstlight import features, groups
from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.li2.tolerances import MUON_IDENTITY, MUON_SIGMAS
from firstlight.records import figure
from firstlight.theories import li2
from firstlight.theories.li2._muon import frechet


def ascent_direction(setting: Setting) -> Outcome:
    """Compare ⟨Ĝ, G⟩ with the nuclear norm on gradients of the joint energy; measure the gain of a small step."""
    names, K = setting.choose(quick=(("Z7", "S3"), 6), paper=(("Z71", "S4", "A5"), 200))
    seeds = setting.seeds_or(range(3))
    worst, gains, rest = 0.0, [], 0.0
    for name in names:
        group = groups.parse(name)
        for seed in seeds:
            W = features.random_starts(group, K, seed)
            G = features.energy_gradient(W, group)
            direction = li2.lemmas.polar(G)
            inner, nuclear = float(np.sum(direction * G)), float(np.linalg.norm(G, "nuc"))
            worst = max(worst, abs(inner - nuclear) / nuclear)
            gain = features.energy(W + 1e-6 * direction, group).sum() - features.energy(W, group).sum()
            gains.append(float(gain / (1e-6 * nuclear)))
        rest = max(rest, float(np.abs(li2.lemmas.polar(np.zeros((2 * group.order, K)))).max()))
    holds = worst < MUON_IDENTITY and max(abs(g - 1) for g in gains) < 1e-3 and rest == 0.0
    return Outcome(
        "holds" if holds else "fails",
        {"|⟨Ĝ, G⟩/‖G‖_* − 1|": worst, "gain of a step over the nuclear norm": gains[0], "direction at G = 0": rest},
        {"|⟨Ĝ, G⟩/‖G‖_* − 1|": 0.0, "gain of a step over the nuclear norm": 1.0, "direction at G = 0": 0.0},
        evidence="U and V come from the reduced SVD; the full SVD would add directions without gain.",
        seeds=seeds,
    )


def frechet_selection(setting: Setting) -> Outcome:
    """Compare how often each index has the largest w_i x_i, for Fréchet x, with w_i^α/Σ."""
    draws = setting.choose(quick=40_000, paper=1_000_000)
    mu = np.array([1.0, 0.8, 0.5, 0.3, 0.2])
    worst, shown = 0.0, {}
    seeds = setting.seeds_or((0,))
    for a in (0.5, 1.0, 2.0, 4.0):
        p = li2.lemmas.selection(mu, a)
        x = frechet(np.random.default_rng(seeds[0]), a, (draws, len(mu)))
        rate = np.bincount(np.argmax(mu * x, axis=1), minlength=len(mu)) / draws
        worst = max(worst, float(np.max(np.abs(rate - p) / np.sqrt(p * (1 - p) / draws))))
        shown |= {f"drawn, a = {a:g}": rate} | ({} if a != 2.0 else {f"predicted, a = {a:g}": p})
    bars = figure.bars([f"{m:g}" for m in mu], shown, x="weight w", y="share of draws", title="Which index wins")
    return Outcome(
        "holds" if worst < MUON_SIGMAS else "fails",
        {"largest deviation in standard errors": worst},
        {"largest deviation in standard errors": 0.0},
        figures=(bars,),
        seeds=seeds,
    )


def leader_wins(setting: Setting) -> Outcome:
    """Find where the flow of eq. 11 ends from Gaussian starts, with and without a positive part."""
    starts = setting.choose(quick=2000, paper=50_000)
    seeds = setting.seeds_or((0,))
    mu = np.array([1.0, 0.8, 0.6, 0.4])
    alpha = 0.3 * np.random.default_rng(seeds[0]).normal(size=(starts, len(mu)))
    lead = np.sort(mu * alpha, axis=1)
    clear = lead[:, -1] > 1.05 * np.maximum(lead[:, -2], 0)  # the step size decides ties
    expected, end = li2.lemmas.winner(mu, alpha), li2.lemmas.modes_flow(mu, alpha)
    some = clear & (expected >= 0)
    agree = float(np.mean(np.argmax(end, axis=1)[some] == expected[some]))
    none = expected < 0
    left = float(np.linalg.norm(end[none], axis=1).max())
    holds = agree == 1.0 and none.any() and left < 0.05
    return Outcome(
        "holds-as-corrected" if holds else "fails",
        {
            "starts that end at the leader, some α > 0": agree,
            "starts with no α > 0": int(none.sum()),
            "their largest norm at the end": left,
        },
        {"starts that end at the leader, some α > 0": 1.0, "their largest norm at the end": 0.0},
        evidence=(
            f"{none.sum()} of {starts} starts have no positive α. They go to the origin (norm at most {left:.2g}), not "
            "to a mode. All other starts end at their leader."
        ),
        seeds=seeds,
    )


def muon_projection(setting: Setting) -> Outcome:
    """Compare the last column of the polar factor of [Q, v] with the exact and the printed form, over |v_∥|."""
    d, r = setting.choose(quick=(10, 3), paper=(200, 40))
    seeds = setting.seeds_or(range(3))
    sizes = np.geomspace(1e-3, 1.0, 13)
    exact, printed = np.zeros(len(sizes)), np.zeros(len(sizes))
    for seed in seeds:
        random = np.random.default_rng(seed)
        Q = canonical.orthogonal(random, d, r)
        u = random.normal(size=d)
        along, across = Q @ (Q.T @ u), u - Q @ (Q.T @ u)
        across *= 0.1 / np.linalg.norm(across)
        for i, size in enumerate(sizes):
            v = size * along / np.linalg.norm(along) + across
            true = li2.lemmas.polar(np.column_stack([Q, v]))[:, -1]
            exact[i] = max(exact[i], np.linalg.norm(li2.lemmas.new_column(Q, v) - true))
            printed[i] = max(printed[i], np.linalg.norm(li2.lemmas.new_column(Q, v, printed=True) - true))
    order = float(np.polyfit(np.log(sizes[:6]), np.log(printed[:6]), 1)[0])
    small = 0.1 * along / np.linalg.norm(along) + 1e-3 * across / np.linalg.norm(across)
    true = li2.lemmas.polar(np.column_stack([Q, small]))[:, -1]
    off = float(np.linalg.norm(li2.lemmas.new_column(Q, np.asarray(small), printed=True) - true))
    holds = exact.max() < MUON_IDENTITY and abs(order - 2) < 0.1 and off > 1000 * 1e-3**2
    lines = [figure.Series("printed", sizes, printed), figure.Series("exact form", sizes, np.maximum(exact, 1e-17))]
    shown = figure.curves(
        lines,
        x=figure.Axis("|v_∥|", scale="log"),
        y=figure.Axis("error", scale="log"),
        title="Muon's new column, |v_⊥| = 0.1",
    )
    return Outcome(
        "holds-as-corrected" if holds else "fails",
        {
            "error of the exact form": float(exact.max()),
            "error as printed at |v_∥| = 0.1, |v_⊥| = 0.001": off,
            "its order in v_∥": order,
        },
        {"error of the exact form": 0.0, "its order in v_∥": 2.0},
        evidence=(
            f"For |v_∥| = 0.1, |v_⊥| = 0.001 the printed form is off by {off:.1e}, while the printed remainder "
            f"O(|v_⊥|²) is 1e-6. The error is of order {order:.2f} in v_∥."
        ),
        figures=(shown,),
        seeds=seeds,
    )


def coupon_bound(setting: Setting) -> Outcome:
    """Compare T₀ by quadrature with Monte Carlo, with the printed bound and with 1/min p, over random p."""
    trials, cases = setting.choose(quick=(2000, 6), paper=(50_000, 40))
    seeds = setting.seeds_or((0,))
    random = np.random.default_rng(seeds[0])
    printed = lambda p: max(float(min(1 / p)), len(p) * float(np.sum(1 / np.arange(1, len(p) + 1))))  # noqa: E731
    ratios, stronger, deviations = [], [], []
    for _ in range(cases):
        mu, a = random.uniform(0.3, 1.0, size=random.integers(2, 9)), random.uniform(1.0, 3.0)
        p = li2.lemmas.selection(mu, a)
        T0 = li2.lemmas.coupons(p)
        counts = li2.lemmas.collect_modes(mu, a, trials=trials, seed=int(random.integers(1 << 30)))
        ratios.append(printed(p) / T0)
        stronger.append(li2.lemmas.coupon_bound(p) / T0)
        deviations.append(abs(counts.mean() - T0) / (counts.std() / np.sqrt(trials)))
    even = li2.lemmas.coupons(np.full(8, 1 / 8)) / printed(np.full(8, 1 / 8))
    p = np.array([0.97, 0.01, 0.01, 0.01])
    holds = max(*ratios, *stronger) <= 1 + MUON_IDENTITY and max(deviations) < MUON_SIGMAS and abs(even - 1) < 1e-9
    return Outcome(
        "holds" if holds else "fails",
        {
            "largest bound / T₀": max(ratios),
            "T₀ / bound at equal p": even,
            "largest deviation of T₀ from draws, in standard errors": max(deviations),
        },
        {"largest bound / T₀": "at most 1", "T₀ / bound at equal p": 1.0},
        evidence=(
            "True but weak: min 1/p is the waiting time for the most common coupon. The waiting time for the rarest "
            f"coupon, 1/min p, is a bound too. At p = (.97, .01, .01, .01) the printed bound is {printed(p):.1f}, with "
            f"1/min p {li2.lemmas.coupon_bound(p):.0f}, and T₀ = {li2.lemmas.coupons(p):.1f}."
        ),
        seeds=seeds,
    )


def _chain(mu: np.ndarray, a: float, left: float) -> float:
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


def rebalancing(setting: Setting) -> Outcome:
    """Count nodes until all modes are found: independent nodes, halved rates, and Muon itself."""
    trials, few, L = setting.choose(quick=(3000, 150, 5), paper=(100_000, 3000, 10))
    seeds = setting.seeds_or((0,))
    mu = np.linspace(1.0, 0.5, L)
    exponents, rows, deviation = (1.5, 2.0, 3.0), {"independent": [], "T_a": [], "halved": [], "Muon": []}, 0.0
    apart = 0.0
    for done, a in enumerate(exponents):
        setting.progress(done / len(exponents), f"a = {a}")
        p = li2.lemmas.selection(mu, a)
        predicted = {"none": li2.lemmas.coupons(p), "halved": li2.lemmas.guided_coupons(p, a)}
        chain = {"none": _chain(mu, a, 1.0), "halved": _chain(mu, a, 0.5**a)}
        apart = max(apart, *(abs(predicted[guide] / chain[guide] - 1) for guide in chain))
        for guide, expected in predicted.items():
            counts = li2.lemmas.collect_modes(mu, a, trials=trials, seed=seeds[0], guide=guide)
            deviation = max(deviation, abs(counts.mean() - expected) / (counts.std() / np.sqrt(trials)))
            rows["independent" if guide == "none" else "halved"].append(float(counts.mean()))
        rows["T_a"].append(predicted["halved"])
        rows["Muon"].append(float(li2.lemmas.collect_modes(mu, a, trials=few, seed=seeds[0], guide="muon").mean()))
    holds = apart < MUON_IDENTITY and deviation < MUON_SIGMAS and max(rows["Muon"]) == L and min(rows["T_a"]) > L
    labels = [f"a = {a:g}" for a in exponents]
    bars = figure.bars(labels, rows, x="exponent of the start", y="nodes", title=f"Nodes until all {L} modes are found")
    return Outcome(
        "holds-as-corrected" if holds else "fails",
        {"from the chain of sets, relative": apart, "largest deviation of draws in standard errors": float(deviation)}
        | {name: values[1] for name, values in rows.items()},
        {"from the chain of sets, relative": 0.0, "Muon": float(L)},
        evidence=(
            f"T_a = {rows['T_a'][1]:.2f} at a = 2 matches draws with halved rates ({rows['halved'][1]:.2f}). Muon's "
            f"own flow went to a new mode every time ({rows['Muon'][1]:.0f} nodes for {L} modes), so T_a is only an "
            "upper bound for Muon."
        ),
        figures=(bars,),
        seeds=seeds,
    )
