"""AGF and Li₂: the order in which irreps are learned, from utilities and from energies."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from firstlight import groups
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most
from firstlight.features import GroupEnergy, maxima
from firstlight.records import Criterion
from firstlight.theories import agf

SAME_ENERGY = 1e-9
"""Relative difference of two closed forms; E* of an irrep of dimension above 1 is found by an ascent to 1e-10."""


def _measure(setting: Setting) -> Measurement:
    """Compare U*² with E* for one-hot templates on any group, and time how gradient flow learns the irreps."""
    names = setting.choose(quick=("Z7", "S3", "Q8", "A4"), paper=("Z7", "Z12", "S3", "D5", "Q8", "A4", "S4", "F21"))
    flows = setting.choose(quick=("S3",), paper=("S3", "D5", "A4"))
    seeds = setting.seeds_or(range(5))
    gaps, falls = {}, {}
    for name in names:
        group = groups.parse(name)
        order = agf.Template(group, np.eye(group.order)[group.identity]).order
        energies = {m.component.label: m.energy for m in maxima(group)}
        ranked = np.array([energies[irrep.label] for irrep in order])
        law = np.sqrt(8 * ranked / 27) / group.order**2
        gaps[name] = float(max(abs(irrep.utility / U - 1) for irrep, U in zip(order, law, strict=True)))
        falls[name] = float(np.max(np.diff(ranked), initial=-np.inf) / ranked.max()) if len(ranked) > 1 else 0.0
    learned: dict[str, list[list[float | None]]] = {name: [] for name in flows}
    for i, seed in enumerate(seeds):
        setting.progress(i / len(seeds), f"gradient flow, seed {seed}")
        for name in flows:
            learned[name].append(_learned_order(name, seed, setting))
    data = {"U* against E*": gaps, "rise of E*": falls, "U against E": _pointwise(groups.parse("S3")), "times": learned}
    return Measurement(
        data,
        {"groups": names, "gradient flow on": flows},
        seeds,
        note=(
            "Gradient flow on one-hot inputs is in beyond.agf-order-and-li2-energy: single draws break the order. "
            "With a template x the order follows σ₁(x̂)³/√d."
        ),
    )


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    """Require U* = √(8E*/27)/M², equal orders, and irreps learned in the order of their utility."""
    reason = "closed forms on both sides, where an ascent finds E* to 1e-10; the factor is 10"
    rows = [
        at_most(
            "U* = √(8E*/27)/M² for one-hot inputs, on any finite group",
            "relative difference, by group",
            data["U* against E*"],
            SAME_ENERGY,
            reason=reason,
        ),
        at_most(
            "both order the irreps alike",
            "largest rise of E* along AGF's order, over the largest E*",
            data["rise of E*"],
            SAME_ENERGY,
            reason="equal energies may be in any order",
        ),
        at_most(
            "U = √(2E) ‖w‖/M² at any point, for the best w",
            "relative difference at random points of S3",
            data["U against E"],
            SAME_ENERGY,
            reason=reason,
        ),
    ]
    for name, runs in data["times"].items():
        rows.append(
            at_least(
                "gradient flow learns every irrep of the template",
                f"{name}: share of irreps of which half is learned, by seed",
                [sum(time is not None for time in times) / len(times) for times in runs],
                1,
                form="precondition",
            )
        )
        rows.append(
            above(
                "for a template, gradient flow learns the irreps in the order of their utility",
                f"{name}: least ratio of the times of two successive irreps, by seed",
                [_least_ratio(times) for times in runs],
                1,
                reason="a later irrep is learned later; those not learned by the end must be the last",
            )
        )
    return rows


same_order = Check(_measure, _judge)


def _least_ratio(times: list[float | None]) -> float:
    """Return the least ratio of successive times; 0 if an irrep is learned after one that is not."""
    known = [time for time in times if time is not None]
    if any(time is None for time in times[: len(known)]) or len(known) < 2:
        return 0.0
    return float(min(later / earlier for earlier, later in pairwise(known)))


def _pointwise(group: groups.Group) -> float:
    """Test that the maximum over w of U(u, v, w) at ‖w‖ = 1 is √(2E)/M²: both theories ascend the same function."""
    rng = np.random.default_rng(0)
    task = agf.Template(group, np.eye(group.order)[group.identity])
    u, v = rng.standard_normal((2, 5, group.order))
    u, v = u - u.mean(1, keepdims=True), v - v.mean(1, keepdims=True)
    slope = task.first_utility(task.theta(u, v, np.zeros_like(u)))[1]
    best = np.linalg.norm(task.split(slope)[2], axis=1)
    # ⟨u, a·x⟩ = u[a] for the one-hot template, so that (u; v) are Li₂'s weights.
    law = np.sqrt(2 * GroupEnergy(group)(np.concatenate([u, v], axis=1).T)) / group.order**2
    return float(np.abs(best / law - 1).max())


def _learned_order(name: str, seed: int, setting: Setting) -> list[float | None]:
    """Return the times at which gradient flow has half of each irrep, in predicted order; None if it never has."""
    group = groups.parse(name)
    components = [c for c in group.real_components() if not c.is_trivial]
    # x̂(ρ) = c_ρ·I, with coefficients that put the irreps of highest dimension first: the reverse of the one-hot order.
    rank = {c.label: i for i, c in enumerate(sorted(components, key=lambda c: (-c.dim, c.label)))}
    x = sum(4.0 * 0.6 ** rank[c.label] * c.project(np.eye(group.order)[group.identity]) for c in components)
    task = agf.Template(group, x)
    theta = task.problem.initial(width=setting.choose(quick=12, paper=36), alpha=1e-2, seed=seed)
    slowest = 1 / (3 * task.order[-1].utility)
    end = 10.0 * slowest / float(np.linalg.norm(theta, axis=1).max())
    times = np.concatenate([[0.0], np.geomspace(end / 1000, end, 150)])
    run = agf.follow(task.problem, theta, times, solver="lsoda", rtol=setting.choose(quick=1e-3, paper=1e-4))
    power = np.stack([task.power(p) for p in run.params])
    place = {c.label: i for i, c in enumerate(task.components)}
    halves = [agf.lemmas.crossing(run.times, 1 - power[:, place[irrep.label]], 0.5) for irrep in task.order]
    return [None if np.isnan(half) else float(half) for half in halves]
