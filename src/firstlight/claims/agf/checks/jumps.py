"""Section 2 and Appendix B: jump times, their lower bound, and Algorithm 1."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, equals, untested, within
from firstlight.claims.agf.checks import _forms
from firstlight.claims.agf.checks._limit import (
    FIRST_ORDER,
    FIRST_ORDER_REASON,
    LEFT,
    LEFT_REASON,
    SECOND_ORDER_REASON,
    SEPARATED,
    clock,
    in_the_limit,
    second_order,
)
from firstlight.records import Criterion
from firstlight.theories import agf

CLIMB = 1e-8 * 128 * 8
"""Relative error of a utility phase, solved to 1e-8 per step in at most 128 steps; the factor is 8."""

_CLIMB_REASON = "the utility phase is solved to 1e-8 per step in at most 128 steps; the factor is 8"

COST_PHASE = 10 * 1e-6
"""A cost phase ends where an e-fold of time gains 1e-6 of the first loss; ten such e-folds are left out."""


def _measure_threshold(setting: Setting) -> Measurement:
    """Follow the plain flow up to the time at which S = c/η."""
    seeds, eta = setting.seeds_or((0,)), 0.7
    norms = {}
    for kappa in (2, 3, 4):
        problem = _forms.form(kappa, 5, seeds[0])
        theta = _forms.start(problem, setting.choose(quick=3, paper=20), 0.1, seeds[0])
        up = _first_jump(problem, theta, eta)
        reached = _forms.plain(problem, theta[[int(up.neuron or 0)]], np.array([0.0, up.time]), eta)[-1]
        norms[f"κ = {kappa}"] = float(np.linalg.norm(reached))
    note = "Eq. 15 is printed without η, which eq. 3 has."
    return Measurement({"norms": norms}, {"eta": eta}, seeds[:1], note=note)


def _first_jump(problem: agf.Problem, theta: np.ndarray, eta: float) -> agf.lemmas.Climb:
    """Run the first utility phase of all neurons."""
    norm = np.linalg.norm(theta, axis=1)
    c = np.asarray(agf.lemmas.threshold(norm, problem.kappa))
    everyone, nothing = np.ones(len(norm), bool), np.zeros(len(norm))
    return agf.lemmas.climb(problem, theta / norm[:, None], nothing, norm, c, everyone, None, eta=eta, slowest=0.0)


def _judge_threshold(data: Mapping[str, Any]) -> list[Criterion]:
    return [
        within(
            f"S_i = c_i/η when ‖θ_i‖ = 1, {kappa}",
            "norm of θ′ = η∇U at the time of S_i = c_i/η",
            norm,
            1.0,
            CLIMB,
            reason=_CLIMB_REASON,
        )
        for kappa, norm in data["norms"].items()
    ]


jump_time = Check(_measure_threshold, _judge_threshold)


def _measure_bound(setting: Setting) -> Measurement:
    """Measure first jumps: of neurons that start at their maximum, and of random ones."""
    seeds, mu = setting.seeds_or((0,)), 0.3
    # U = uv and U = uvw on one neuron that starts at its maximum, where the bound is attained.
    at_maximum = {}
    for kappa, U_star, eta in ((2, 0.5, 2.0), (3, 1 / (3 * np.sqrt(3)), 1.0)):
        problem = agf.closed_form(
            lambda t: 1.0 + 0.0 * t.sum(), lambda t, r: t.prod(), kappa, kappa, residual=lambda t: 0.0
        )
        steps = agf.predict(problem, mu * np.ones((1, kappa)) / np.sqrt(kappa), max_jumps=1, eta=eta)
        printed = -np.log(mu) / (2 * U_star) if kappa == 2 else mu ** (2 - kappa) / (kappa * (kappa - 2) * U_star)
        at_maximum[f"κ = {kappa}"] = {
            "jump": float(steps.jump_times[0]),
            "printed bound": float(printed),
            "bound": float(agf.lemmas.jump_bound(mu, kappa, U_star, eta)),
        }
    ratios, eta = [], 2.0
    for kappa in (2, 3, 4):
        form = _forms.form(kappa, 4, seeds[0])
        starts = _forms.start(form, setting.choose(quick=4, paper=40), 0.2, seeds[0])
        up = _first_jump(form, starts, eta)
        many = np.random.default_rng(1).standard_normal((20_000, 4))
        many /= np.linalg.norm(many, axis=1, keepdims=True)
        # The gradient of a form on the sphere is at most κ times its largest value, so ascents end at U*.
        for _ in range(300):
            many = many[np.argsort(form.utility(many, None)[0])[-50:]]
            many = many + 0.1 * form.utility(many, None)[1]
            many /= np.linalg.norm(many, axis=1, keepdims=True)
        best = float(form.utility(many, None)[0].max())
        bounds = agf.lemmas.jump_bound(np.linalg.norm(starts, axis=1), kappa, best, eta)
        ratios.append(up.time / float(np.min(bounds)))
    return Measurement({"at the maximum": at_maximum, "random": ratios}, {"norm": mu}, seeds[:1])


def _judge_bound(data: Mapping[str, Any]) -> list[Criterion]:
    rows = []
    bounds = {"κ = 2": "−log‖θ₀‖/(2ηU*)", "κ = 3": "(‖θ₀‖^{2−κ} − 1)/(κ(κ−2)ηU*)"}
    etas = {"κ = 2": 2, "κ = 3": 1}
    printed = {"κ = 2": "−log‖θ₀‖/(2U*)", "κ = 3": "‖θ₀‖^{2−κ}/(κ(κ−2)U*)"}
    for kappa, row in data["at the maximum"].items():
        rows += [
            at_least(
                f"τ ≥ {printed[kappa]} for {kappa}",
                f"jump of a neuron at its maximum over the bound, ‖θ₀‖ = 0.3, η = {etas[kappa]}",
                row["jump"] / row["printed bound"],
                1 - CLIMB,
                form="printed",
                reason=_CLIMB_REASON,
            ),
            within(
                f"τ ≥ {bounds[kappa]} for {kappa}, attained at the maximum",
                f"jump of a neuron at its maximum over the bound, ‖θ₀‖ = 0.3, η = {etas[kappa]}",
                row["jump"] / row["bound"],
                1.0,
                CLIMB,
                form="corrected",
                reason=_CLIMB_REASON,
            ),
        ]
    rows.append(
        at_least(
            "no neuron jumps before the bound",
            "first jump of random neurons over the bound, κ = 2, 3, 4",
            data["random"],
            1 - CLIMB,
            form="corrected",
            reason=_CLIMB_REASON,
        )
    )
    return rows


lower_bound = Check(_measure_bound, _judge_bound)


def _measure_algorithm(setting: Setting) -> Measurement:
    """Run Algorithm 1, its closed form and gradient flow on diagonal networks of four neurons."""
    seeds = setting.seeds_or(range(setting.choose(quick=3, paper=20)))
    alphas = (1e-8, 1e-16)
    rows, figures = [], []
    for done, seed in enumerate(seeds):
        setting.progress(done / len(seeds), f"draw {seed}")
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((20, 4)) / np.sqrt(np.arange(1, 5))
        y = X @ np.array([4.0, -6.0, 5.0, 3.0])
        problem = agf.neurons(lambda t, x: t[0] * t[1] * x, X.T, y, parameters=2, specific=True, kappa=2)
        # At smaller α a neuron that must turn round loses the direction of its turn to rounding.
        steps = agf.predict(problem, np.tile([np.sqrt(2) * alphas[0], 0.0], (4, 1)))
        exact = agf.predict_diagonal(X, y, alphas[0])
        row: dict[str, Any] = {
            "seed": seed,
            "order": [event.neurons[0] for event in steps.events],
            "order of the closed form": [event.neurons[0] for event in exact.events],
            "times against the closed form": float(np.abs(steps.flow_times / exact.flow_times - 1).max()),
            "levels against the closed form": float(np.abs(steps.levels - exact.levels).max() / exact.levels[0]),
            "lengths of plateaus": clock(alphas[0]) * np.diff(exact.flow_times) / exact.flow_times[1:],
            "errors of jumps": [],
        }
        for alpha in alphas:
            predicted = agf.predict_diagonal(X, y, alpha)
            times = np.linspace(0.0, 1.3 * predicted.flow_times[-1] / clock(alpha), 1500)
            run = agf.diagonal_flow(X, y, alpha, times)
            t = run.times * clock(alpha)
            middles = (predicted.levels[1:] + predicted.levels[:-1]) / 2
            measured = np.array([agf.lemmas.crossing(t, run.loss, middle) for middle in middles])
            row["errors of jumps"].append((predicted.flow_times / measured - 1).tolist())
            row["order of gradient flow"] = _wakes(run.params)
            row["plateaus"] = _plateaus(predicted, t, run.loss)
            if seed == seeds[0] and alpha == alphas[0]:
                figures = [_shown(steps, t[::5], run.loss[::5], alpha)]
        rows.append(row)
    data = {"alphas": alphas, "draws": rows}
    return Measurement(data, {"neurons": 4, "samples": 20, "alphas": alphas}, seeds, tuple(figures))


def _plateaus(predicted: agf.Staircase, times: np.ndarray, loss: np.ndarray) -> list[float]:
    """Return the flattest losses between jumps minus AGF's levels, over the smaller of the drops around each."""
    levels = predicted.levels
    in_flow_time = agf.lemmas.from_levels(predicted.flow_times, levels, range(len(levels) - 1), eta=1.0, kappa=2)
    measured = in_flow_time.compare(times, loss).frame["measured_level"].to_numpy()[:-1]
    drops = np.minimum(levels[:-2] - levels[1:-1], levels[1:-1] - levels[2:])
    return ((measured - levels[1:-1]) / drops).tolist()


