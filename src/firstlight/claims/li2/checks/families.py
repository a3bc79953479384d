"""The ends of ascents of the energy, described by the families of maxima that theory predicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firstlight import features, groups
from firstlight.claims._check import ProgressCallback, silent

ASCENT = 1e-9
"""Largest ‖∇E − (w·∇E)w‖ over w·∇E at which an ascent stops; energy and purity are off by its square."""

ASCENT_REASON = "ascents stop at a relative gradient of 1e-9; its square and rounding are far below"


@dataclass(frozen=True)
class Ends:
    """The ends of ascents on one group.

    **Attributes:**

    - `group`: the group.
    - `W`: (2M, K) ends.
    - `energy`: (K,) energies, summed over all pairs of the table.
    - `converged`: (K,) whether an ascent converged.
    - `family`: (K,) index of the component that holds most of an end, among `features.maxima(group)`.
    - `impurity`: (K,) share of ‖w‖² outside this component.
    """

    group: groups.Group
    W: np.ndarray
    energy: np.ndarray
    converged: np.ndarray
    family: np.ndarray
    impurity: np.ndarray


def ascend(group: groups.Group, starts: int, seeds: Sequence[int]) -> Ends:
    """Ascend the energy with σ = x² from random starts, over the whole table."""
    W = np.concatenate([features.random_starts(group, starts, seed) for seed in seeds], axis=1)
    end = features.ascend(features.GroupEnergy(group), W, tolerance=ASCENT)
    return described(group, end.W, end.converged)


def described(group: groups.Group, W: np.ndarray, converged: np.ndarray) -> Ends:
    """Describe ends of ascents by component and by energy."""
    content = features.irrep_content(W, group)
    return Ends(group, W, pair_energy(W, group), converged, content[:, 1:].argmax(axis=1), 1 - features.purity(content))


def pair_energy(W: np.ndarray, group: groups.Group) -> np.ndarray:
    """Compute ½ Σ_h (z_h − z̄)², z_h = Σ_{gg′=h} (a(g) + b(g′))², by summing over all pairs."""
    M = group.order
    z = np.zeros((M, W.shape[1]))
    for g in range(M):
        z[group.table[g]] += (W[g] + W[M:]) ** 2
    return 0.5 * ((z - z.mean(axis=0)) ** 2).sum(axis=0)


def summary(
    names: Sequence[str],
    starts: int,
    seeds: Sequence[int],
    *,
    curved: int | None = None,
    progress: ProgressCallback = silent,
) -> dict[str, Any]:
    """Ascend on several groups and summarise the ends by kind of irrep.

    **Arguments:**

    - `names`: the groups.
    - `starts`, `seeds`: random starts per seed.
    - `curved`: ends per component at which the Hessian is computed; all by default.
    - `progress`: progress callback.

    **Returns:**

    Plain data. `scaled energy` has the extremes of E*·d/M for each kind of irrep. `points` has a row per group and
    component.
    """
    data: dict[str, Any] = {"ascents": 0, "unconverged": 0, "elsewhere": 0, "impurity": 0.0, "positive": 0}
    data |= {"outside": [], "rank": 0.0, "shared": 0.0, "mirror": 0.0, "scaled energy": {}, "points": []}
    for i, name in enumerate(names):
        progress(i / len(names), name)
        ends = ascend(groups.parse(name), starts, seeds)
        data["ascents"] += len(ends.energy)
        data["unconverged"] += int((~ends.converged).sum())
        data["impurity"] = max(data["impurity"], float(ends.impurity.max()))
        for k, family in enumerate(features.maxima(ends.group)):
            if len(here := np.flatnonzero(ends.family == k)):
                _add_family(data, name, ends, family, here, curved)
    return data


def _add_family(
    data: dict[str, Any], name: str, ends: Ends, family: features.Maximum, here: np.ndarray, curved: int | None
) -> None:
    """Add the ends in one component to the data."""
    M, c = ends.group.order, family.component
    scaled = ends.energy[here] * c.dim / M
    low, high = data["scaled energy"].get(c.kind, (np.inf, -np.inf))
    data["scaled energy"][c.kind] = [min(low, float(scaled.min())), max(high, float(scaled.max()))]
    predicted = M / ((2 if c.kind == "real" else 4) * c.dim)
    misfit = np.abs(ends.energy[here] / predicted - 1)
    data["elsewhere"] += int(((misfit > ASCENT) | (ends.impurity[here] > ASCENT)).sum())
    data["points"].append([c.kind, predicted, float(ends.energy[here][misfit.argmax()])])
    rank, shared = form_errors(ends.W[:, here], family)
    data["rank"], data["shared"] = max(data["rank"], rank), max(data["shared"], shared)
    data["mirror"] = max(data["mirror"], mirror_distance(ends.W[:, here], ends.group))
    for j in here[:curved]:
        data["positive"] = max(data["positive"], int(features.signature(ends.W[:, j], ends.group)[0]))
    data["outside"].append(outside_curvature(ends.W[:, here[0]], family))


def form_errors(W: np.ndarray, family: features.Maximum) -> tuple[float, float]:
    """Measure how far w = [a; b] is from a(g) ∝ Re x*C(g)r, b(g) ∝ Re r*C(g)y.

    Returns the share of â and b̂ beyond rank 1, and the distance of the two directions r. A quaternionic irrep has
    singular values in pairs, so that its rank is 2.
    """
    M, rank = family.group.order, 2 if family.component.kind == "quaternionic" else 1
    index = family.component.irreps[0]
    A, B = (groups.fourier(family.group, half.T)[index] for half in (W[:M], W[M:]))
    U, size_A, _ = np.linalg.svd(A)
    _, size_B, Vh = np.linalg.svd(B)
    beyond = [(size[:, rank:] ** 2).sum(1) / (size**2).sum(1) for size in (size_A, size_B)]
    left, right = U[:, :, :rank], Vh[:, :rank, :]
    overlap = (np.abs(right @ left) ** 2).sum(axis=(1, 2)) / rank
    return float(np.max(beyond)), float(np.abs(1 - overlap).max())


def mirror_distance(W: np.ndarray, group: groups.Group) -> float:
    """Return the largest distance of b from ±Pa, relative to ‖a‖: 0 for nodes [u; ±Pu]."""
    a, b = W[: group.order], W[group.order :]
    apart = [np.linalg.norm(b - sign * a[group.inverse], axis=0) for sign in (1, -1)]
    return float((np.minimum(*apart) / np.linalg.norm(a, axis=0)).max())


def outside_curvature(w: np.ndarray, family: features.Maximum) -> float:
    """Return the largest curvature of E on the sphere along directions of other components, over w·∇E."""
    group, M = family.group, family.group.order
    inside = family.component.basis
    outside = np.linalg.svd(np.eye(M) - inside @ inside.T)[0][:, : M - inside.shape[1]]
    H = features.energy_hessian(w, group)
    along = float(w @ H @ w) / 3
    basis = np.block([[outside, 0 * outside], [0 * outside, outside]])
    return float(np.linalg.eigvalsh(basis.T @ H @ basis)[-1] / along - 1)
