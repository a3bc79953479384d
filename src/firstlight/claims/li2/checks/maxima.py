"""The maxima of the energy for any finite group: their places, their flat directions, other activations."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import features, groups
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, equals, within
from firstlight.claims.li2.checks import families
from firstlight.records import Criterion, CriterionForm, figure

NAMED = ("Z7", "Z8", "S3", "D5", "Q8", "A4", "S4")
MORE = ("Z12", "Z2xZ2", "Z3xZ3", "D4", "D7", "Dic3", "F21", "SL(2,3)", "A5")
_POOL = ("Z9", "Z10", "Z2xZ6", "Z4xZ4", "D6", "D8", "D9", "D10", "Dic5", "Dic6", "F20", "S3xZ3", "A4xZ2", "Q8xZ2")

SPECTRAL = 64 * 36 * 2.0**-52
"""Relative error of the energy of a node of S3 as a sum over 36 pairs: 64 × 36 × 2⁻⁵²."""
CRITICAL = 1e-12
"""Relative gradient that counts as zero at a point given in closed form: 64 × 2⁻⁵² × 60 sums, rounded up."""


def picked_groups(seed: int, count: int = 3) -> tuple[str, ...]:
    """Draw groups of orders 9 to 24 from a pool that has all three kinds of irreps."""
    return tuple(np.random.default_rng(seed).choice(_POOL, size=count, replace=False).tolist())


def _measure_maxima(setting: Setting) -> Measurement:
    """Describe the ends of ascents by energy, form and curvature; evaluate eq. 21 and the printed maximiser on S3."""
    seeds = setting.seeds_or((0,))
    names = NAMED + setting.choose(quick=(), paper=MORE) + picked_groups(seeds[0])
    starts, curved = setting.choose(quick=(40, 2), paper=(300, 20))
    data = families.summary(names, starts, seeds, curved=curved, progress=setting.progress)
    data |= {"eq. 21": _spectral_energies(seeds[0]), "slope": _printed_slope(seeds[0])}
    picture = energy_figure(data["points"], data["ascents"])
    return Measurement(data, {"groups": names, "starts": starts * len(seeds)}, seeds, (picture,))


def _judge_maxima(data: Mapping[str, Any]) -> list[Criterion]:
    """Compare energies, form and eq. 21 with the printed and with the corrected statement."""
    reason = families.ASCENT_REASON
    E, spectral = data["scaled energy"], data["eq. 21"]
    quantity = "E*·d/M at the ends of ascents"
    rounding = "sums over 36 pairs in float64: 64 × 36 × 2⁻⁵²"
    return [
        equals("ascents converge", "ascents that did not", data["unconverged"], 0, form="precondition"),
        at_most(
            "the maxima are [u; ±Pu]",
            "largest distance of b from ±Pa over ‖a‖ at the ends",
            data["mirror"],
            1e-8,
            reason="ascents stop at a relative gradient of 1e-9; the factor is 10",
            form="printed",
        ),
        at_most(
            "[u; Pu] with u in H_k is a maximum",
            "relative gradient on the sphere at a random u of the plane irrep of S3",
            data["slope"],
            CRITICAL,
            reason="a closed form in float64",
            form="printed",
        ),
        at_most(
            "at the maxima a(g) ∝ Re x*C(g)r and b(g) ∝ Re r*C(g)y",
            "largest share of the Fourier blocks of a and b beyond rank 1",
            data["rank"],
            families.ASCENT,
            reason=reason,
            form="corrected",
        ),
        at_most(
            "a and b share r",
            "largest 1 − |⟨r_a, r_b⟩|² at the ends",
            data["shared"],
            families.ASCENT,
            reason=reason,
            form="corrected",
        ),
        within("E* = M/8d for a real irrep", quantity, E["real"], 1 / 8, 1e-9, reason=reason, form="printed"),
        within("E* = M/16d for a complex pair", quantity, E["complex"], 1 / 16, 1e-9, reason=reason, form="printed"),
        within("E* = M/2d for a real irrep", quantity, E["real"], 1 / 2, 1e-9, reason=reason, form="corrected"),
        within("E* = M/4d for a complex pair", quantity, E["complex"], 1 / 4, 1e-9, reason=reason, form="corrected"),
        within(
            "E* = M/4d for a quaternionic irrep",
            quantity,
            E["quaternionic"],
            1 / 4,
            1e-9,
            reason=reason,
            form="corrected",
        ),
        equals("the ends are maxima", "positive eigenvalues of the Hessian on the sphere", data["positive"], 0),
        at_most(
            "maxima in different irreps are not connected",
            "largest curvature towards other irreps, over w·∇E",
            data["outside"],
            -0.5,
            reason="theory gives −1; any negative value separates the maxima",
        ),
        equals(
            "no ascent ends elsewhere; beyond.energy-maxima proves that no other local maxima exist",
            f"of {data['ascents']} ascents, those that end outside one irrep or at another energy",
            data["elsewhere"],
            0,
            reason="one ascent that ends elsewhere would refute the proof",
        ),
        within(
            "E = (M/2) Σ (1/d_k) |Σ_r tr Ŝ_{k,r}|² (eq. 21)",
            "this sum over E, for a random node of S3",
            spectral["printed"] / spectral["brute"],
            1.0,
            SPECTRAL,
            reason=rounding,
            form="printed",
        ),
        within(
            "E = (M/2) Σ (1/d_k) ‖Σ_r Ŝ_{k,r}‖_F²",
            "this sum over E, for a random node of S3",
            spectral["Frobenius"] / spectral["brute"],
            1.0,
            SPECTRAL,
            reason=rounding,
            form="corrected",
        ),
    ]


local_maxima = Check(_measure_maxima, _judge_maxima)


def _spectral_energies(seed: int) -> dict[str, float]:
    """Compute E of a random node of S3 by its definition, and by eq. 21 with the Frobenius norm and with the trace."""
    group = groups.symmetric(3)
    M = group.order
    u, v = np.random.default_rng(seed).standard_normal((2, M))
    brute = families.pair_energy(np.concatenate([u, v[group.inverse]])[:, None], group)[0]
    # w = [u; Pv] and S_ij = σ(u_i + v_j), so that z_h = ⟨R_h, S⟩; Ŝ = Q*SQ with R_h = Q(⊕C_k(h))Q*.
    S = (u[:, None] + v) ** 2
    frobenius = trace = 0.0
    for rho in group.irreps()[1:]:
        Q = np.sqrt(rho.dim / M) * rho.matrices.conj()
        S_hat = np.einsum("gir,gh,hjr->ij", Q.conj(), S, Q)
        frobenius += M / 2 / rho.dim * float((np.abs(S_hat) ** 2).sum())
        trace += M / 2 / rho.dim * float(np.abs(np.trace(S_hat)) ** 2)
    return {"brute": float(brute), "Frobenius": frobenius, "printed": trace}


def _printed_slope(seed: int) -> float:
    """Return ‖∇E − (w·∇E)w‖/(w·∇E) at w = [u; Pu] for a random u in the two-dimensional irrep of S3."""
    group = groups.symmetric(3)
    space = group.real_components()[-1].basis
    u = space @ np.random.default_rng(seed).standard_normal(space.shape[1])
    w = np.concatenate([u, u[group.inverse]]) / (np.sqrt(2) * np.linalg.norm(u))
    slope = features.energy_gradient(w, group)
    return float(np.linalg.norm(slope - (w @ slope) * w) / (w @ slope))


def energy_figure(points: list[list[Any]], ascents: int) -> figure.FigureData:
    """Draw the energy at the ends of ascents against E*, a point per group and component."""
    kinds = dict.fromkeys(kind for kind, _, _ in points)
    series = [
        figure.Series(kind, [p for k, p, _ in points if k == kind], [e for k, _, e in points if k == kind])
        for kind in kinds
    ]
    return figure.scatter(
        series,
        x=figure.Axis("predicted E*", scale="log"),
        y=figure.Axis("energy at the end of an ascent", scale="log"),
        identity=True,
        title="Maxima of the energy, group by group",
        caption=f"{ascents} ascents; for each component the farthest. M/2d (real), M/4d (complex, quaternionic).",
    )


def _measure_flat(setting: Setting) -> Measurement:
    """Count the zero eigenvalues of the Hessian on the sphere at random maximisers of every component."""
    seeds = setting.seeds_or((0, 1))
    names = ("Z2xZ2", *NAMED, *setting.choose(quick=("F21",), paper=MORE), *picked_groups(seeds[0]))
    zeros: dict[str, dict[str, list[int]]] = {}
    data: dict[str, Any] = {"positive": 0, "largest M without": 0}
    for i, name in enumerate(dict.fromkeys(names)):
        setting.progress(i / len(names), name)
        group = groups.parse(name)
        for family in features.maxima(group):
            c = family.component
            counts = [features.signature(family.random_nodes(1, seed)[:, 0], group) for seed in seeds]
            data["positive"] = max(data["positive"], *(int(count[0]) for count in counts))
            flat = sorted({int(count[1]) for count in counts})
            known = zeros.setdefault(c.kind, {}).setdefault(str(c.dim), [])
            known += [count for count in flat if count not in known]
            if 0 in flat:
                data["largest M without"] = max(data["largest M without"], group.order)
    return Measurement(data | {"zeros": zeros}, {"groups": names}, seeds)


_FLAT = {
    "real": ("3(d − 1) for a real irrep", lambda d: 3 * (d - 1)),
    "complex": ("6d − 4 for a complex pair", lambda d: 6 * d - 4),
    "quaternionic": ("6d − 6 for a quaternionic irrep", lambda d: 6 * d - 6),
}


def flat_criteria(zeros: Mapping[str, Any], form: CriterionForm) -> list[Criterion]:
    """Compare the numbers of zero eigenvalues by dimension d with the formulas, one row per kind of irrep."""
    rows = []
    for kind, (clause, count) in _FLAT.items():
        dims = sorted(zeros[kind], key=int)
        counted = [only[0] if len(only) == 1 else only for only in (zeros[kind][d] for d in dims)]
        quantity = f"zero eigenvalues at random maxima of {kind} irreps, d = {', '.join(dims)}"
        expected = [count(int(d)) for d in dims]
        rows.append(equals(f"the number of zero eigenvalues is {clause}", quantity, counted, expected, form=form))
    return rows


def _judge_flat(data: Mapping[str, Any]) -> list[Criterion]:
    """Require a zero eigenvalue everywhere, as printed; compare the counts with the corrected formulas."""
    fewest = min(count for by_dim in data["zeros"].values() for counts in by_dim.values() for count in counts)
    return [
        equals("the points are maxima", "positive eigenvalues of the Hessian", data["positive"], 0),
        at_least(
            "at least one eigenvalue of the Hessian is zero at every maximum, M > 2",
            f"fewest zero eigenvalues; none on a group of order {data['largest M without']}",
            fewest,
            1,
            form="printed",
        ),
        *flat_criteria(data["zeros"], "corrected"),
    ]


flat_directions = Check(_measure_flat, _judge_flat)


def _measure_linear(setting: Setting) -> Measurement:
    """Ascend E of σ = ax + bx² by sums over all pairs, from random starts and from near every family of maxima."""
    seeds = setting.seeds_or((0,))
    names = setting.choose(quick=("Z7", "S3", "Q8"), paper=("Z7", "Z8", "S3", "D5", "Q8", "A4", "F21"))
    starts, near = setting.choose(quick=(12, 2), paper=(60, 8))
    coefficients = ((1.0, 0.5), (-2.0, 1.0), (5.0, 0.3))
    data: dict[str, Any] = {"ascents": 0, "unconverged": 0, "impurity": 0.0, "cancelled": [], "left": 0, "ratio": []}
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = groups.parse(name)
        maxima = features.maxima(group)
        random = np.hstack([features.random_starts(group, starts, seed) for seed in seeds])
        planted = np.hstack([family.random_nodes(near, seeds[0]) for family in maxima])
        planted = planted + 0.1 * features.random_starts(group, planted.shape[1], seeds[0] + 1)
        home = np.repeat(np.arange(len(maxima)), near)
        for a, b in coefficients:
            data["cancelled"].append(_linear_part(group, random, a, b))
            E = features.GroupEnergy(group, f"poly({a:g},{b:g})", np.arange(group.order**2))
            end = features.ascend(E, np.hstack([random, planted]), tolerance=families.ASCENT, steps=4000)
            ends = families.described(group, end.W, end.converged)
            predicted = np.array([maxima[k].energy for k in ends.family])
            data["ascents"] += len(predicted)
            data["unconverged"] += int((~end.converged).sum())
            data["impurity"] = max(data["impurity"], float(ends.impurity.max()))
            data["left"] += int((ends.family[-len(home) :] != home).sum())
            ratio = end.energy / (b**2 * predicted)
            data["ratio"] += [float(ratio.min()), float(ratio.max())]
    data["pairs"] = max(groups.parse(name).order for name in names) ** 2
    return Measurement(data, {"groups": names, "(a, b)": coefficients, "starts": starts}, seeds)


def _linear_part(group: groups.Group, W: np.ndarray, a: float, b: float) -> float:
    """Return |E of ax + bx² − b²E of x²| over the size of the terms in E, by sums over all pairs; the largest."""
    M = group.order
    mixed = features.energy(W, group, f"poly({a:g},{b:g})", rows=np.arange(M * M))
    terms = np.zeros((M, W.shape[1]))
    for g in range(M):
        x = np.abs(W[g] + W[M:])
        terms[group.table[g]] += abs(a) * x + b * x**2
    return float((np.abs(mixed - b**2 * families.pair_energy(W, group)) / (terms**2).sum(0)).max())


def _judge_linear(data: Mapping[str, Any]) -> list[Criterion]:
    """Require that the linear part cancels and that the maxima are those of x²."""
    reason = "ascents by sums over pairs stop at a relative gradient of 1e-9, or where E rises by less than 1e-10"
    return [
        equals("ascents converge", "ascents that did not", data["unconverged"], 0, form="precondition"),
        at_most(
            "the linear part is cancelled by the zero mean: E = b² E of σ = x²",
            "largest difference over the size of the terms, at random nodes",
            data["cancelled"],
            64 * 2.0**-52 * np.sqrt(data["pairs"]),
            reason=f"sums over {data['pairs']} pairs in float64: 64 × 2⁻⁵² × √pairs",
        ),
        within(
            "the maxima have b² times the energies E* of σ = x²",
            f"E/(b²E*) at the ends of {data['ascents']} ascents",
            data["ratio"],
            1.0,
            1e-8,
            reason=reason,
        ),
        at_most(
            "each maximum lies in one irrep or one pair",
            "largest share of ‖w‖² outside",
            data["impurity"],
            1e-8,
            reason=reason,
        ),
        equals("the maxima of σ = x² are maxima", "ascents from nearby that leave the irrep", data["left"], 0),
    ]


linear_part = Check(_measure_linear, _judge_linear)
