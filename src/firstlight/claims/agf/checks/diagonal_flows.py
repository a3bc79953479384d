"""Section 3: gradient flow of diagonal linear networks tends to AGF in the limit (Theorem 3.1, Figures 3 and 8)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, below, equals, untested, within
from firstlight.claims.agf.checks._diagonal import sparse_regression
from firstlight.claims.agf.checks._limit import (
    FIRST_ORDER,
    FIRST_ORDER_REASON,
    SECOND_ORDER_REASON,
    SEPARATED,
    clock,
    in_the_limit,
    second_order,
)
from firstlight.records import Criterion, figure
from firstlight.theories import agf


def _measure_limit(setting: Setting) -> Measurement:
    """Compare AGF at η = 50 and 500 with the algorithm of the limit, on random problems."""
    seeds = setting.seeds_or(range(setting.choose(quick=100, paper=400)))
    same, fewer, returns, gaps = 0, 0, 0, {"50": 0.0, "500": 0.0}
    for done, seed in enumerate(seeds):
        if done % 50 == 0:
            setting.progress(done / len(seeds), f"problem {done}")
        rng = np.random.default_rng(seed)
        d, n = int(rng.integers(2, 9)), int(rng.integers(2, 12))
        X = rng.standard_normal((n, d))
        y = X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)
        limit, near = agf.lemmas.pesme_flammarion(X, y), agf.predict_diagonal(X, y, eta=500.0)
        same += _same_events(limit, near)
        fewer += n < d
        returns += sum(len(event.fallen) for event in limit.events)
        for eta in gaps:
            at = near if eta == "500" else agf.predict_diagonal(X, y, eta=float(eta))
            if len(at.events) == len(limit.events):
                gaps[eta] = max(gaps[eta], float(np.abs(at.jump_times / limit.jump_times - 1).max()))
    data = {"problems": len(seeds), "same": same, "fewer samples": fewer, "returns": returns, "gaps": gaps}
    note = "The gap is log 2/(2η) because AGF's clock is −log(√2 α); in units of −log α the times agree to rounding."
    return Measurement(data, {"dimension": "2 to 8", "samples": "2 to 11"}, seeds[:1], note=note)


def _same_events(a: agf.Staircase, b: agf.Staircase) -> bool:
    """Check that two staircases have the same events and levels."""
    keys = [[(event.neurons, event.fallen) for event in staircase.events] for staircase in (a, b)]
    return keys[0] == keys[1] and bool(np.allclose(a.levels, b.levels, rtol=0, atol=1e-8 * a.levels[0]))


def _judge_limit(data: Mapping[str, Any]) -> list[Criterion]:
    law = float(np.log(2) / 2)
    return [
        above(
            "problems with fewer samples than weights occur", "problems", data["fewer samples"], 0, form="precondition"
        ),
        above("returns to dormancy occur", "returns", data["returns"], 0, form="precondition"),
        equals(
            "β_AGF → β_PF",
            "problems in which all events and levels at η = 500 are those of the limit",
            data["same"],
            data["problems"],
        ),
        *(
            within(
                "t_AGF → t_PF like 1/η",
                f"largest relative gap of a jump time, times η, at η = {eta}",
                float(eta) * gap,
                law,
                law * 4 / float(eta),
                reason="arcosh eˣ = x + log 2 − O(e^(−2x)) makes the gap log 2/(2η), up to relative 4/η",
            )
            for eta, gap in data["gaps"].items()
        ),
    ]


same_as_pesme_flammarion = Check(_measure_limit, _judge_limit)


def _measure_figure_3(setting: Setting) -> Measurement:
    """Solve gradient flow for several α on several draws of the data, and compare with the limit."""
    seeds = setting.seeds_or(range(setting.choose(quick=4, paper=16)))
    alphas = setting.choose(quick=(1e-4, 1e-8, 1e-16), paper=(1e-2, 1e-4, 1e-8, 1e-16))
    draws, shown = [], None
    for done, seed in enumerate(seeds):
        setting.progress(done / len(seeds), f"draw {seed}")
        X, y = sparse_regression(seed)
        limit = agf.lemmas.pesme_flammarion(X, y)
        end = 1.3 * float(limit.jump_times[-1])
        times = np.unique(np.concatenate([[0.0], np.geomspace(1e-3 * end, end, setting.choose(quick=800, paper=2000))]))
        runs = {alpha: agf.diagonal_flow(X, y, alpha, times) for alpha in alphas}
        frames = [limit.compare(run).frame for run in runs.values()]
        draws.append(
            {
                "seed": seed,
                "jumps": len(limit.events),
                "distances": [limit.distance(run) for run in runs.values()],
                "time errors": [(f["measured_time"] / f["predicted_time"] - 1).tolist() for f in frames],
                "e-folds to the next jump": _nearest(limit.jump_times, alphas[-2]),
                "AGF over limit": _clocked(X, y, alphas[-1], limit),
            }
        )
        if shown is None:
            wide = {a: agf.diagonal_flow(X, y, a, times) for a in (0.99, 0.9, 0.5, 0.1)} | runs
            shown = _loss_curves(wide, agf.predict_diagonal(X, y, alphas[-1]), alphas[-1], end)
    used: dict[str, Any] = {
        "start": "u = √2 α, v = 0",
        "time": "t/(−log α)",
        "dimension": 5,
        "samples": 20,
        "alphas": alphas,
    }
    return Measurement(
        {"alphas": alphas, "draws": draws}, used | {"seeds": len(seeds)}, seeds, (shown,) if shown else ()
    )


def _nearest(jumps: np.ndarray, alpha: float) -> np.ndarray:
    """Return the distance of each jump from the nearest other one, in e-folds of its growth."""
    gaps = np.diff(np.concatenate([[0.0], jumps, [np.inf]]))
    return clock(alpha) * np.minimum(gaps[:-1], gaps[1:]) / jumps


def _clocked(X: np.ndarray, y: np.ndarray, alpha: float, limit: agf.Staircase) -> list[float]:
    """Return AGF's jump times at a finite α over those of the limit, both in units of −log α."""
    steps = agf.predict_diagonal(X, y, alpha)
    if len(steps.events) != len(limit.events):
        return [float("nan")]
    return (steps.flow_times / clock(alpha) / limit.jump_times).tolist()


