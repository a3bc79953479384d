"""Muon's direction and projection, and the mode that a node selects (Lemmas 2 and 7 to 9)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import _canonical as canonical
from firstlight import features, groups
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, within
from firstlight.records import Criterion, figure
from firstlight.theories import li2
from firstlight.theories.li2._muon import frechet

EPS = 2.0**-52
SIGMAS = 4.5
"""Standard errors by which a mean over draws may deviate: each with probability 7 × 10⁻⁶."""

_STEP = 1e-4
_RATE = 0.03
"""Length of a step of the flow."""
_LEAD = 1.05
"""Ratio of the two largest μα(0) below which the step size decides the winner."""


def _measure_direction(setting: Setting) -> Measurement:
    """Compare ⟨Ĝ, G⟩ with the nuclear norm on gradients of the joint energy; measure the gain of a small step."""
    names, K = setting.choose(quick=(("Z7", "S3"), 6), paper=(("Z71", "S4", "A5"), 200))
    seeds = setting.seeds_or(range(3))
    data: dict[str, Any] = {"identity": [], "ascent": [], "gain": [], "rest": 0.0, "size": 0}
    for name in names:
        group = groups.parse(name)
        for seed in seeds:
            W = features.random_starts(group, K, seed)
            G = features.energy_gradient(W, group)
            direction = li2.lemmas.polar(G)
            inner, nuclear = float(np.sum(direction * G)), float(np.linalg.norm(G, "nuc"))
            data["identity"].append(inner / nuclear)
            data["ascent"].append(inner / float(np.linalg.norm(G)))
            ahead, behind = (features.energy(W + s * _STEP * direction, group).sum() for s in (1, -1))
            data["gain"].append(float(ahead - behind) / (2 * _STEP * nuclear))
        at_rest = li2.lemmas.polar(np.zeros((2 * group.order, K)))
        data["rest"] = max(data["rest"], float(np.abs(at_rest).max()))
        data["size"] = max(data["size"], 2 * group.order * K)
    return Measurement(data, {"groups": names, "K": K}, seeds)


def _judge_direction(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the identity to rounding, the gain of a step, and rest exactly where the gradient vanishes."""
    limit = 64 * EPS * np.sqrt(data["size"])
    reason = f"sums over {data['size']} entries of singular vectors: 64 × 2⁻⁵² × √entries"
    return [
        within("⟨Ĝ, G⟩ = tr D", "⟨Ĝ, G⟩ over the nuclear norm of G", data["identity"], 1.0, limit, reason=reason),
        within(
            "Muon ascends E_joint = Σ_j E(w_j)",
            "gain of E_joint along Ĝ over ⟨Ĝ, G⟩, by central differences",
            data["gain"],
            1.0,
            1e-5,
            reason="E is of degree 4: central differences with step 1e-4 err by 1e-8 times 1000 at most",
        ),
        at_least(
            "⟨Ĝ, G⟩ = 0 only where G = 0",
            "⟨Ĝ, G⟩ over ‖G‖_F",
            data["ascent"],
            1 - limit,
            reason="the nuclear norm is at least the Frobenius norm; rounding",
        ),
        at_most("Muon rests where G = 0", "largest entry of Ĝ at G = 0", data["rest"], 0.0),
    ]


ascent_direction = Check(_measure_direction, _judge_direction)


def _measure_selection(setting: Setting) -> Measurement:
    """Compare how often each index has the largest w_i x_i, for Fréchet x, with w_i^α/Σ."""
    draws = setting.choose(quick=40_000, paper=1_000_000)
    mu = np.array([1.0, 0.8, 0.5, 0.3, 0.2])
    seeds = setting.seeds_or(range(3))
    exponents = (0.5, 1.0, 2.0, 4.0)
    rates = {}
    for a in exponents:
        x = [frechet(np.random.default_rng(seed), a, (draws, len(mu))) for seed in seeds]
        rates[f"{a:g}"] = [np.bincount(np.argmax(mu * each, axis=1), minlength=len(mu)) / draws for each in x]
    shown = {f"drawn, α = {a}": several[0] for a, several in rates.items()}
    shown["predicted, α = 2"] = mu**2 / (mu**2).sum()
    bars = figure.bars([f"{m:g}" for m in mu], shown, x="weight w", y="share of draws", title="Which index wins")
    data = {"rates": rates, "weights": mu, "draws": draws}
    return Measurement(data, {"draws": draws, "weights": mu, "exponents": exponents}, seeds, (bars,))


