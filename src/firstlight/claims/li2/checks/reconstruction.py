"""Theorem 3: which nodes reconstruct the target."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import groups
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, equals
from firstlight.records import Criterion
from firstlight.theories import li2

RECONSTRUCTED = 1e-18
"""Squared residual that counts as zero: 2⁻⁵² times a condition number of at most 4 × 10⁶, squared."""
RECONSTRUCTED_REASON = "rounding 2⁻⁵² times a condition number of at most 4 × 10⁶, squared"
NOT_RECONSTRUCTED = 1e-4
"""Squared residual that counts as not zero."""
NOT_REASON = "far above rounding (1e-18), below the share of one of at most 54 directions"

PERTURBATION = 0.3
"""Relative size of u′ − u."""


def _measure(setting: Setting) -> Measurement:
    """Measure the share of Ỹ that least squares leaves, for the printed nodes, the true maxima and variants of both."""
    seeds = setting.seeds_or((0, 1))
    names = setting.choose(
        quick=("Z5", "Z7", "S3", "Q8", "A4"), paper=("Z5", "Z7", "Z11", "Z8", "S3", "D4", "Q8", "A4")
    )
    residuals: dict[str, dict[str, float]] = {}
    nodes: dict[str, int] = {}
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = groups.parse(name)
        draws = [_draws(group, seed) for seed in seeds]
        for kind in draws[0]:
            shares = [li2.lemmas.reconstruction_residual(draw[kind], group) for draw in draws]
            # A claim of failure needs the smallest share, a claim of reconstruction the largest.
            pick = min if kind in ("one pair fewer", "printed, real") else max
            residuals.setdefault(kind, {})[name] = pick(shares)
        nodes[name] = draws[0]["complex with conjugate"].shape[1]
    dims = {name: [rho.dim for rho in groups.parse(name).irreps()[1:]] for name in names}
    data = {"residuals": residuals, "nodes": nodes, "dims": dims}
    data["real nodes"] = {name: li2.nodes_needed(groups.parse(name)) for name in names if name in ("Z5", "Z7")}
    return Measurement(data, {"groups": names, "perturbation": PERTURBATION}, seeds)


def _draws(group: groups.Group, seed: int) -> dict[str, np.ndarray]:
    """Draw the nodes of every variant."""
    return {
        "printed, complex": li2.lemmas.printed_nodes(group, seed, domain="complex"),
        "complex with conjugate": li2.lemmas.printed_nodes(group, seed, domain="conjugate"),
        "printed, real": li2.lemmas.printed_nodes(group, seed),
        "perturbed": _perturbed(group, seed),
        "true real maxima": li2.lemmas.reconstructing_nodes(group, seed),
        "one pair fewer": li2.lemmas.reconstructing_nodes(group, seed, fewer=1),
    }


def _perturbed(group: groups.Group, seed: int) -> np.ndarray:
    """Draw real nodes [u; ±Pu′], s² pairs in each real component of size s, with u′ near u."""
    random, columns = np.random.default_rng(seed), []
    for component in group.real_components()[1:]:
        size = component.basis.shape[1]
        for _ in range(size**2):
            u, other = (component.basis @ random.standard_normal(size) for _ in range(2))
            near = (u + PERTURBATION * other)[group.inverse]
            columns += [np.concatenate([u, near]), np.concatenate([u, -near])]
    return np.stack(columns, axis=1)


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    """Compare the shares with zero, for the printed and for the corrected statement."""
    left = data["residuals"]
    share = "largest share of the target that is left"
    printed_count = {name: 2 * sum(d**4 for d in dims) for name, dims in data["dims"].items()}
    sizes = {name: 1 + sum(d**2 for d in dims) for name, dims in data["dims"].items()}
    return [
        at_most(
            "over the complex numbers pairs [u; ±Pu] reconstruct the target",
            share,
            left["printed, complex"],
            RECONSTRUCTED,
            reason=RECONSTRUCTED_REASON,
            form="printed",
        ),
        at_most(
            "over the complex numbers pairs [u; ±Pū] reconstruct the target",
            share,
            left["complex with conjugate"],
            RECONSTRUCTED,
            reason=RECONSTRUCTED_REASON,
            form="corrected",
        ),
        equals(
            "K = 2 Σ m_k²d_k² nodes suffice over the complex numbers",
            f"nodes used on {', '.join(data['nodes'])}",
            list(data["nodes"].values()),
            list(printed_count.values()),
        ),
        at_least(
            "over the real numbers no maxima reconstruct",
            "smallest share left by the true real maxima",
            left["true real maxima"],
            NOT_RECONSTRUCTED,
            reason=NOT_REASON,
            form="printed",
        ),
        at_least(
            "real pairs [u; ±Pu] do not reconstruct",
            "smallest share of the target that is left",
            left["printed, real"],
            NOT_RECONSTRUCTED,
            reason=NOT_REASON,
        ),
        at_most(
            "real pairs [u; ±Pu′] with u′ near u reconstruct the target",
            share,
            left["perturbed"],
            RECONSTRUCTED,
            reason=RECONSTRUCTED_REASON,
        ),
        at_most(
            "the true real maxima [a; ±b] reconstruct the target",
            share,
            left["true real maxima"],
            RECONSTRUCTED,
            reason=RECONSTRUCTED_REASON,
            form="corrected",
        ),
        equals(
            "K = 4(M − 1) of them suffice for Z_M, M odd",
            f"nodes used on {', '.join(data['real nodes'])}",
            list(data["real nodes"].values()),
            [4 * (sizes[name] - 1) for name in data["real nodes"]],
            form="corrected",
        ),
        at_least(
            "one pair of generic maxima fewer does not reconstruct",
            "smallest share of the target that is left",
            left["one pair fewer"],
            NOT_RECONSTRUCTED,
            reason=NOT_REASON,
            form="corrected",
        ),
    ]


target_reconstruction = Check(_measure, _judge)