def _loss_curves(runs: dict[float, Any], steps: agf.Staircase, alpha: float, end: float) -> figure.FigureData:
    """Draw the left panel of Figure 3."""
    keep = slice(1, None, 8)
    series = [figure.Series(f"α = {a:g}", run.times[keep], run.loss[keep]) for a, run in runs.items()]
    first = float(next(iter(runs.values())).times[1])
    edges = np.repeat(np.concatenate([[first], steps.flow_times / clock(alpha), [end]]), 2)[1:-1]
    series.append(figure.Series(f"AGF, α = {alpha:g}", edges, np.repeat(steps.levels, 2), style="dashed"))
    return figure.curves(
        series,
        x=figure.Axis("time / (−log α)", scale="log"),
        y=figure.Axis("loss", scale="linear"),
        title="AGF and gradient flow in a diagonal linear network",
        caption="As α falls, gradient flow becomes the staircase. For α ≥ 1/√2 AGF has no clock.",
    )


def _judge_figure_3(data: Mapping[str, Any]) -> list[Criterion]:
    alphas, draws = data["alphas"], data["draws"]
    seeds = [row["seed"] for row in draws]
    clocks = np.array([clock(alpha) for alpha in alphas])
    distances = np.array([row["distances"] for row in draws])
    powers = [np.polyfit(np.log(clocks), np.log(row), 1)[0] for row in distances]
    limits = np.abs(np.concatenate([in_the_limit(row["time errors"], alphas) for row in draws]))
    apart = np.concatenate([row["e-folds to the next jump"] for row in draws]) >= SEPARATED
    # 1/η·(1 + b/η) between the first and the last scale, |b| ≤ 4, seen by a line through the logarithms.
    curvature = float(4 * (1 / clocks[0] - 1 / clocks[-1]) / np.log(clocks[-1] / clocks[0]))
    rows = [
        below(
            "the loss curves approach AGF's staircase as α falls",
            "largest distance from the staircase over that at the α before",
            (distances[:, 1:] / distances[:, :-1]).max(1),
            1.0,
            seeds=seeds,
            reason="an order; each draw and each α must show it",
        ),
        within(
            "the distance from the staircase vanishes like 1/|log α|",
            "power of |log α|, mean of all draws",
            float(np.mean(powers)),
            -1.0,
            curvature,
            reason="the distance is (1 + b/|log α|)/|log α| up to a factor; |b| ≤ 4 changes the fitted power by this",
            seeds=seeds,
        ),
        at_most(
            "gradient flow jumps when AGF does",
            f"largest relative error of {apart.sum()} of {len(apart)} jump times, extrapolated to α → 0",
            limits[apart],
            second_order(alphas),
            reason=SECOND_ORDER_REASON,
            seeds=seeds,
        ),
        at_most(
            "gradient flow jumps when AGF does, up to O(1/|log α|)",
            f"largest relative error of all {len(apart)} jump times at the smallest α, times |log α|",
            [clock(alphas[-1]) * np.abs(np.array(row["time errors"][-1], float)) for row in draws],
            FIRST_ORDER,
            reason=FIRST_ORDER_REASON,
            seeds=seeds,
        ),
        within(
            "AGF at the smallest α is its limit",
            "AGF's jump times over those of the limit",
            [row["AGF over limit"] for row in draws],
            1.0,
            float(4 * alphas[-1] + 64 * 2.0**-52),
            reason="in units of −log α the times of AGF differ from the limit by O(α); float64 rounds, factor 64",
            seeds=seeds,
        ),
    ]
    if not apart.all():
        why = (
            f"{(~apart).sum()} jumps are within 4 e-folds of growth of another jump; there the largest error "
            f"extrapolated to α → 0 is {limits[~apart].max():.2g}"
        )
        rows.append(untested("the limit of the times of jumps that overlap", why))
    return rows


