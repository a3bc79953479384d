"""Section 4 and Appendix D: fully connected linear networks learn singular modes one by one."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import _canonical as canonical
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, equals, within
from firstlight.claims.agf.checks import _linear
from firstlight.claims.agf.checks._limit import SECOND_ORDER_REASON, clock, in_the_limit, second_order
from firstlight.records import Criterion, figure
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
            "the total utility is largest at the top singular vectors, and has no other local maxima",
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

_FLOWS = {"quick": (4, 3, 800), "paper": (10, 9, 2500)}
"""Size of the network, jumps and saved times."""

_ALPHAS = (1e-6, 1e-12)
"""Below 1e-15 the rounding of learned weights is larger than what is dormant."""


def _draws(setting: Setting, seeds: tuple[int, ...]) -> tuple[dict[str, Any], dict[str, list[_linear.Draw]]]:
    """Return plain data and solved flows for both panels and all seeds."""
    size, jumps, points = _FLOWS["quick" if setting.scale == "quick" else "paper"]
    rows: dict[str, Any] = {}
    solved: dict[str, list[_linear.Draw]] = {}
    for i, (name, commuting) in enumerate(_linear.PANELS.items()):
        for j, seed in enumerate(seeds):
            setting.progress((i * len(seeds) + j) / (2 * len(seeds)), f"{name}, draw {seed}")
            draw = _linear.solve(commuting, seed, size, jumps, _ALPHAS, points)
            solved.setdefault(name, []).append(draw)
            rows.setdefault(name, []).append(_linear.summary(draw, seed, _ALPHAS))
    return rows, solved


def _judge_times(data: Mapping[str, Any], alphas: tuple[float, ...]) -> list[Criterion]:
    """Require the jump times of Conjecture 4.1 in the limit, for each panel."""
    rows = []
    for name, draws in data.items():
        apart, scaled = _linear.limits(draws, alphas)
        seeds = [row["seed"] for row in draws]
        total = sum(len(row["stand apart"]) for row in draws)
        rows += [
            at_most(
                f"gradient flow jumps at the times of eq. 6 as α → 0, {name}",
                f"largest relative error of {len(apart)} jumps of {total} that stand apart, extrapolated to α → 0",
                apart,
                second_order(alphas),
                reason=SECOND_ORDER_REASON,
                seeds=seeds,
            ),
            at_most(
                f"the error at finite α is O(1/|log α|), {name}",
                "largest relative error of a jump time, times |log α|, all jumps",
                scaled,
                8.0,
                reason="an order-one number: half the logarithm of a singular value and of a squared overlap; factor 8",
                seeds=seeds,
            ),
        ]
    return rows


def _measure_conjecture(setting: Setting) -> Measurement:
    """Compare Conjecture 4.1 with gradient flow, where σ and μ order the modes alike and where they do not."""
    seeds = setting.seeds_or(range(setting.choose(quick=4, paper=8)))
    rows, solved = _draws(setting, seeds)
    plateaus = {name: [_plateaus(draw) for draw in draws] for name, draws in solved.items()}
    other = agf.LinearNetwork(np.diag([1.0, 0.01]), np.diag([1.0, 20.0]), 2)
    crossed = []
    for seed in seeds:
        run = other.flow(1e-12, np.linspace(0.0, 8.0, 400), seed)
        crossed.append(float(run.loss[np.searchsorted(run.times, 3.0)]))
    data = {
        "alphas": _ALPHAS,
        "draws": rows,
        "plateaus over eq. 6": plateaus,
        "crossed": {
            "gradient flow": crossed,
            "printed": float(other.conjecture().levels[1]),
            "corrected": float(other.predict().levels[1]),
            "first": float(other.conjecture().levels[0]),
        },
    }
    size, jumps, _ = _FLOWS["quick" if setting.scale == "quick" else "paper"]
    return Measurement(data, {"size": size, "jumps": jumps, "alphas": _ALPHAS, "seeds": len(seeds)}, seeds)


def _plateaus(draw: _linear.Draw) -> list[float]:
    """Return the flattest losses between measured jumps minus the levels of eq. 6, relative to the drops around."""
    run, levels, jumps = draw.flows[-1], draw.predicted.levels, len(draw.errors[-1])
    frame = draw.predicted.compare(run).frame.iloc[: jumps - 1]
    drops = np.minimum(levels[:-2] - levels[1:-1], levels[1:-1] - levels[2:])[: jumps - 1]
    return ((frame["measured_level"].to_numpy() - levels[1:jumps]) / drops).tolist()


def _judge_conjecture(data: Mapping[str, Any]) -> list[Criterion]:
    alphas, crossed = data["alphas"], data["crossed"]
    rows = _judge_times(data["draws"], alphas)
    for name, draws in data["draws"].items():
        seeds = [row["seed"] for row in draws]
        plateaus = [
            (rank, k)
            for row in draws
            for k, (rank, here) in enumerate(zip(row["ranks"], row["stand apart"], strict=True))
            if here
        ]
        offsets = [
            offset
            for row, each in zip(draws, data["plateaus over eq. 6"][name], strict=True)
            for offset, here, after in zip(each, row["stand apart"], row["stand apart"][1:], strict=False)
            if here and after
        ]
        rows += [
            equals(
                f"one rank at a time, {name}",
                "plateaus before jumps that stand apart on which the map has rank k after k jumps",
                sum(rank == k for rank, k in plateaus),
                len(plateaus),
                seeds=seeds,
            ),
            at_most(
                f"ℓ^(k) = ½Σ_(i>k) μ_i, {name}",
                "largest distance of a plateau from its level, over the smaller of the drops around it",
                np.abs(offsets),
                float(2 / clock(alphas[-1])),
                reason="between jumps that stand apart by 4 e-folds the loss is within e⁻⁴ ≈ 2/|log α| of its level",
                seeds=seeds,
            ),
        ]
    reason = "by t = 3 the first mode has grown for 2|log α| e-folds beyond its jump, the second for half of its time"
    size = crossed["first"]
    rows += [
        at_most(
            "the levels are ½Σ_(i>k) μ_i in every case: Σ_xx = diag(1, .01), B = diag(1, 20)",
            "largest |plateau after one jump − 0.5|, over the first level",
            np.abs(np.array(crossed["gradient flow"], float) - crossed["printed"]) / size,
            1e-6,
            form="printed",
            reason=reason,
        ),
        at_most(
            "modes wake in the order of σ, and the levels are sums of the μ not yet learned: the same case",
            "largest |plateau after one jump − 2.0|, over the first level",
            np.abs(np.array(crossed["gradient flow"], float) - crossed["corrected"]) / size,
            1e-6,
            form="corrected",
            reason=reason,
        ),
    ]
    return rows


conjecture = Check(_measure_conjecture, _judge_conjecture)


def _measure_commuting(setting: Setting) -> Measurement:
    """Measure jumps of a diagonal case, in which no rounding hides the dormant modes at any α."""
    seeds = setting.seeds_or(range(setting.choose(quick=3, paper=8)))
    network = agf.LinearNetwork(np.diag([2.0, 1.0, 0.5]), np.diag([1.5, 1.2, 1.0]), 3)
    sigma = np.linalg.svd(network.Sigma_yx, compute_uv=False)
    alphas = setting.choose(quick=(1e-8, 1e-16), paper=(1e-8, 1e-16, 1e-32, 1e-64))
    predicted = network.conjecture()
    middles = (predicted.levels[1:] + predicted.levels[:-1]) / 2
    times = np.concatenate(
        [[0.0], np.geomspace(0.1 / sigma[0], 1.4 / sigma[-1], setting.choose(quick=1200, paper=4000))]
    )
    draws = []
    for seed in seeds:
        errors = []
        for alpha in alphas:
            run = network.flow(alpha, times, seed)
            crossed = np.array([agf.lemmas.crossing(run.times, run.loss, middle) for middle in middles])
            errors.append((crossed * sigma - 1).tolist())
        draws.append({"seed": seed, "errors": errors})
    data = {"alphas": alphas, "eq. 6 times σ": predicted.jump_times * sigma, "draws": draws}
    return Measurement(data, {"size": 3, "alphas": alphas}, seeds)


def _judge_commuting(data: Mapping[str, Any]) -> list[Criterion]:
    alphas, draws = data["alphas"], data["draws"]
    return [
        within(
            "eq. 6 reduces to τ^(k) = 1/σ_k",
            "τ^(k) σ_k of Conjecture 4.1",
            data["eq. 6 times σ"],
            1.0,
            64 * 27 * 2.0**-52,
            reason="products of 3 × 3 matrices in float64; the factor is 64",
        ),
        at_most(
            "gradient flow jumps at 1/σ_k in units of −log α",
            "largest relative error of a jump time, extrapolated to α → 0",
            [np.abs(in_the_limit(row["errors"], alphas)).max() for row in draws],
            second_order(alphas),
            reason=SECOND_ORDER_REASON,
            seeds=[row["seed"] for row in draws],
        ),
    ]


commuting_times = Check(_measure_commuting, _judge_commuting)


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


def _measure_figure_4(setting: Setting) -> Measurement:
    """Compare the singular values of the network's map over time with Conjecture 4.1, in both panels."""
    seeds = setting.seeds_or(range(setting.choose(quick=4, paper=8)))
    rows, solved = _draws(setting, seeds)
    values = {name: [_singular_values(draw) for draw in draws] for name, draws in solved.items()}
    panels = [_panel(name, draws[0]) for name, draws in solved.items()]
    shown = figure.panels(
        panels,
        title="Stepwise singular value decomposition",
        caption=f"Solid: gradient flow of a linear network from α = {_ALPHAS[-1]:g}. Dashed: Conjecture 4.1.",
    )
    size, jumps, _ = _FLOWS["quick" if setting.scale == "quick" else "paper"]
    used = {
        "inputs": "Gaussian, power-law covariance",
        "target": "y = Bx, B random",
        "panels": list(rows),
        "size": size,
        "jumps": jumps,
        "eigenvalues": "i⁻²",
        "alphas": _ALPHAS,
        "seeds": len(seeds),
    }
    return Measurement({"alphas": _ALPHAS, "draws": rows, "values": values}, used, seeds, (shown,))


