"""The energy's maxima for every kind of irrep: their energies, their Hessians, and how many reconstruct the target."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import features, groups
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, equals, within
from firstlight.claims.li2.checks import families
from firstlight.records import Criterion, figure

_GROUPS = ("Z9", "D5", "S4", "S3xZ3", "F21", "Q8", "S3xQ8")
_MORE = ("Z2xZ2", "Z12", "A4", "A5", "F20", "SL(2,3)", "Dic3", "Dic6", "D4xQ8")

KINDS = ("real", "complex", "quaternionic")


def _measure_energies(setting: Setting) -> Measurement:
    """Ascend from random starts on groups with irreps of every kind, and describe the ends."""
    seeds = setting.seeds_or((0, 1))
    names = _GROUPS + setting.choose(quick=(), paper=_MORE)
    starts = setting.choose(quick=24, paper=200)
    data = families.summary(names, starts, seeds, curved=1, progress=setting.progress)
    for unused in ("points", "mirror", "outside"):
        del data[unused]
    return Measurement(data, {"groups": names, "starts": starts * len(seeds)}, seeds)


def _judge_energies(data: Mapping[str, Any]) -> list[Criterion]:
    """Require E* of each kind, the form of the maximisers, and that no ascent ends elsewhere."""
    reason = families.ASCENT_REASON
    scaled, factors = data["scaled energy"], {"real": 2, "complex": 4, "quaternionic": 4}
    names = {"real": "a real irrep", "complex": "a complex pair", "quaternionic": "a quaternionic irrep"}
    energies = [
        within(
            f"E* = M/{factor}d for {names[kind]}",
            "E*·d/M at the ends of ascents",
            scaled[kind],
            1 / factor,
            1e-9,
            reason=reason,
        )
        for kind, factor in factors.items()
    ]
    return [
        equals("ascents converge", "ascents that did not", data["unconverged"], 0, form="precondition"),
        *energies,
        at_most(
            "the maximisers are a(g) ∝ Re x*C(g)r, b(g) ∝ Re r*C(g)y",
            "largest share of the Fourier blocks of a and b beyond rank 1",
            data["rank"],
            families.ASCENT,
            reason=reason,
        ),
        at_most("a and b share r", "largest 1 − |⟨r_a, r_b⟩|²", data["shared"], families.ASCENT, reason=reason),
        equals(
            "no ascent ends elsewhere; that no other local maxima exist is proved",
            f"of {data['ascents']} ascents, those that end outside one irrep or at another energy",
            data["elsewhere"],
            0,
            reason="one ascent that ends elsewhere would refute the proof",
        ),
        equals("the ends are maxima", "positive eigenvalues of the Hessian on the sphere", data["positive"], 0),
    ]


energy_maxima = Check(_measure_energies, _judge_energies)


def _measure_spectra(setting: Setting) -> Measurement:
    """Compute the Hessian on the sphere at random maximisers and count its eigenvalues 0, −w·∇E and −2w·∇E."""
    seeds = setting.seeds_or((0, 1))
    names = _GROUPS + setting.choose(quick=(), paper=_MORE)
    counts: dict[str, dict[str, list[list[int]]]] = {}
    farthest, largest = 0.0, 0
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = groups.parse(name)
        largest = max(largest, group.order)
        for family in features.maxima(group):
            for seed in seeds:
                values = _sphere_spectrum(family.random_nodes(1, seed)[:, 0], group)
                levels = np.clip(np.round(values), -2, 0)
                farthest = max(farthest, float(np.abs(values - levels).max()))
                row = [int((levels == 0).sum()), int((levels == -2).sum())]
                known = counts.setdefault(family.component.kind, {}).setdefault(str(family.component.dim), [])
                known += [row] if row not in known else []
    return Measurement({"counts": counts, "farthest": farthest, "largest M": largest}, {"groups": names}, seeds)


def _sphere_spectrum(w: np.ndarray, group: groups.Group) -> np.ndarray:
    """Return the eigenvalues of ∇²E − w·∇E on the tangent space at w, in units of w·∇E, from the whole Hessian."""
    w = w / np.linalg.norm(w)
    H = features.energy_hessian(w, group)
    along = float(w @ H @ w) / 3
    tangent = np.linalg.svd(w[None, :])[2][1:]
    return np.linalg.eigvalsh(tangent @ H @ tangent.T) / along - 1


def _judge_spectra(data: Mapping[str, Any]) -> list[Criterion]:
    """Compare the multiplicities of 0 and −2 with the formulas; all other eigenvalues are −1."""
    formulas = {
        "real": ("3(d − 1) zero eigenvalues and d times −2", lambda d: [3 * (d - 1), d]),
        "complex": ("6d − 4 zero eigenvalues and 2d − 1 times −2", lambda d: [6 * d - 4, 2 * d - 1]),
        "quaternionic": ("6d − 6 zero eigenvalues and 2d − 3 times −2", lambda d: [6 * d - 6, 2 * d - 3]),
    }
    rows = []
    for kind, (clause, formula) in formulas.items():
        dims = sorted(data["counts"][kind], key=int)
        counted = [number for d in dims for row in data["counts"][kind][d] for number in row]
        expected = [number for d in dims for number in formula(int(d))]
        quantity = f"counts of 0 and −2 for d = {', '.join(dims)}"
        rows.append(equals(f"{kind} irreps have {clause}", quantity, counted, expected))
    return [
        at_most(
            "every eigenvalue is 0, −1 or −2 times w·∇E = 4E*",
            f"largest distance from these, up to M = {data['largest M']}",
            data["farthest"],
            128 * 2.0**-52 * data["largest M"],
            reason="64 × 2⁻⁵² × 2M dimensions",
        ),
        *rows,
    ]


flat_directions = Check(_measure_spectra, _judge_spectra)

_COUNTED = ("Z5", "S3", "A4", "F20", "S3xZ3", "F21", "Q8", "S3xQ8")
_COUNTED_MORE = ("S4", "Dic3", "SL(2,3)", "A4xZ2", "D4xQ8")


def _measure_counts(setting: Setting) -> Measurement:
    """Measure the dimension that cross terms of generic maximisers span, and what that many and one fewer leave."""
    seeds = setting.seeds_or((0, 1))
    names = _COUNTED + setting.choose(quick=(), paper=_COUNTED_MORE)
    rows: list[dict[str, Any]] = []
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        seen = set()
        for family in features.maxima(groups.parse(name)):
            key = family.component.kind, family.component.dim
            if key not in seen:
                seen.add(key)
                rows += [{"group": name} | _span(family, seed) for seed in seeds]
    kinds = {kind: _growth(rows, kind) for kind in KINDS}
    lines = [figure.Series(kind, *points) for kind, points in kinds.items()]
    picture = figure.curves(
        lines,
        x="dimension d of the irrep",
        y=figure.Axis("pairs of nodes", scale="log"),
        title="Generic pairs that reconstruct an irrep's part of the target",
    )
    return Measurement({"rows": rows}, {"groups": names}, seeds, (picture,))


def _growth(rows: list[dict[str, Any]], kind: str) -> tuple[list[int], list[int]]:
    """Return dimensions and numbers of pairs of one kind, in order."""
    pairs = sorted({(row["d"], row["pairs"]) for row in rows if row["kind"] == kind})
    return [d for d, _ in pairs], [count for _, count in pairs]


def _span(family: features.Maximum, seed: int) -> dict[str, Any]:
    """Draw more nodes than the component can need; return the rank of their cross terms a(g)b(g′) and two residuals."""
    group, c = family.group, family.component
    M, size = group.order, c.basis.shape[1]
    W = family.random_nodes(size**2 + 10, seed)
    cross = np.einsum("gk,hk->ghk", c.basis.T @ W[:M], c.basis.T @ W[M:]).reshape(size**2, -1)
    values = np.linalg.svd(cross, compute_uv=False)
    rank = int((values > 1e-9 * values[0]).sum())
    # Part of the target in the component, in coordinates of basis ⊗ basis; cross terms lie in the same space.
    projector = c.basis @ c.basis.T
    target = np.einsum("gi,hj,ghm->ijm", c.basis, c.basis, projector[group.table]).reshape(size**2, -1)
    left = {count: _left(cross[:, :count], target) for count in (rank, rank - 1)}
    return {"kind": c.kind, "d": c.dim, "pairs": rank, "left": left[rank], "left by one fewer": left[rank - 1]}


def _left(cross: np.ndarray, target: np.ndarray) -> float:
    """Return the share of the target that least squares on the columns of `cross` leaves."""
    if cross.shape[1] == 0:
        return 1.0
    U, s, _ = np.linalg.svd(cross, full_matrices=False)
    U = U[:, s > 1e-10 * s[0]]
    return float(np.linalg.norm(target - U @ (U.T @ target)) ** 2 / np.linalg.norm(target) ** 2)


def _judge_counts(data: Mapping[str, Any]) -> list[Criterion]:
    """Compare the numbers of pairs with the formulas, and require that one fewer leaves part of the target."""
    formulas = {
        "real": ("d³(d + 1)/2 pairs [a; ±b] are needed for a real irrep", lambda d: d**3 * (d + 1) // 2),
        "complex": ("3d⁴ + d³ pairs are needed for a complex pair", lambda d: 3 * d**4 + d**3),
        "quaternionic": ("d⁴ pairs are needed for a quaternionic irrep", lambda d: d**4),
    }
    counts = []
    for kind, (clause, formula) in formulas.items():
        pairs: dict[int, set[int]] = {}
        for row in data["rows"]:
            if row["kind"] == kind:
                pairs.setdefault(row["d"], set()).add(row["pairs"])
        dims = sorted(pairs)
        counted = [count for d in dims for count in sorted(pairs[d])]
        quantity = f"rank of the cross terms of generic maximisers for d = {', '.join(map(str, dims))}"
        counts.append(equals(f"of generic nodes {clause}", quantity, counted, [formula(d) for d in dims]))
    return [
        *counts,
        at_most(
            "this number of pairs [a; ±b] reconstructs the irrep's part of the target",
            "largest share that is left",
            [row["left"] for row in data["rows"]],
            1e-14,
            reason="rounding 2⁻⁵² times a condition number of at most 4 × 10⁸, squared",
        ),
        at_least(
            "one generic pair fewer does not",
            "smallest share that is left",
            [row["left by one fewer"] for row in data["rows"]],
            1e-8,
            reason="a million times the rounding",
        ),
    ]


node_counts = Check(_measure_counts, _judge_counts)
