"""AGF and Li₂: the order in which irreps are learned, from utilities and from energies."""

import numpy as np

from firstlight import groups
from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.cross.tolerances import SAME_ENERGY
from firstlight.features import GroupEnergy, maxima
from firstlight.theories import agf


def same_order(setting: Setting) -> Outcome:
    """Test U*² ∝ E* for one-hot templates on any group, and the order in which gradient flow learns the irreps."""
    names = setting.choose(quick=("Z7", "S3", "Q8", "A4"), paper=("Z7", "Z12", "S3", "D5", "Q8", "A4", "S4", "F21"))
    gaps, same = {}, {}
    for name in names:
        group = groups.parse(name)
        x = np.eye(group.order)[group.identity]
        order = agf.Template(group, x).order
        energies = {m.component.label: m.energy for m in maxima(group)}
        law = [np.sqrt(8 * energies[irrep.label] / 27) / group.order**2 for irrep in order]
        gaps[name] = max(abs(irrep.utility / U - 1) for irrep, U in zip(order, law, strict=True))
        ranked = [energies[irrep.label] for irrep in order]
        same[name] = bool(np.all(np.diff(ranked) <= 1e-9 * max(ranked)))
    pointwise = _pointwise(groups.parse("S3"))
    learned = {name: _learned_order(name, setting) for name in setting.choose(quick=("S3",), paper=("S3", "D5", "A4"))}
    measured = {
        "U* against √(8E*/27)/M²": gaps,
        "orders agree": same,
        "U against √(2E)‖w‖/M² at random points": pointwise,
        "times at which gradient flow has learned half of each irrep": learned,
    }
    in_order = all(_increasing(times) for times in learned.values())
    right = max(gaps.values()) < SAME_ENERGY and all(same.values()) and pointwise < SAME_ENERGY and in_order
    return Outcome(
        "holds" if right else "fails",
        measured,
        {"U* against √(8E*/27)/M²": 0.0, "orders agree": True},
        evidence=(
            "On cyclic groups with one-hot inputs all E* of complex pairs are equal, and the order is random. On other "
            "groups irreps of small dimension come first. With a template x the order follows σ₁(x̂)³/√d, which does "
            "not appear in Li₂'s energy with one-hot inputs."
        ),
        seeds=setting.seeds_or((0,)),
    )


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


def _learned_order(name: str, setting: Setting) -> dict[str, float]:
    """Return the times at which gradient flow has half of each irrep of a class function, in predicted order."""
    group = groups.parse(name)
    components = [c for c in group.real_components() if not c.is_trivial]
    # x̂(ρ) = c_ρ·I, with coefficients that put the irreps of highest dimension first: the reverse of the one-hot order.
    rank = {c.label: i for i, c in enumerate(sorted(components, key=lambda c: (-c.dim, c.label)))}
    x = sum(4.0 * 0.6 ** rank[c.label] * c.project(np.eye(group.order)[group.identity]) for c in components)
    task = agf.Template(group, x)
    theta = task.problem.initial(width=setting.choose(quick=8, paper=48), alpha=1e-2, seed=setting.seeds_or((0,))[0])
    slowest = 1 / (3 * task.order[-1].utility)
    end = 3.0 * slowest / float(np.linalg.norm(theta, axis=1).max())
    times = np.concatenate([[0.0], np.geomspace(end / 300, end, 100)])
    run = agf.follow(task.problem, theta, times, solver="lsoda", rtol=setting.choose(quick=1e-3, paper=1e-5))
    power = np.stack([task.power(p) for p in run.params])
    place = {c.label: i for i, c in enumerate(task.components)}
    return {irrep.label: agf.lemmas.crossing(run.times, 1 - power[:, place[irrep.label]], 0.5) for irrep in task.order}


def _increasing(times: dict[str, float]) -> bool:
    """Check that times increase. Irreps that are not learned by the end must come last."""
    return bool(np.all(np.diff(np.nan_to_num(list(times.values()), nan=np.inf)[:2]) > 0)) and not np.any(
        np.diff(np.nan_to_num(list(times.values()), nan=1e300)) < 0
    )
