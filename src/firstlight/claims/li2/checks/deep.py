"""Deeper architectures: the gradient at lower layers (Section 7)."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

from firstlight import tasks
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_most
from firstlight.records import Criterion, figure
from firstlight.theories import li2
from firstlight.theories.li2._deep import cosine

LEVEL = 0.999
"""Level of the one-sided t tests over seeds."""
_BLOCK = 4000


def relu(x: np.ndarray) -> np.ndarray:
    """Compute max(x, 0)."""
    return np.maximum(x, 0.0)


def slope(x: np.ndarray) -> np.ndarray:
    """Compute the derivative of relu."""
    return (x > 0).astype(float)


def _measure(setting: Setting) -> Measurement:
    """Compare (G_L ∘ σ′)W_Lᵀ with eq. 12 and with the wide limit; measure the lowest layer's signal against depth."""
    M, width, fan, depths = setting.choose(
        quick=(7, 48, 60_000, (1, 2, 3, 4)), paper=(23, 512, 400_000, (1, 2, 3, 4, 6))
    )
    seeds = setting.seeds_or(range(setting.choose(quick=8, paper=15)))
    task = tasks.group_task(f"Z{M}")
    X, Y = task.inputs.dense(), np.eye(M)[task.targets]
    random = np.random.default_rng(seeds[0])
    F = relu(X @ random.normal(size=(2 * M, width)))
    setting.progress(0.1, "the wide limit")
    exact, gates, sampling, gram = _wide(F, Y, fan, random)
    data: dict[str, Any] = {
        "limit": 1 - cosine(exact, li2.lemmas.relu_limit(F, Y)),
        "eq. 12": 1 - cosine(exact, gates),
        "labels alone": 1 - li2.lemmas.label_signal(exact, F, Y),
        "sampling": sampling,
        "WWᵀ": gram,
        "aspect": width / fan,
        "depths": depths,
    }
    signal = {}
    for residual in (False, True):
        setting.progress(0.4 + 0.3 * residual, "depth")
        signal["residual" if residual else "plain"] = [_signal(X, Y, width, L, residual, seeds) for L in depths]
    series = [
        figure.Series(name, depths, np.mean(values, 1), np.min(values, 1), np.max(values, 1))
        for name, values in signal.items()
    ]
    shown = figure.curves(
        series,
        x="hidden layers",
        y="cos(G₁, ỸỸᵀF₁)",
        title="Label signal at the lowest layer",
        caption=f"Z{M}, relu, random weights, width {width}; bands over {len(seeds)} seeds.",
    )
    return Measurement(data | {"signal": signal}, {"M": M, "width": width, "fan": fan}, seeds, (shown,))


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge eq. 12 and its corrected limit, the label signal over depth, and residual connections."""
    plain, residual = np.array(data["signal"]["plain"]), np.array(data["signal"]["residual"])
    threshold = float(stats.t.ppf(LEVEL, plain.shape[1] - 1))
    reason = f"one-sided t test over {plain.shape[1]} seeds at level 0.001"
    sampled = "the sampling error of the gradient, from the scatter of its blocks, twice"
    limit = 2 * data["sampling"]
    return [
        at_most(
            "G_{L−1} = (D_L ỸỸᵀD_L) F_{L−1} (W_L W_Lᵀ) (eq. 12)",
            "1 − cosine with the true gradient of a wide relu layer, D_L the mean gates",
            data["eq. 12"],
            limit,
            reason=sampled,
            form="printed",
        ),
        at_most(
            "G_{L−1} tends to [(ỸỸᵀ ∘ Θ₀) + diag((ỸỸᵀ ∘ Θ₂)1)]F_{L−1}",
            "1 − cosine with the true gradient of a wide relu layer",
            data["limit"],
            limit,
            reason=sampled,
            form="corrected",
        ),
        at_most(
            "W_L W_Lᵀ ≈ I",
            "‖W_L W_Lᵀ/K_L − I‖_F / ‖I‖_F",
            data["WWᵀ"],
            2 * np.sqrt(data["aspect"]),
            reason="√(width/nodes) for normal weights, twice",
        ),
        above(
            "the lowest layer receives label information",
            "mean of cos(G₁, ỸỸᵀF₁) by depth, two and more layers, in standard errors",
            [_t(values) for values in plain[1:]],
            threshold,
            reason=reason,
        ),
        above(
            "the signal is weakened at each layer",
            "fall of cos(G₁, ỸỸᵀF₁) from depth to depth, in standard errors",
            [_t(shallow - deep) for shallow, deep in itertools.pairwise(plain)],
            threshold,
            reason=reason,
        ),
        above(
            "residual connections give a cleaner signal",
            "gain of cos(G₁, ỸỸᵀF₁) by depth, two and more layers, in standard errors",
            [_t(with_them - without) for with_them, without in zip(residual[1:], plain[1:], strict=True)],
            threshold,
            reason=reason,
        ),
    ]


propagation = Check(_measure, _judge)


def _t(values: np.ndarray) -> float:
    """Return the mean over its standard error; NaN for equal values, which have none."""
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    return float(values.mean()) / error if error > 0 else float("nan")


def _wide(
    F: np.ndarray, Y: np.ndarray, fan: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Sum (ỸỸᵀσ(FW) ∘ σ′(FW))Wᵀ over blocks of random nodes.

    Returns the sum, eq. 12 with mean gates, the expected 1 − cosine from the scatter of the blocks, and the relative
    distance of WWᵀ from the identity.
    """
    centred, blocks = Y - Y.mean(0), fan // _BLOCK
    total, square = np.zeros_like(F), 0.0
    gates: Any = 0.0
    gram = np.zeros((F.shape[1],) * 2)
    for _ in range(blocks):
        W = random.normal(size=(F.shape[1], _BLOCK))
        H = F @ W
        part = ((centred @ (centred.T @ relu(H))) * slope(H)) @ W.T
        total, square = total + part, square + float((part**2).sum())
        gates = gates + li2.lemmas.shared_gates(F, H, Y, slope)
        gram += W @ W.T / fan
    # Variance of the sum of blocks: blocks × (mean square − squared mean), with the unbiased denominator.
    scatter = (square - (total**2).sum() / blocks) * blocks / (blocks - 1)
    identity = np.eye(len(gram))
    apart = float(np.linalg.norm(gram - identity) / np.linalg.norm(identity))
    return total, np.asarray(gates), float(scatter / (total**2).sum() / 2), apart


def _signal(
    X: np.ndarray, Y: np.ndarray, width: int, layers: int, residual: bool, seeds: tuple[int, ...]
) -> list[float]:
    """Compute cos(G₁, ỸỸᵀF₁) at random weights, with G_L = ỸỸᵀF_L, for each seed."""
    centred, cosines = Y - Y.mean(0), []
    for seed in seeds:
        random = np.random.default_rng(seed)
        shapes = [(X.shape[1], width)] + [(width, width)] * (layers - 1)
        weights = [random.normal(size=shape) * np.sqrt(2 / shape[0]) for shape in shapes]
        F, H = li2.lemmas.forward(X, weights, relu, residual=residual)
        G = li2.lemmas.backward(centred @ (centred.T @ F[-1]), H, weights, slope, residual=residual)
        cosines.append(li2.lemmas.label_signal(G[0], F[0], Y))
    return cosines