def _wakes(path: np.ndarray) -> list[int]:
    """Return the coefficients in the order in which they reach half of their final size."""
    half = np.abs(path) >= np.abs(path[-1]) / 2
    return np.argsort(half.argmax(0), kind="stable").tolist()


def _shown(steps: agf.Staircase, times: np.ndarray, loss: np.ndarray, alpha: float) -> Any:
    in_flow_time = agf.lemmas.from_levels(steps.flow_times, steps.levels, range(len(steps.events)), eta=1.0, kappa=2)
    return in_flow_time.figure_data(
        times,
        loss,
        title="Algorithm 1 and gradient flow from the same initialisation",
        caption=f"A diagonal linear network of four neurons, α = {alpha:g}.",
    )


def _judge_algorithm(data: Mapping[str, Any]) -> list[Criterion]:
    draws, alphas = data["draws"], data["alphas"]
    seeds = [row["seed"] for row in draws]
    jumps = sum(len(row["order"]) for row in draws)
    plateaus = [
        (abs(offset), length >= SEPARATED)
        for row in draws
        for offset, length in zip(row["plateaus"], row["lengths of plateaus"], strict=True)
    ]
    between, near = ([offset for offset, long in plateaus if long is wanted] for wanted in (True, False))
    rows = [
        equals(
            "the dormant neuron that first reaches S = c wakes next",
            "draws in which the order of the jumps is that of the closed form",
            sum(row["order"] == row["order of the closed form"] for row in draws),
            len(draws),
            seeds=seeds,
        ),
        at_most(
            "utility phases end at S = c",
            "largest relative error of a jump time against the closed form",
            [row["times against the closed form"] for row in draws],
            4 * CLIMB + COST_PHASE,
            reason=_CLIMB_REASON + ", for each of four phases, with residuals from cost phases exact to 1e-5",
            seeds=seeds,
        ),
        at_most(
            "cost phases minimise the loss over the active neurons",
            "largest error of a level against the closed form, relative to the first",
            [row["levels against the closed form"] for row in draws],
            COST_PHASE,
            reason="a cost phase ends where an e-fold of time gains less than 1e-6 of the first loss; ten are left out",
            seeds=seeds,
        ),
        equals(
            "gradient flow learns in the order of AGF",
            "draws in which coefficients of gradient flow grow in the order of the jumps",
            sum(row["order of gradient flow"] == row["order"] for row in draws),
            len(draws),
            seeds=seeds,
        ),
        at_most(
            "gradient flow jumps at the times of AGF as α → 0",
            f"largest relative error of all {jumps} jumps, extrapolated to α → 0",
            [np.abs(in_the_limit(row["errors of jumps"], alphas)) for row in draws],
            second_order(alphas),
            reason=SECOND_ORDER_REASON,
            seeds=seeds,
        ),
        at_most(
            "AGF approximates gradient flow from small initialisation",
            "largest relative error of a jump time, times |log α|, all jumps at both scales",
            [
                [clock(a) * abs(e) for e in errors]
                for row in draws
                for a, errors in zip(alphas, row["errors of jumps"], strict=True)
            ],
            FIRST_ORDER,
            reason=FIRST_ORDER_REASON,
            seeds=seeds,
        ),
        at_most(
            "gradient flow has the levels of AGF",
            f"largest distance of {len(between)} plateaus of at least 4 e-folds, over the drops around them",
            between,
            LEFT,
            reason=LEFT_REASON,
            seeds=seeds,
        ),
    ]
    if near:
        why = (
            f"{len(near)} plateaus are shorter than 4 e-folds of growth; the largest distance there is {max(near):.2g}"
        )
        rows.append(untested("the levels of gradient flow between jumps that overlap", why))
    return rows


the_algorithm = Check(_measure_algorithm, _judge_algorithm)
