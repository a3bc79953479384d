"""Section 4: jump times, levels and singular values of linear networks under gradient flow (eq. 6 and 47, Figure 4)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_most, equals, untested, within
from firstlight.claims.agf.checks import _linear
from firstlight.claims.agf.checks._limit import (
    FIRST_ORDER,
    FIRST_ORDER_REASON,
    LEFT,
    LEFT_REASON,
    SECOND_ORDER_REASON,
    in_the_limit,
    second_order,
)
from firstlight.records import Criterion, CriterionForm, figure
from firstlight.theories import agf

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
            rows.setdefault(name, []).append(_linear.summary(draw, seed, _ALPHAS, commuting))
    return rows, solved


def _judge_times(data: Mapping[str, Any], alphas: Sequence[float]) -> list[Criterion]:
    """Require the jump times of Conjecture 4.1 in the limit, for each panel."""
    rows = []
    for name, draws in data.items():
        limit, scaled = _linear.limits(draws, alphas)
        others = _linear.overlapping(draws)
        seeds = [row["seed"] for row in draws]
        judged = f"{len(limit)} of {len(limit) + len(others)} jumps"
        rows += [
            at_most(
                f"gradient flow jumps at the times of eq. 6 as α → 0, {name}",
                f"largest relative error of {judged}, extrapolated to α → 0",
                limit,
                second_order(alphas),
                reason=SECOND_ORDER_REASON,
                seeds=seeds,
            ),
            at_most(
                f"the error at finite α is O(1/|log α|), {name}",
                f"largest relative error of {judged}, times |log α|",
                scaled,
                FIRST_ORDER,
                reason=FIRST_ORDER_REASON,
                seeds=seeds,
            ),
        ]
        if len(others):
            why = (
                f"{len(others)} jumps are within 4 e-folds of growth of another jump or come after such a jump; there "
                f"the error at α = {alphas[-1]:g} is up to {others.max():.0%}"
            )
            rows.append(untested(f"the times of jumps that overlap, {name}", why))
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
                LEFT,
                reason=LEFT_REASON,
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


def _measure_figure_4(setting: Setting) -> Measurement:
    """Compare the singular values of the network's map over time with Conjecture 4.1, in both panels."""
    seeds = setting.seeds_or(range(setting.choose(quick=4, paper=8)))
    rows, solved = _draws(setting, seeds)
    values = {name: [_singular_values(draw, weighted=False) for draw in draws] for name, draws in solved.items()}
    seen = {name: [_singular_values(draw, weighted=True) for draw in draws] for name, draws in solved.items()}
    panels = [_panel(name, draws[0]) for name, draws in solved.items()]
    shown = figure.panels(
        panels,
        title="Stepwise singular value decomposition",
        caption=f"Solid: gradient flow of a linear network from α = {_ALPHAS[-1]:g}. Dashed: Conjecture 4.1.",
    )
    size, jumps, _ = _FLOWS["quick" if setting.scale == "quick" else "paper"]
    used = {
        "clock": "η = −log α",
        "start": _linear.START,
        "inputs": "Gaussian, power-law covariance",
        "target": "y = Bx, B random",
        "panels": list(rows),
        "size": size,
        "jumps": jumps,
        "eigenvalues": "i⁻²",
        "alphas": _ALPHAS,
        "seeds": len(seeds),
    }
    data = {"alphas": _ALPHAS, "draws": rows, "values": values, "values seen by the loss": seen}
    return Measurement(data, used, seeds, (shown,))


def _singular_values(draw: _linear.Draw, weighted: bool) -> list[float]:
    """Return the largest error of a singular value in the middle of each plateau, over the largest of the map.

    If weighted, of the map times a Cholesky factor of Σ_xx, whose squared norm is what the loss sees.
    """
    run, jumps = draw.flows[-1], len(draw.errors[-1])
    measured = draw.predicted.jump_times[:jumps] * (1 + np.array(draw.errors[-1]))
    middles = np.searchsorted(run.times, (measured[1:] + measured[:-1]) / 2)
    factor = np.linalg.cholesky(draw.network.covariance) if weighted else np.eye(len(draw.network.covariance))
    values = np.linalg.svd(run.params[middles] @ factor, compute_uv=False)
    law = np.linalg.svd(draw.predicted.parameters[1:jumps] @ factor, compute_uv=False)
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
    reason = "half way between jumps 4 e-folds of a norm apart, the next mode is e⁻⁴ of its size, the last lacks e⁻⁴"
    maps: tuple[tuple[str, str, CriterionForm], ...] = (
        ("values", "AW", "printed"),
        ("values seen by the loss", "AWΣ_xx^½", "corrected"),
    )
    for key, name, form in maps:
        for panel, draws in data["draws"].items():
            pairs = zip(draws, data[key][panel], strict=True)
            rows.append(
                at_most(
                    f"the singular values of {name} are those of f^(k) on the plateaus, {panel}",
                    "largest error of a singular value between two jumps that stand apart, over the largest of f^(k)",
                    [error for draw, errors in pairs for error in _apart(draw, errors)],
                    LEFT,
                    form=form,
                    reason=reason,
                    seeds=[draw["seed"] for draw in draws],
                )
            )
    return rows


def _apart(draw: Mapping[str, Any], errors: Sequence[float]) -> list[float]:
    """Return the errors on the plateaus between two jumps that stand apart."""
    apart = draw["stand apart"]
    return [error for error, here, after in zip(errors, apart, apart[1:], strict=False) if here and after]


figure_4 = Check(_measure_figure_4, _judge_figure_4)