def _judge_selection(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the shares within sampling error, for every exponent."""
    rows = []
    for a, several in data["rates"].items():
        powers = np.array(data["weights"]) ** float(a)
        p = powers / powers.sum()
        deviations = (np.array(several) - p) / np.sqrt(p * (1 - p) / data["draws"])
        rows.append(
            within(
                f"Pr(i* = i) = w_i^α / Σ_j w_j^α for α = {a}",
                "deviation of the share of draws, in standard errors, by seed and index",
                deviations,
                0.0,
                SIGMAS,
                reason="one of 60 shares is farther off with probability 4 × 10⁻⁴",
            )
        )
    return rows


frechet_selection = Check(_measure_selection, _judge_selection)


def _measure_leader(setting: Setting) -> Measurement:
    """Find where the flow of eq. 11 ends from Gaussian starts, with and without a positive part."""
    starts = setting.choose(quick=2000, paper=50_000)
    seeds = setting.seeds_or((0,))
    mu = np.array([1.0, 0.8, 0.6, 0.4])
    alpha = 0.3 * np.random.default_rng(seeds[0]).normal(size=(starts, len(mu)))
    lead = np.sort(mu * alpha, axis=1)
    clear = lead[:, -1] > _LEAD * np.maximum(lead[:, -2], 0)  # the step size decides ties
    end = li2.lemmas.modes_flow(mu, alpha, rate=_RATE)
    positive = alpha.max(axis=1) > 0
    leader = np.argmax(mu * alpha, axis=1)
    reached = end[np.arange(starts), leader]
    none = ~positive
    data = {
        "starts": starts,
        "negative starts": int(none.sum()),
        "all": float(np.mean(reached[clear | none] > 0.5)),
        "positive": float(np.mean(reached[clear & positive] > 0.5)),
        "projection": float(reached[clear & positive].min()),
        "norm": float(np.linalg.norm(end[none], axis=1).max()) if none.any() else float("nan"),
        "modes": len(mu),
    }
    return Measurement(data, {"mu": mu, "starts": starts}, seeds)


def _judge_leader(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the share of starts that end at their leader, as printed and for starts with a positive part."""
    return [
        at_least(
            "the dynamics always converges to the initial leader",
            f"share of {data['starts']} Gaussian starts that end at argmax μ_l α_l(0)",
            data["all"],
            1.0,
            form="printed",
        ),
        at_least(
            "it does where some α_l(0) > 0",
            "share of these starts, with a lead of 5 %, that end at argmax μ_l α_l(0)",
            data["positive"],
            1.0,
            form="corrected",
        ),
        at_least(
            "the limit is ζ_l*",
            "smallest α_l* at the end of these flows",
            data["projection"],
            1 - _RATE,
            reason="the flow takes steps of length 0.03",
        ),
        at_most(
            "where no α_l(0) is positive it goes to the origin",
            f"largest norm at the end of {data['negative starts']} flows",
            data["norm"],
            _RATE * np.sqrt(data["modes"]),
            reason="a step of length 0.03 in each of the modes",
            form="corrected",
        ),
    ]


leader_wins = Check(_measure_leader, _judge_leader)


def _measure_projection(setting: Setting) -> Measurement:
    """Compare the last column of the polar factor of [Q, v] with the exact and the printed form, over |v_∥|."""
    d, r = setting.choose(quick=(10, 3), paper=(200, 40))
    seeds = setting.seeds_or(range(3))
    sizes = np.geomspace(1e-3, 1.0, 13)
    errors = {form: np.zeros(len(sizes)) for form in ("exact", "printed")}
    small = []
    for seed in seeds:
        random = np.random.default_rng(seed)
        Q = canonical.orthogonal(random, d, r)
        u = random.normal(size=d)
        along, across = Q @ (Q.T @ u), u - Q @ (Q.T @ u)
        along, across = along / np.linalg.norm(along), across / np.linalg.norm(across)
        for i, size in enumerate(sizes):
            for form, values in errors.items():
                values[i] = max(values[i], _column_error(Q, size * along + 0.1 * across, form))
        small.append(_column_error(Q, 0.1 * along + 1e-3 * across, "printed"))
    lines = [
        figure.Series("printed", sizes, errors["printed"]),
        figure.Series("exact form", sizes, np.maximum(errors["exact"], 1e-17)),
    ]
    shown = figure.curves(
        lines,
        x=figure.Axis("|v_∥|", scale="log"),
        y=figure.Axis("error", scale="log"),
        title="Muon's new column, |v_⊥| = 0.1",
    )
    order = float(np.polyfit(np.log(sizes[:6]), np.log(errors["printed"][:6]), 1)[0])
    data = {"exact": errors["exact"], "small": small, "order": order, "largest fitted": sizes[5], "columns": d * r}
    return Measurement(data, {"d": d, "r": r}, seeds, (shown,))


def _column_error(Q: np.ndarray, v: np.ndarray, form: str) -> float:
    """Return the distance of a form of Lemma 9 from the last column of the polar factor of [Q, v]."""
    true = li2.lemmas.polar(np.column_stack([Q, v]))[:, -1]
    return float(np.linalg.norm(li2.lemmas.new_column(Q, v, printed=form == "printed") - true))


def _judge_projection(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the printed remainder O(‖v_⊥‖²), and the exact form."""
    return [
        at_most(
            "v̂ = v_⊥/‖v_⊥‖ + v_∥/(1 + ‖v_⊥‖) + O(‖v_⊥‖²)",
            "error at |v_∥| = 0.1, |v_⊥| = 0.001",
            data["small"],
            1e-3,
            reason="1000 times |v_⊥|² = 1e-6",
            form="printed",
        ),
        at_most(
            "v̂ = [v_⊥/t + v_∥/(1 + t)] / √(1 + ‖v_∥‖²/(1 + t)²), t = ‖v_⊥‖",
            "largest error for |v_⊥| = 0.1 and |v_∥| from 0.001 to 1",
            data["exact"],
            64 * EPS * np.sqrt(data["columns"]) / 0.1,
            reason="64 × 2⁻⁵² × √entries over the smallest singular value, about |v_⊥| = 0.1",
            form="corrected",
        ),
        within(
            "the printed form is of first order in v_∥",
            "power of |v_∥| in its error, |v_∥| ≤ 0.018",
            data["order"],
            2.0,
            4 * data["largest fitted"] ** 2,
            reason="the next order is |v_∥|²; four times",
            form="corrected",
        ),
    ]


muon_projection = Check(_measure_projection, _judge_projection)