figure_3 = Check(_measure_figure_3, _judge_figure_3)


def _measure_figure_8(setting: Setting) -> Measurement:
    """Solve gradient flow of two coefficients, of which the first returns to dormancy."""
    turn = np.deg2rad(150.0)
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    H = R @ np.diag([1.0, 25.0]) @ R.T
    # With H itself as Gram matrix no neuron returns to dormancy; the Gram matrix here is LᵀL, from H = LLᵀ.
    X = np.sqrt(2) * np.linalg.cholesky(H)
    y = X @ np.array([-0.2, 2.0])
    limit = agf.lemmas.pesme_flammarion(X, y)
    end = 1.3 * float(limit.jump_times[-1])
    times = np.linspace(0.0, end, setting.choose(quick=2400, paper=6000))
    # The caption's u = √(2α) is u = √2·√α: `diagonal_flow` and its clock −log √α take √α.
    printed = setting.choose(quick=(1e-4, 1e-16, 1e-32), paper=(1e-2, 1e-4, 1e-8, 1e-16, 1e-32))
    alphas = tuple(float(np.sqrt(alpha)) for alpha in printed)
    runs = {alpha: agf.diagonal_flow(X, y, alpha, times) for alpha in alphas}
    saddles = limit.parameters[:, :, 0]
    last = runs[alphas[-1]]
    edges = np.concatenate([[0.0], limit.jump_times, [end]])
    middles = np.searchsorted(last.times, (edges[1:] + edges[:-1]) / 2)
    frames = [limit.compare(run).frame for run in runs.values()]
    S = np.arcsinh(last.params / alphas[-1] ** 2) / (2 * clock(alphas[-1]))
    sleeping = (last.times > limit.jump_times[1]) & (last.times < limit.jump_times[2])
    data = {
        "alphas": alphas,
        "time errors": [(f["measured_time"] / f["predicted_time"] - 1).tolist() for f in frames],
        "saddles": saddles,
        "visited": last.params[middles],
        "first coefficient at the saddles": np.sign(np.round(last.params[middles, 0], 6)),
        "least |S| of the first coefficient while dormant": float(np.abs(S[sleeping, 0]).min()),
        "S at the end of dormancy": float(S[sleeping, 0][-1]),
        "sampling": float(np.diff(last.times).max()),
        "slope": float(np.abs(H).max() * 2),
    }
    used = {
        "dimension": len(H),
        "start": "u = √(2α)·1, v = 0",
        "clock": "−log √α",
        "alphas": printed,
        "Gram matrix": X.T @ X / 2,
        "target": [-0.2, 2.0],
    }
    note = (
        "From the caption's start u = √(2α) the clock of the jumps is −log √α; Section 3 prints the start u = √2 α, "
        "whose clock is −log α. The figures show √α. Eigenvalues 1 and 25 rotated by 150° have no return to dormancy; "
        "the Gram matrix used is that of their Cholesky factor."
    )
    return Measurement(data, used, (), (_asleep_and_awake(runs, limit, end),), note)


