"""Deeper architectures: the gradient at lower layers (Section 7)."""

from collections.abc import Callable

import numpy as np

from firstlight import tasks
from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.li2.tolerances import DEEP_COSINE
from firstlight.records import figure
from firstlight.theories import li2
from firstlight.theories.li2._deep import cosine

Function = Callable[[np.ndarray], np.ndarray]


def propagation(setting: Setting) -> Outcome:
    """Compare (G_L ∘ σ′)W_Lᵀ with eq. 12 and with the wide limit; measure the lowest layer's signal against depth."""
    M, width, fan, depths = setting.choose(
        quick=(7, 48, 60_000, (1, 2, 3, 4)), paper=(23, 512, 400_000, (1, 2, 3, 4, 6))
    )
    seeds = setting.seeds_or(range(setting.choose(quick=4, paper=15)))
    task = tasks.group_task(f"Z{M}")
    X, Y = task.inputs.dense(), np.eye(M)[task.targets]
    relu, slope = (lambda x: np.maximum(x, 0.0)), (lambda x: (x > 0).astype(float))
    random = np.random.default_rng(seeds[0])
    F = relu(X @ random.normal(size=(2 * M, width)))
    setting.progress(0.1, "the wide limit")
    exact, gates = _wide(F, Y, fan, relu, slope, random)
    cosines = {
        "limit with Θ₀ and Θ₂": cosine(exact, li2.lemmas.relu_limit(F, Y)),
        "eq. 12 with mean gates": cosine(exact, gates),
        "ỸỸᵀF": li2.lemmas.label_signal(exact, F, Y),
    }
    setting.progress(0.4, "depth")
    signal = {residual: [_signal(X, Y, width, L, residual, seeds) for L in depths] for residual in (False, True)}
    falls = all(np.diff(np.mean(signal[False], axis=1)) < 0)
    helps = all(np.mean(b) > np.mean(a) for a, b in zip(signal[False][1:], signal[True][1:], strict=True))
    parts = {
        "the limit holds": cosines["limit with Θ₀ and Θ₂"] > 1 - DEEP_COSINE,
        "eq. 12 does not": cosines["eq. 12 with mean gates"] < cosines["limit with Θ₀ and Θ₂"] - 0.005,
        "the signal falls with depth": falls,
        "residual connections keep more of it": helps,
    }
    series = [
        figure.Series("residual" if r else "plain", depths, np.mean(v, 1), np.min(v, 1), np.max(v, 1))
        for r, v in signal.items()
    ]
    shown = figure.curves(
        series,
        x="hidden layers",
        y="cos(G₁, ỸỸᵀF₁)",
        title="Label signal at the lowest layer",
        caption=f"Z{M}, relu, random weights, width {width}; bands over {len(seeds)} seeds.",
    )
    return Outcome(
        "holds-as-corrected" if all(parts.values()) else "fails",
        parts | {f"cosine: {name}": value for name, value in cosines.items()},
        dict.fromkeys(parts, True),
        evidence=(
            "Gates differ from node to node, so no D_L on the left gives G_{L−1} = (G_L ∘ σ′)W_Lᵀ. For a wide relu "
            f"layer the cosine is {cosines['eq. 12 with mean gates']:.4f} for eq. 12 with mean gates, "
            f"{cosines['ỸỸᵀF']:.4f} for ỸỸᵀF and {cosines['limit with Θ₀ and Θ₂']:.4f} for the limit with Θ₀ and Θ₂."
        ),
        figures=(shown,),
        seeds=seeds,
    )


def _wide(
    F: np.ndarray, Y: np.ndarray, fan: int, relu: Function, slope: Function, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Compute (ỸỸᵀσ(FW) ∘ σ′(FW))Wᵀ and eq. 12 with mean gates, summed over blocks of random nodes."""
    centred = Y - Y.mean(0)
    exact, gates, block = 0.0, 0.0, 4000
    for _ in range(fan // block):
        W = random.normal(size=(F.shape[1], block))
        H = F @ W
        exact = exact + ((centred @ (centred.T @ relu(H))) * slope(H)) @ W.T
        gates = gates + li2.lemmas.shared_gates(F, H, Y, slope)
    return np.asarray(exact), np.asarray(gates)


def _signal(
    X: np.ndarray, Y: np.ndarray, width: int, layers: int, residual: bool, seeds: tuple[int, ...]
) -> list[float]:
    """Compute cos(G₁, ỸỸᵀF₁) at random weights, with G_L = ỸỸᵀF_L, for each seed."""
    relu, slope = (lambda x: np.maximum(x, 0.0)), (lambda x: (x > 0).astype(float))
    centred, cosines = Y - Y.mean(0), []
    for seed in seeds:
        random = np.random.default_rng(seed)
        shapes = [(X.shape[1], width)] + [(width, width)] * (layers - 1)
        weights = [random.normal(size=shape) * np.sqrt(2 / shape[0]) for shape in shapes]
        F, H = li2.lemmas.forward(X, weights, relu, residual=residual)
        G = li2.lemmas.backward(centred @ (centred.T @ F[-1]), H, weights, slope, residual=residual)
        cosines.append(li2.lemmas.label_signal(G[0], F[0], Y))
    return cosines
