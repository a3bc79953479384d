"""Stage III: repulsion of similar features and top-down modulation (Theorems 6 and 7)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import features, groups
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, below, equals
from firstlight.records import Criterion, figure
from firstlight.theories import li2

EPS = 2.0**-52

MODULATED_ASCENT = 1e-8
"""Relative error of E_S at the end of an ascent, which stops at a relative gradient of 1e-9."""
NEW_NODE_DRIVE = 1e-6
"""1 − cosine of the gradient of a new node with the modulated one."""
_RIDGE, _NEW_SIZE = 1e-10, 1e-4


def _measure_repulsion(setting: Setting) -> Measurement:
    """Compare b_jl = −β/det with the inverse; sum eq. 10 with and without l = j; plant pairs of similar features."""
    n, K, eta = setting.choose(quick=(30, 13, 0.1), paper=(200, 60, 0.1))
    seeds = setting.seeds_or(range(3))
    data: dict[str, Any] = {"b": [], "signs": [], "printed": [], "without j": [], "planted": [], "condition": 0.0}
    shown: tuple[list[float], list[float]] = ([], [])
    j, k = np.triu_indices(K, 1)
    for seed in seeds:
        random = np.random.default_rng(seed)
        F = random.normal(size=(n, K)) ** 2
        centred = F - F.mean(0)
        similar = centred.T @ centred
        B = np.linalg.inv(similar + eta * np.eye(K))
        formula = np.array(
            [li2.lemmas.repulsion_coefficient(F, eta, int(a), int(b)) for a, b in zip(j, k, strict=True)]
        )
        data["condition"] = max(data["condition"], float(np.linalg.cond(similar + eta * np.eye(K))))
        data["b"].append(float(np.abs(formula - B[j, k]).max() / np.abs(B).max()))
        data["signs"].append(float(np.mean(np.sign(formula) == np.sign(B[j, k]))))
        size = np.linalg.norm(centred @ B)
        others = np.stack([centred @ np.where(np.arange(K) == i, 0.0, B[i]) for i in range(K)], axis=1)
        data["without j"].append(float(np.linalg.norm(np.diag(B) * centred + others - centred @ B) / size))
        data["printed"].append(float(np.linalg.norm(np.diag(B) * centred + centred @ B - centred @ B) / size))
        data["planted"] += _planted(F, eta, random)
        scale = np.sqrt(np.outer(np.diag(similar), np.diag(similar)))
        shown[0].extend((similar / scale)[j, k])
        shown[1].extend((B / np.sqrt(np.outer(np.diag(B), np.diag(B))))[j, k])
    cloud = figure.scatter(
        [figure.Series("pairs of nodes", shown[0][:300], shown[1][:300])],
        x="similarity of the nodes, cosine",
        y="b_jl, in units of √(b_jj b_ll)",
        title="Similar features repel",
    )
    return Measurement(data, {"n": n, "K": K, "eta": eta}, seeds, (cloud,))


def _planted(F: np.ndarray, eta: float, random: np.random.Generator) -> list[float]:
    """Return b_jl √(F̃ᵀF̃ entries) of each node j and a copy of it with 10 % of noise, beside all other nodes."""
    values = []
    for j in range(F.shape[1]):
        copy = F[:, j] + 0.1 * F[:, j].std() * random.normal(size=len(F))
        B = li2.lemmas.repulsion_matrix(np.column_stack([F, copy]), eta)
        values.append(float(B[j, -1] / np.sqrt(B[j, j] * B[-1, -1])))
    return values


def _judge_repulsion(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge eq. 10 as printed and with l ≠ j, the coefficient, its sign and the repulsion of similar features."""
    rounding = 64 * EPS * data["condition"]
    reason = f"64 × 2⁻⁵² × the condition number {data['condition']:.3g} of F̃ᵀF̃ + ηI"
    error = "relative error of the right side"
    return [
        at_most(
            "[F̃B]_j = b_jj f̃_j + Σ_{l=1}^K b_jl f̃_l (eq. 10)",
            error,
            data["printed"],
            rounding,
            reason=reason,
            form="printed",
        ),
        at_most(
            "[F̃B]_j = b_jj f̃_j + Σ_{l≠j} b_jl f̃_l",
            error,
            data["without j"],
            rounding,
            reason=reason,
            form="corrected",
        ),
        at_least("sign b_jl = −sign f̃_jᵀP_{η,−jl}f̃_l", "share of pairs with this sign", data["signs"], 1.0),
        at_most(
            "b_jl = −β/((η + α)(η + γ) − β²)",
            "largest error over the largest entry of B",
            data["b"],
            rounding,
            reason=reason,
            form="corrected",
        ),
        below(
            "if f̃_j and f̃_l are similar, b_jl is negative",
            "b_jl/√(b_jj b_ll) for nodes beside a copy with 10 % of noise",
            data["planted"],
            0.0,
        ),
    ]