def _judge_figure_8(data: Mapping[str, Any]) -> list[Criterion]:
    alphas, visited, saddles = data["alphas"], np.array(data["visited"]), np.array(data["saddles"])
    size = float(np.abs(saddles).max())
    eta = clock(alphas[-1])
    return [
        at_most(
            "for small α trajectories pass near the saddles β⁽¹⁾ and β⁽²⁾ and end at β⁽³⁾",
            "largest distance from the saddles in the middle of each plateau, over the largest coefficient",
            np.abs(visited - saddles).max(1) / size,
            1 / eta,
            reason="the coefficients are within 1/|log α| of the limit at the smallest α",
        ),
        at_most(
            "gradient flow jumps between saddles at τ⁽¹⁾, τ⁽²⁾, τ⁽³⁾ as α → 0",
            "largest relative error of the three jump times, extrapolated to α → 0",
            np.abs(in_the_limit(data["time errors"], alphas)),
            second_order(alphas),
            reason=SECOND_ORDER_REASON,
        ),
        equals(
            "the first coefficient wakes, returns to dormancy and wakes with the opposite sign",
            "sign of β₁ of gradient flow at the four saddles",
            data["first coefficient at the saddles"],
            [0.0, 1.0, 0.0, -1.0],
        ),
        at_most(
            "in dormancy the accumulated utility first touches zero",
            "least |S| of the first coefficient between the second and the third jump",
            data["least |S| of the first coefficient while dormant"],
            4 * data["sampling"] * data["slope"],
            reason="S moves by at most |∂L/∂β| times the step between the saved times; the factor is 4",
        ),
        at_least(
            "it wakes when the accumulated utility is 1",
            "−S of the first coefficient just before the third jump",
            -data["S at the end of dormancy"],
            1 - 8 / eta,
            reason="S differs from its limit by an order-one number over |log α|; the factor is 8",
        ),
    ]


figure_8 = Check(_measure_figure_8, _judge_figure_8)


def _asleep_and_awake(runs: dict[float, Any], limit: agf.Staircase, end: float) -> figure.FigureData:
    """Draw the loss and the trajectories of Figure 8."""
    betas = limit.parameters[:, :, 0]
    thin = slice(None, None, max(1, len(next(iter(runs.values())).times) // 300))
    panels = [
        figure.curves(
            [
                *(figure.Series(f"α = {a:g}", run.times[thin], run.loss[thin]) for a, run in runs.items()),
                figure.Series("limit", *_corners(limit, end), style="dashed"),
            ],
            x="time / (−log α)",
            y="loss",
            title="Loss",
        ),
        figure.curves(
            [
                *(figure.Series(f"α = {a:g}", *run.params[thin].T) for a, run in runs.items()),
                figure.Series("saddles", *betas.T, style="points"),
            ],
            x="β₁",
            y="β₂",
            title="Coefficients",
        ),
    ]
    return figure.panels(
        panels,
        title="A coefficient falls asleep and wakes with the other sign",
        caption="Gradient flow and the saddles of the limit: β₁ wakes, sleeps when β₂ wakes, and wakes negative.",
    )


def _corners(staircase: agf.Staircase, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Return times and levels of a staircase's corners, for a drawing."""
    edges = np.concatenate([[0.0], staircase.jump_times, [end]])
    return np.repeat(edges, 2)[1:-1], np.repeat(staircase.levels, 2)
