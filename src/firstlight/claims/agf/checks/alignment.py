"""Appendix B: the scaling symmetry, instantaneous alignment and adaptive learning rates."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, within
from firstlight.claims.agf.checks import _forms
from firstlight.records import Criterion
from firstlight.theories import agf
from firstlight.theories.agf import Problem

HALFWAY = 1e-9 * 128 * 8
"""Relative error of a time solved to 1e-9 per step, in at most 128 steps; the factor is 8."""


def _measure_symmetry(setting: Setting) -> Measurement:
    """Compare the flow from αθ₀ with α f(α^{κ−2}t)."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=8)))
    errors = {f"κ = {kappa}": [_symmetry(kappa, seed, setting) for seed in seeds] for kappa in (2, 3, 4)}
    return Measurement({"errors": errors}, {"alpha": 0.2}, seeds)


def _symmetry(kappa: int, seed: int, setting: Setting) -> float:
    problem, alpha = _forms.form(kappa, 5, seed), 0.2
    theta = _forms.start(problem, setting.choose(quick=3, paper=20), 0.3, seed)
    times = np.linspace(0.0, _forms.horizon(problem, theta, 0.4), 5)
    first = _forms.plain(problem, theta, times)
    second = _forms.plain(problem, alpha * theta, times * alpha ** (2 - kappa))
    return float(np.abs(second - alpha * first).max() / np.abs(second).max())


def _judge_symmetry(data: Mapping[str, Any]) -> list[Criterion]:
    return [
        at_most(
            "αf(α^{κ−2}t) solves eq. 2 from αθ₀",
            "relative distance of the two flows",
            data["errors"],
            _forms.SOLVED,
            reason=_forms.SOLVED_REASON,
        )
    ]


scaling_symmetry = Check(_measure_symmetry, _judge_symmetry)


def _measure_alignment(setting: Setting) -> Measurement:
    """Measure the accelerated time to align for κ = 2, 3, 4 as α falls."""
    seeds = setting.seeds_or((0,))
    alphas = setting.choose(quick=(1e-1, 1e-3, 1e-6), paper=(1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8))
    waits, gammas, quotients = {}, {}, {}
    for kappa in (2, 3, 4):
        problem = _forms.form(kappa, 5, seeds[0])
        start = _forms.start(problem, 1, 1.0, seeds[0])
        c = [float(agf.lemmas.threshold(alpha, kappa)) for alpha in alphas]
        key = f"κ = {kappa}"
        waits[key] = [_time_to_align(problem, a * start) / limit for a, limit in zip(alphas, c, strict=True)]
        gammas[key] = [limit * a ** (kappa - 2) for a, limit in zip(alphas, c, strict=True)]
        quotients[key] = [limit / a ** (kappa - 2) for a, limit in zip(alphas, c, strict=True)]
    data = {"alphas": alphas, "waits": waits, "products": gammas, "quotients": quotients}
    return Measurement(data, {"alphas": alphas}, seeds[:1])


def _judge_alignment(data: Mapping[str, Any]) -> list[Criterion]:
    alphas, waits, products = data["alphas"], data["waits"], data["products"]
    last, before = alphas[-1], alphas[-2]
    spread = [
        wait * gamma / (waits["κ = 2"][0] * products["κ = 2"][0]) - 1
        for wait, gamma in zip(waits["κ = 2"], products["κ = 2"], strict=True)
    ]
    rows = [
        within(
            "γ(α) = −log α → ∞ for κ = 2",
            f"γ at α = {last:g} over its value at α = {alphas[0]:g}",
            products["κ = 2"][-1] / products["κ = 2"][0],
            float(np.log(last) / np.log(alphas[0])),
            1e-12,
            reason="a quotient of two logarithms in float64",
        ),
        at_most(
            "for κ = 2 the accelerated time to align falls like 1/γ",
            "relative spread of time × γ",
            np.abs(spread),
            HALFWAY,
            reason="the time is solved to 1e-9 per step in at most 128 steps; the factor is 8",
        ),
    ]
    for kappa in (3, 4):
        key, limit = f"κ = {kappa}", 1 / (kappa - 2)
        rows += [
            within(
                f"γ(α) = c_κ(α)/α^(κ−2) → 1 for κ = {kappa}",
                f"c_κ/α^(κ−2) at α = {last:g}",
                data["quotients"][key][-1],
                1.0,
                2 * last,
                form="printed",
                reason="the statement is on the limit; at α > 0 the next term is relative α^(κ−2)",
            ),
            within(
                f"γ(α) = c_κ(α)·α^(κ−2) → 1/(κ − 2) for κ = {kappa}",
                f"c_κ·α^(κ−2) at α = {last:g}",
                products[key][-1],
                limit,
                2 * last,
                form="corrected",
                reason="γ = (1 − α^(κ−2))/(κ − 2) differs from its limit by at most α",
            ),
            at_most(
                f"alignment is not instantaneous for κ = {kappa}: its accelerated time has a limit",
                f"relative change of the time from α = {before:g} to {last:g}",
                abs(waits[key][-1] / waits[key][-2] - 1),
                2 * before ** (kappa - 2) + HALFWAY,
                reason="by Theorem B.2 the time is proportional to 1/γ = (κ − 2)/(1 − α^(κ−2))",
            ),
        ]
    return rows