repulsion = Check(_measure_repulsion, _judge_repulsion)


def _measure_modulation(setting: Setting) -> Measurement:
    """Check the residual after S is fitted, the gradient of a new node, and the ends of ascents of E_S."""
    names = setting.choose(quick=("S3", "A4", "Q8", "Z7"), paper=("S3", "A4", "Q8", "Z7", "D5", "S4", "F21", "Z12"))
    starts = setting.choose(quick=24, paper=200)
    seeds = setting.seeds_or((0,))
    data: dict[str, Any] = {"residual": {}, "printed": {}, "drive": {}, "energy": {}, "strays": 0, "ascents": 0}
    data |= {"width": {}, "printed width": {}, "corrected width": {}}
    shares: dict[str, list[float]] = {"nothing learned yet": [], "after it was learned": []}
    for done, name in enumerate(names):
        setting.progress(done / len(names), name)
        group = groups.parse(name)
        learned = _first_component(group)
        _add_residuals(data, group, learned)
        W = li2.lemmas.ascend_modulated(group, learned, starts=starts, seed=seeds[0])
        reached = li2.lemmas.reached_irreps(group, W)
        data["ascents"] += len(reached)
        data["strays"] += sum(not irreps or bool(irreps & set(learned)) for irreps in reached)
        targets = {frozenset(m.component.irreps): m.energy for m in features.maxima(group)}
        E = li2.lemmas.modulated_energy(group, learned, W)
        ratios = [e / targets[irreps] if irreps else np.nan for e, irreps in zip(E, reached, strict=True)]
        data["energy"][name] = float(np.abs(np.array(ratios) - 1).max())
        free = li2.lemmas.reached_irreps(group, li2.lemmas.ascend_modulated(group, (), starts=starts, seed=seeds[0]))
        for key, ends in zip(shares, (free, reached), strict=True):
            shares[key].append(float(np.mean([bool(irreps & set(learned)) for irreps in ends])))
    bars = figure.bars(
        list(names),
        shares,
        x="group",
        y="ascents that end in the irrep",
        title="An irrep that is learned is no longer a maximum",
    )
    return Measurement(data, {"groups": names, "starts": starts}, seeds, (bars,))


def _first_component(group: groups.Group) -> tuple[int, ...]:
    """Return the irreps of the first non-trivial real component."""
    return tuple(next(part for part in group.real_components() if not part.is_trivial).irreps)


