"""Section 4 and Appendix D: fully connected linear networks learn singular modes one by one."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import _canonical as canonical
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, equals, untested, within
from firstlight.claims.agf.checks import _linear
from firstlight.records import Criterion
from firstlight.theories import agf

SAMPLING = 4.0
"""Standard errors within which a mean of independent draws lies with probability 1 − 6e-5."""

ALTERNATING = 64 * 24 * 2.0**-52 * 1e3
"""Relative rounding of traces of 24 products; ascents converge at a rate that 300 steps exhaust, 1e3 is its margin."""

LOW_RANK = 1e-5
"""Relative error of a level whose factors are minimised to a gradient of 1e-10, at condition numbers up to 1e5."""


def _measure_stiefel(setting: Setting) -> Measurement:
    """Sample the utility of a pair, and ascend the total utility of orthonormal pairs."""
    seeds = setting.seeds_or((0,))
    rng = np.random.default_rng(seeds[0])
    M, d, H = 4, 6, 10
    S, B = np.diag(rng.uniform(0.5, 2, d)), rng.standard_normal((M, d))
    beta = rng.standard_normal((M, 1)) @ rng.standard_normal((1, d)) / 5
    G = (B - beta) @ S
    X = rng.standard_normal((setting.choose(quick=200_000, paper=2_000_000), d)) * np.sqrt(np.diag(S))
    a, w = rng.standard_normal(M), rng.standard_normal(d)
    draws = (X @ w) * (X @ (B - beta).T @ a)
    away = abs(draws.mean() - float(a @ G @ w)) / (draws.std() / np.sqrt(len(draws)))
    sigma = np.linalg.svd(G, compute_uv=False)
    ends, each = [], []
    for _ in range(setting.choose(quick=20, paper=500)):
        A, W = (canonical.orthogonal(rng, n, M) for n in (M, d))
        for _ in range(300):
            # Alternating polar ascent of tr AᵀGW: each factor is optimal for the other.
            W = _polar(G.T @ A)
            A = _polar(G @ W)
        ends.append(float(np.sum(A * (G @ W))) / 2 / float(sigma.sum() / 2))
        each.append(np.sort(np.linalg.svd(A.T @ G @ W, compute_uv=False))[::-1] / sigma)
    data = {
        "standard errors": float(away),
        "total over ½Σσ": ends,
        "singular values over σ": np.array(each),
        "modes": int(np.linalg.matrix_rank(G)),
        "printed pairs": H,
        "corrected pairs": min(d, H, M),
    }
    return Measurement(data, {"outputs": M, "inputs": d, "hidden units": H}, seeds[:1])


def _polar(A: np.ndarray) -> np.ndarray:
    """Return the polar factor."""
    u, _, vt = np.linalg.svd(A, full_matrices=False)
    return u @ vt


def _judge_stiefel(data: Mapping[str, Any]) -> list[Criterion]:
    reason = "traces of 24 products in float64, after ascents to convergence"
    return [
        at_most(
            "U_i = −ã_iᵀ∇L w̃_i",
            "distance of a sampled utility from the formula, in standard errors",
            data["standard errors"],
            SAMPLING,
            reason="four standard errors of the mean",
        ),
        within(
            "the total utility is largest at the top singular vectors, which ascents reach",
            "total utility that ascents reach, over ½Σσ_i",
            data["total over ½Σσ"],
            1.0,
            ALTERNATING,
            reason=reason,
        ),
        within(
            "the i-th pair has the utility σ_i/2",
            "singular values of ãᵀ∇L w̃ at the ends, over σ_i",
            data["singular values over σ"],
            1.0,
            ALTERNATING,
            reason=reason,
        ),
        untested("it has no other local maxima", "ascents cannot show it; the paper proves it"),
        equals(
            "|D| = H − k pairs, for c = 4, d = 6, H = 10, k = 0",
            "singular modes of ∇L, the most pairs that exist",
            data["modes"],
            data["printed pairs"],
            form="printed",
        ),
        equals(
            "|D| = min(d, H, c) − k pairs",
            "singular modes of ∇L, the most pairs that exist",
            data["modes"],
            data["corrected pairs"],
            form="corrected",
        ),
    ]


utility_on_the_stiefel_manifold = Check(_measure_stiefel, _judge_stiefel)


def _measure_greedy(setting: Setting) -> Measurement:
    """Compare the stages of Algorithm 3 with the closed form of AGF's cost phase and with its singular vectors."""
    seeds = setting.seeds_or(range(setting.choose(quick=3, paper=20)))
    size = setting.choose(quick=4, paper=8)
    levels, paths, below = [], [], []
    for done, seed in enumerate(seeds):
        setting.progress(done / len(seeds), f"draw {seed}")
        network = _linear.power_law(False, seed, size)
        path, _ = network.greedy()
        losses, best = np.array([network.loss(beta) for beta in path]), network.best_levels
        levels.append(float(np.abs(losses - best).max() / best[0]))
        below.append(float(((best - losses) / best[0]).max()))
        closed = np.stack([network.best(k) for k in range(len(path))])
        paths.append(float(max(_weighted(network, a - b) for a, b in zip(path, closed, strict=True)) / best[0]))
    crossed = agf.LinearNetwork(np.diag([1.0, 0.01]), np.diag([1.0, 20.0]), 2)
    data = {
        "levels": levels,
        "maps": paths,
        "below": below,
        "crossed": float(crossed.loss(crossed.greedy()[0][1])),
        "crossed, best": float(crossed.best_levels[1]),
        "crossed, first": float(crossed.best_levels[0]),
    }
    return Measurement(data, {"size": size, "seeds": len(seeds)}, seeds)


def _weighted(network: agf.LinearNetwork, gap: np.ndarray) -> float:
    """Return ½ tr gap Σ_xx gapᵀ, the loss that a change of the map would cause."""
    return float(np.sum((gap @ network.covariance) * gap) / 2)


def _judge_greedy(data: Mapping[str, Any]) -> list[Criterion]:
    reason = "each stage is minimised to a gradient of 1e-10, at condition numbers up to 1e5"
    gap = (data["crossed"] - data["crossed, best"]) / data["crossed, first"]
    return [
        at_most(
            "its levels are those of the best β of each rank, generic Σ_xx",
            "largest distance of a level, relative to the first",
            data["levels"],
            LOW_RANK,
            reason=reason,
        ),
        at_most(
            "AGF learns the same sequence of maps, P_(U_k) Σ_yx Σ_xx⁻¹",
            "largest ½E‖(β − β_AGF)x‖², relative to the first level",
            data["maps"],
            LOW_RANK,
            reason=reason,
        ),
        at_most(
            "no map of rank k is better than P_(U_k) Σ_yx Σ_xx⁻¹",
            "largest fall below the best level, relative to the first",
            data["below"],
            64 * 64 * 2.0**-52,
            reason="traces of 64 products in float64; the factor is 64",
        ),
        at_most(
            "its levels are those of the best β of each rank, in every case: Σ_xx = diag(1, .01), B = diag(1, 20)",
            "level after one stage minus that of the best β of rank one, relative to the first level",
            gap,
            LOW_RANK,
            form="printed",
            reason=reason,
        ),
        at_least(
            "where Σ_xx commutes, a stage keeps the mode of largest σ, which need not be the best",
            "level after one stage minus that of the best β of rank one, relative to the first level",
            gap,
            0.1,
            form="corrected",
            reason="the two modes lower the loss by 0.5 and 2.0 of 2.5",
        ),
    ]


greedy_low_rank = Check(_measure_greedy, _judge_greedy)