instantaneous_alignment = Check(_measure_alignment, _judge_alignment)


def _time_to_align(problem: Problem, theta: np.ndarray) -> float:
    """Return the time of plain flow at which U(θ̄) is half-way to its maximum."""
    norm = np.linalg.norm(theta, axis=1)
    right = agf.lemmas.dynamics(problem, None, norm, np.ones(1, bool), 1.0)
    start = np.concatenate([(theta / norm[:, None]).ravel(), [0.0]])
    top = problem.utility(_ascended(problem, theta / norm[:, None]), None)[0][0]
    first = problem.utility(theta / norm[:, None], None)[0][0]

    def halfway(t, y):
        theta_bar = y[None, :-1] / np.linalg.norm(y[:-1])
        return problem.utility(theta_bar, None)[0][0] - (first + top) / 2

    halfway.terminal = True  # type: ignore[attr-defined]
    solved = solve_ivp(right, (0.0, 1e30), start, method="DOP853", events=halfway, rtol=1e-9, atol=1e-12)
    return float(solved.t_events[0][0])


def _ascended(problem: Problem, theta_bar: np.ndarray) -> np.ndarray:
    """Ascend the utility on the unit sphere."""
    for _ in range(600):
        slope = problem.utility(theta_bar, None)[1]
        theta_bar = theta_bar + 0.2 * slope
        theta_bar /= np.linalg.norm(theta_bar, axis=1, keepdims=True)
    return theta_bar


def _measure_rate(setting: Setting) -> Measurement:
    """Compare directions from two scales of the start, with η_i = ‖θ_i‖^{2−κ}η and with one rate."""
    seeds = setting.seeds_or((0,))
    adaptive, ordinary = {}, {}
    for kappa in (3, 4):
        problem = _forms.form(kappa, 5, seeds[0])
        start = _forms.start(problem, setting.choose(quick=3, paper=20), 1.0, seeds[0])
        times = np.linspace(0.0, 2.0, 6)
        near, far = (_forms.split(problem, alpha * start, times, adaptive=True) for alpha in (1e-1, 1e-6))
        adaptive[f"κ = {kappa}"] = float(max(np.abs(near[0] - far[0]).max(), np.abs(near[1] - far[1]).max()))
        plain = [_forms.split(problem, alpha * start, times)[0] for alpha in (1e-1, 1e-6)]
        ordinary[f"κ = {kappa}"] = float(np.abs(plain[0] - plain[1]).max())
    return Measurement({"adaptive": adaptive, "ordinary": ordinary}, {"alphas": (1e-1, 1e-6)}, seeds[:1])


def _judge_rate(data: Mapping[str, Any]) -> list[Criterion]:
    return [
        at_most(
            "with η_i = ‖θ_i‖^{2−κ}η directions and log-norms do not depend on the first norm",
            "distance between the flows from α = 0.1 and 1e-6",
            data["adaptive"],
            _forms.SOLVED,
            reason=_forms.SOLVED_REASON,
        ),
        at_least(
            "with one rate directions do depend on the first norm",
            "distance between the flows from α = 0.1 and 1e-6",
            data["ordinary"],
            1e3 * _forms.SOLVED,
            reason="a thousand times the error of the solver",
        ),
    ]


adaptive_rate = Check(_measure_rate, _judge_rate)