def _add_residuals(data: dict[str, Any], group: groups.Group, learned: tuple[int, ...]) -> None:
    """Add errors of the residual, as printed and by characters, the width of Φ_S, and 1 − cos of new nodes."""
    M, name = group.order, group.name
    part = next(m for m in features.maxima(group) if set(m.component.irreps) == set(learned))
    old = part.random_nodes(8 + 4 * part.component.dim**4, seed=0)
    new = _NEW_SIZE * features.random_starts(group, 4, seed=1)
    g, h = np.divmod(np.arange(M * M), M)
    W = np.hstack([old, new])
    F, label = (W[g] + W[M + h]) ** 2, group.table.reshape(-1)
    Y, K = np.eye(M)[label], old.shape[1]
    left = features.centred(Y - F[:, :K] @ features.ridge(F[:, :K], Y, 0.0))
    missing = [rho for rho in group.irreps() if not rho.is_trivial and rho.index not in learned]
    # Ỹ − Ŷ at (h, h′) is (1/M) Σ d_k χ_k(h′⁻¹h); printed is (1/M) Σ d_k χ_k(h) χ̄_k(h′).
    quotient = group.table[group.inverse]
    true = np.real(np.sum([rho.dim / M * rho.character[quotient].T for rho in missing], axis=0))
    printed = np.real(np.sum([rho.dim / M * np.outer(rho.character, rho.character.conj()) for rho in missing], axis=0))
    data["residual"][name] = float(np.abs(left - true[label]).max())
    data["printed"][name] = float(np.abs(left - printed[label]).max())
    data["width"][name] = int(np.linalg.matrix_rank(left, tol=1e-6))
    data["printed width"][name] = len(group.irreps()) - 1 - len(learned) - 1
    data["corrected width"][name] = sum(rho.dim**2 for rho in missing)
    G = features.feature_gradient(F, Y, features.ridge(F, Y, _RIDGE))[:, K:]
    modulated = li2.lemmas.modulation(group, learned)[label]
    ideal = np.real(modulated @ (modulated.conj().T @ F[:, K:]))
    cosine = np.sum(G * ideal, 0) / np.linalg.norm(G, axis=0) / np.linalg.norm(ideal, axis=0)
    data["drive"][name] = float(1 - cosine.min())


def _judge_modulation(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the residual and the width of Φ_S, the gradient of new nodes and the maxima of E_S."""
    fitted = "entries of a least-squares residual of size 1: 2⁻⁵² times a condition number of at most 4 × 10⁶"
    names = ", ".join(data["width"])
    return [
        at_most(
            "the residual at (h, h′) is (1/M) Σ_{k∉S} d_k χ_k(h) χ̄_k(h′)",
            "largest error of an entry",
            data["printed"],
            1e-9,
            reason=fitted,
            form="printed",
        ),
        at_most(
            "the residual at (h, h′) is (1/M) Σ_{k∉S} d_k χ_k(h′⁻¹h)",
            "largest error of an entry",
            data["residual"],
            1e-9,
            reason=fitted,
            form="corrected",
        ),
        equals(
            "Φ_S has κ − |S| − 1 columns",
            f"rank of the residual on {names}",
            list(data["width"].values()),
            list(data["printed width"].values()),
            form="printed",
        ),
        equals(
            "Φ_S has Σ_{k∉S} d_k² columns",
            f"rank of the residual on {names}",
            list(data["width"].values()),
            list(data["corrected width"].values()),
            form="corrected",
        ),
        at_most(
            "G_F ∝ (Φ_S ⊗ 1)(Φ_S ⊗ 1)*F for a new node, Φ_S with matrix entries",
            "largest 1 − cosine with the gradient at the ridge solution",
            data["drive"],
            NEW_NODE_DRIVE,
            reason="new nodes have a Gram of at most 1e-13, a share of 1e-3 of the ridge 1e-10; half its square",
            form="corrected",
        ),
        equals(
            "E_S has local maxima on the missing irreps only",
            f"of {data['ascents']} ascents, those that end elsewhere",
            data["strays"],
            0,
        ),
        at_most(
            "these maxima have the energies E* of Theorem 2, corrected",
            "largest relative difference",
            data["energy"],
            MODULATED_ASCENT,
            reason="ascents stop at a relative gradient of 1e-9",
            form="corrected",
        ),
    ]


top_down = Check(_measure_modulation, _judge_modulation)