def _singular_values(draw: _linear.Draw) -> list[float]:
    """Return the largest error of a singular value in the middle of each plateau, over the largest of the map."""
    run, jumps = draw.flows[-1], len(draw.errors[-1])
    measured = draw.predicted.jump_times[:jumps] * (1 + np.array(draw.errors[-1]))
    middles = np.searchsorted(run.times, (measured[1:] + measured[:-1]) / 2)
    values = np.linalg.svd(run.params[middles], compute_uv=False)
    law = np.linalg.svd(draw.predicted.parameters[1:jumps], compute_uv=False)
    return (np.abs(values - law).max(1) / law.max(1)).tolist()


def _panel(name: str, draw: _linear.Draw) -> figure.FigureData:
    """Draw the singular values of one panel."""
    run, predicted = draw.flows[-1], draw.predicted
    keep = slice(1, None, max(1, len(run.times) // 150))
    sigma = np.linalg.svd(run.params[keep], compute_uv=False)
    end = np.linalg.svd(predicted.parameters, compute_uv=False)
    index = np.searchsorted(predicted.jump_times, run.times[keep], side="right")
    series = []
    for k in range(min(len(draw.errors[-1]), 6)):
        series.append(figure.Series(f"mode {k + 1}", run.times[keep], sigma[:, k]))
        series.append(
            figure.Series(f"eq. 6, {k + 1}", run.times[keep], end[index, k], style="dashed", like=f"mode {k + 1}")
        )
    return figure.curves(
        series, x=figure.Axis("time / (−log α)", scale="log"), y="singular value", title=name.capitalize()
    )


def _judge_figure_4(data: Mapping[str, Any]) -> list[Criterion]:
    alphas = data["alphas"]
    rows = _judge_times(data["draws"], alphas)
    for name, draws in data["draws"].items():
        chosen = [
            error
            for row, errors in zip(draws, data["values"][name], strict=True)
            for error, here, after in zip(errors, row["stand apart"], row["stand apart"][1:], strict=False)
            if here and after
        ]
        rows.append(
            at_most(
                f"the singular values of AW are those of f^(k) on the plateaus, {name}",
                "largest error of a singular value between two jumps that stand apart, over the largest of f^(k)",
                chosen,
                float(2 / clock(alphas[-1])),
                reason="between jumps that stand apart by 4 e-folds they are within e⁻⁴ ≈ 2/|log α| of their limit",
                seeds=[row["seed"] for row in draws],
            )
        )
    return rows


figure_4 = Check(_measure_figure_4, _judge_figure_4)
