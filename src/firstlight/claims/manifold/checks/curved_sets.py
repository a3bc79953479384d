"""Figure 3: zero-loss sets that are curved, singular or kinked."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, equals, within
from firstlight.claims.manifold.checks._toy_flows import (
    AHEAD,
    FIRST,
    LAMBDA,
    ON_THE_HYPERBOLA,
    RANDOM_STARTS,
    SMALL,
    SOLVED,
    SOLVER,
    agrees,
    share_ahead,
    solved_flows,
)
from firstlight.records import Criterion, figure
from firstlight.theories import manifold

FIRST_ORDER = 0.05
"""Relative size of the next order in λ at λ = 0.05."""


def _measure_sets(setting: Setting) -> Measurement:
    """Solve Figure 3's flows: invariants, the singular origin, and the leaky ReLU in closed form."""
    lam, (times, solved) = LAMBDA, solved_flows(setting)
    w, order = _hyperbola(times, solved["hyperbola"])
    cross, leaky = solved["cross"], solved["leaky addition"]
    starts = np.array(manifold.lemmas.TOYS["leaky addition"].starts)
    exact = np.stack([manifold.lemmas.leaky_addition(s, lam, times) for s in starts], 1)
    u = w[..., 0] ** 2 - w[..., 1] ** 2
    drawn = len(manifold.lemmas.TOYS["cross"].starts)
    # The weights of the second start are equal, so that it has no way to go along the set.
    difference = np.delete(leaky[..., 0] - leaky[..., 1], 1, axis=1)
    data = {
        "λ": lam,
        "left, |w₁w₂ − 1| after t = 5": np.abs(w[..., 0] * w[..., 1] - 1)[times >= 5].max(0),
        "left, w₁² − w₂² against e^{−4λt}": np.abs(u - u[0] * np.exp(-4 * lam * times)[:, None]).max(0),
        "left, distance from the constrained flow over λ": order,
        "centre, rank of the Jacobian at (0, 0)": np.linalg.matrix_rank(
            manifold.lemmas.TOYS["cross"].zero_set.jacobian(np.zeros(2))
        ),
        "centre, |w| at the end": np.linalg.norm(cross[-1], axis=-1),
        "right, against the closed form": np.abs(leaky - exact).max(0),
        "right, way ahead at zero loss": share_ahead(np.delete(leaky.sum(-1) - 4 / (2 + lam), 1, axis=1), difference),
        "right, training loss at the end": (leaky[-1].sum(-1) - 2) ** 2,
        "right, distance from (1, 1) at the end": np.abs(leaky[-1] - 1).max(-1),
    }
    used = {
        "left": "two-layer linear network, curved zero-loss set",
        "centre": "two-layer linear network, zero-loss set with a singularity at (0, 0)",
        "right": "one layer, leaky ReLU with slope 1/10, addition",
        "data": "w₁w₂ = 1 (left), w₁w₂ = 0 (centre), leaky ReLU(w₁ + w₂) = 2 (right)",
        "initial weights": f"five, four and four of our own, and {RANDOM_STARTS} normal ones (centre)",
        "weight decay": lam,
        "optimizer": "gradient flow",
    }
    shown = {"hyperbola": w, "cross": cross[:, :drawn], "leaky addition": leaky}
    picture = figure.panels(
        [_picture(name, path) for name, path in shown.items()],
        columns=3,
        title="Curved, singular and kinked zero-loss sets",
        caption=f"λ = {lam}; dashed: zero loss. Centre: every run ends at the singular point.",
    )
    note = "The singular set has measure zero, but it contains the point of least norm, which attracts every run."
    return Measurement(data, used, figures=(picture,), note=note)


