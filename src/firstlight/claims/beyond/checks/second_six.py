"""A second family of order-6 optimizers of modular addition, F6′ = p ∗ (y₁ + y₂ + y₃)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_most, equals, within
from firstlight.claims.cogo.checks._statistics import lower_bound
from firstlight.claims.cogo.checks._train import read, train
from firstlight.claims.cogo.checks._zero import ZERO_POTENTIAL, zero_loss, zero_potential
from firstlight.groups import Group, parse
from firstlight.records import Criterion
from firstlight.theories.cogo import Solution, craft, table_loss
from firstlight.theories.cogo.lemmas import at_frequency, order_pair, real_block, residuals


def _measure(setting: Setting) -> Measurement:
    """Craft F6′ with random phases on many groups; count its blocks in trained networks."""
    seeds = setting.seeds_or(range(setting.choose(quick=40, paper=200)))
    names = setting.choose(quick=("Z5", "Z6", "Z7", "Z12", "Z23", "Z4xZ6"), paper=tuple(f"Z{d}" for d in range(3, 72)))
    data: dict[str, Any] = {"residual": [], "loss": [], "norm": []}
    for i, name in enumerate(names):
        setting.progress(0.5 * i / len(names), name)
        group = parse(name)
        for seed in range(3):
            rng = np.random.default_rng((seed, group.order))
            solution = _crafted(group, rng)
            data["residual"].append(residuals(solution).worst)
            data["loss"].append(table_loss(*solution.weights, group))
            data["norm"].append(solution.norm2 / craft(group, "F6").norm2)
    Z7 = parse("Z7")
    # Sixths of a turn put e^{2iD} of the three pairs at the corners of a triangle.
    far = _block(Z7, 1, 0.3, np.array([0.0, 1.0, 2.0]) * np.pi / 3)
    data["alignment"] = {"F6′": _alignment(far, 1), "F6": _alignment(craft(Z7, "F6"), 1)}
    data["free phases"] = {"F6′": _dimension(_at_phases, 4), "F6": _dimension(_paper_six, 3)}
    run = train(setting, 7, 20, rate=0.05, decay=5e-3, steps=3000, seeds=seeds)
    blocks = [[group.name for group in read(model, 7).groups] for model in run.models]
    sixes = [[name for name in own if name in ("F6", "F6′")] for own in blocks]
    data["trained"] = [own.count("F6′") / len(own) for own in sixes if own]
    return Measurement(data, {"groups": names, "trained": "Z7, q = 20, Adam 0.05, weight decay 0.005"}, seeds)


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    """Require eq. (4), zero loss, the norm of F6, a distance from F6, and blocks of it in trained networks."""
    return [
        zero_potential("F6′ satisfies eq. (4), for all phases", "largest residual of eq. (4)", data["residual"]),
        zero_loss("F6′ is a global optimizer", "largest loss", data["loss"]),
        within(
            "F6′ has the norm of F6",
            "‖z‖² over that of F6",
            data["norm"],
            1,
            ZERO_POTENTIAL,
            reason="a sum of at most 3 × 71 × 213 squares: 21 × √45369 × 2⁻⁵²",
        ),
        equals("F6′ has four free phases a frequency", "rank of the derivative", data["free phases"]["F6′"], 4),
        equals("F6 has three", "rank of the derivative", data["free phases"]["F6"], 3),
        at_most(
            "F6′ is not F6: its D at each γ are free",
            "|mean of e^{2iD}| with D in sixths of a turn",
            data["alignment"]["F6′"],
            ZERO_POTENTIAL,
            reason="a mean of six numbers of modulus 1",
        ),
        within(
            "in F6 all D are equal up to half turns",
            "|mean of e^{2iD}| of a crafted F6",
            data["alignment"]["F6"],
            1,
            ZERO_POTENTIAL,
            reason="a mean of six numbers of modulus 1",
        ),
        above(
            "trained networks have blocks F6′",
            "share of F6′ among blocks of six nodes, lower 99 % bound over networks",
            lower_bound(data["trained"]),
            0.1,
            reason="more than one in ten; if all were F6, none",
        ),
    ]


second_order_six = Check(_measure, _judge)


def _block(group: Group, k: int, gamma: float, D: np.ndarray) -> Solution:
    """Return p ∗ Σ_s y_s at ±k, with the phases of c at γ + 2πs/3 and y_s = e^{i((D_s−γ_s)/2, (−D_s−γ_s)/2, γ_s)}."""
    gammas = gamma + 2 * np.pi / 3 * np.arange(3)
    size = (6 * group.order) ** (-1 / 3)
    phases = np.stack([(D - gammas) / 2, (-D - gammas) / 2, gammas])
    return order_pair(group, k) * at_frequency(group, k, *(size * np.exp(1j * phases)))


def _crafted(group: Group, rng: np.random.Generator) -> Solution:
    """Return F6′ with random phases at every pair ±k, and the real block where −k = k."""
    f = Solution.one(group).frequencies
    total = Solution.zero(group)
    for k in f.halves:
        real = k in f.real
        total += real_block(group, k) if real else _block(group, k, *_phases(rng))
    return total


def _phases(rng: np.random.Generator) -> tuple[float, np.ndarray]:
    return float(rng.uniform(0, 2 * np.pi)), rng.uniform(0, 2 * np.pi, 3)


def _alignment(solution: Solution, k: int) -> float:
    """Return |mean of e^{2iD}| over the nodes at k, with D the phase of a conj b."""
    a, b = solution.z[:2, k]
    used = np.abs(a) > 0
    return float(abs(np.mean(np.exp(2j * np.angle(a[used] * b[used].conj())))))


def _at_phases(phases: np.ndarray) -> np.ndarray:
    """Return the coefficients of F6′ on Z7 at γ, D₁, D₂, D₃."""
    return _block(parse("Z7"), 1, phases[0], phases[1:]).z[:, 1].ravel()


def _paper_six(phases: np.ndarray) -> np.ndarray:
    """Return the coefficients of z̃ ∗ (y₁ + y₂) on Z7 at D, γ₁, γ₂: Corollary 2's family, all units included."""
    D, gammas = phases[0] + np.pi * np.arange(2), phases[1:]
    units = np.exp(1j * np.stack([(D - gammas) / 2, (-D - gammas) / 2, gammas]))
    thirds = np.exp(-2j * np.pi / 3 * np.arange(3))
    return (units[:, :, None] * np.stack([thirds] * 3)[:, None, :]).ravel()


def _dimension(family: Any, count: int) -> int:
    """Return the rank of the derivative of a family in its phases, by central differences at a generic point."""
    point, h = np.array([0.3, 1.1, 2.3, 4.1])[:count], 1e-5
    columns = [(family(point + h * e) - family(point - h * e)) / (2 * h) for e in np.eye(count)]
    matrix = np.stack([np.concatenate([c.real, c.imag]) for c in columns], axis=1)
    return int(np.linalg.matrix_rank(matrix, tol=1e-3 * np.linalg.norm(matrix)))