def _judge_sets(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge each panel; the probability of meeting the singular point is the printed clause that fails."""
    lam, ends = data["λ"], np.array(data["centre, |w| at the end"])
    order = np.array(list(data["left, distance from the constrained flow over λ"].values()))
    return [
        at_most(
            "left: training follows the curved set",
            "largest |w₁w₂ − 1| after the transient, t ≥ 5, over λ, for each start",
            np.array(data["left, |w₁w₂ − 1| after t = 5"]) / lam,
            1 + FIRST_ORDER,
            reason="slow motion has w₁w₂ − 1 = −2λw₁w₂/‖w‖² ≥ −λ; the next order is λ = 5 % of it",
        ),
        within(
            "left: training follows norm minimisation on the set to first order in λ",
            "sup_t distance from the constrained flow over λ, ratio of two λ",
            order[0] / order[-1],
            1.0,
            FIRST_ORDER,
            reason="a distance of order λ has a constant ratio; the next order of the larger λ, 0.01, times 5",
        ),
        at_most(
            "left: w₁² − w₂² decays exactly as e^{−4λt}",
            "largest deviation, for each start",
            data["left, w₁² − w₂² against e^{−4λt}"],
            SOLVED,
            reason=SOLVER,
            form="corrected",
        ),
        equals(
            "centre: the zero-loss set has a singularity at (0, 0)",
            "rank of the Jacobian there",
            data["centre, rank of the Jacobian at (0, 0)"],
            0,
        ),
        at_most(
            "centre: the probability of meeting a singular point in training is exactly zero",
            f"share of {len(ends)} runs, {RANDOM_STARTS} from random starts, that end at the singular point",
            float(np.mean(np.where(np.isnan(ends), np.nan, ends <= SOLVED))),
            0.0,
            form="printed",
        ),
        at_most(
            "centre: every run ends at the singular point",
            "|w| at the end, for each start",
            ends,
            SOLVED,
            reason=SOLVER + "; e^{−λt} has fallen below 1e-21",
            form="corrected",
        ),
        agrees("the leaky ReLU (right)", data["right, against the closed form"]),
        at_least(
            "right: zero loss first, then along the set",
            "share of w₁ − w₂ left where the loss is low, for each start with w₁ ≠ w₂",
            data["right, way ahead at zero loss"],
            AHEAD,
            reason=FIRST,
        ),
        at_most(
            "right: training with a kink reaches zero loss",
            "training loss at the end over λ², for each start",
            np.array(data["right, training loss at the end"]) / lam**2,
            1.0,
            reason="the exact solution ends at (2λ/(2 + λ))² < λ²",
        ),
        at_most(
            "right: the network groks simple addition",
            "distance of the weights from (1, 1) at the end over λ/2, for each start",
            np.array(data["right, distance from (1, 1) at the end"]) / (lam / 2),
            1.0,
            reason="the exact solution ends with each weight λ/(2 + λ) below 1",
        ),
    ]


curved_singular_and_kinked = Check(_measure_sets, _judge_sets)


def _hyperbola(times: np.ndarray, path: np.ndarray) -> tuple[np.ndarray, dict[str, float]]:
    """Return the runs to draw, and sup_t ‖θ_λ(t) − θ_constrained(λt)‖/λ for two small λ, equal if it is O(λ)."""
    start, order = np.array(ON_THE_HYPERBOLA), {}
    for lam, own in zip(SMALL, np.moveaxis(path, 1, 0)[-len(SMALL) :], strict=True):
        far = np.linalg.norm(own - manifold.lemmas.hyperbola(start, lam * times), axis=1)
        order[f"{lam:g}"] = float(far.max() / lam)
    return path[:, : -len(SMALL)], order


def _picture(name: str, path: np.ndarray) -> figure.FigureData:
    series = [figure.Series(f"run {i + 1}", *path[:, i].T) for i in range(path.shape[1])]
    half = np.geomspace(0.3, 3.3, 60)
    sets = {
        "hyperbola": [(half, 1 / half), (-half, -1 / half)],
        "cross": [(np.array([-2.2, 2.2]), np.zeros(2)), (np.zeros(2), np.array([-2.2, 2.2]))],
        "leaky addition": [(np.array([-1.0, 3.0]), np.array([3.0, -1.0]))],
    }[name]
    # NaN separates the branches, so that both are one entry of the legend.
    x, y = (np.concatenate([np.append(branch[axis], np.nan) for branch in sets]) for axis in (0, 1))
    # The zero-loss set comes first, so that it has the same colour in all panels.
    series = [figure.Series("zero loss", x, y, style="dashed"), *series]
    titles = {"hyperbola": "w₁w₂ = 1", "cross": "w₁w₂ = 0", "leaky addition": "leaky ReLU(w₁ + w₂) = 2"}
    return figure.curves(series, x="w₁", y="w₂", title=titles[name])
