"""Section 3 and Appendix C: one neuron of a diagonal linear network in closed form."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.integrate import cumulative_simpson, solve_ivp

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_most, equals, within
from firstlight.claims.agf.checks._diagonal import sparse_regression
from firstlight.records import Criterion
from firstlight.theories import agf

SUM_ROUNDING = 64 * 20 * 2.0**-52
"""Relative rounding of a mean over 20 samples; the factor is 64."""

CONSERVED = 1e-11 * 1024 * 8
"""Relative drift along a flow solved to 1e-11 per step in at most 1024 steps; the factor is 8."""

CLOSED_FORM = 64 * 2.0**-52 * 1e3
"""Rounding of hyperbolic functions of arguments up to about 100, whose derivative amplifies by up to 1e3."""


def _uv_flow(slope: float, alpha: float, eta: float, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return u, v of a dormant neuron under θ′ = η∇U with U = −uv·slope, in closed form."""
    x = -eta * slope * np.asarray(times)
    return np.sqrt(2) * alpha * np.cosh(x), np.sqrt(2) * alpha * np.sinh(x)


def _measure_utility(setting: Setting) -> Measurement:
    """Search the circle for the largest utility of each neuron."""
    seeds = setting.seeds_or((0,))
    X, y = sparse_regression(seeds[0])
    n, points = len(y), setting.choose(quick=20_001, paper=2_000_001)
    beta = np.array([1.0, 0.0, -2.0, 0.0, 0.0])
    slope, r = X.T @ (X @ beta - y) / n, y - X @ beta
    angle = np.linspace(-np.pi, np.pi, points)
    u, v = np.cos(angle), np.sin(angle)
    formula, height, balance, signs = [], [], [], 0
    for i in range(5):
        U = u * v * float(X[:, i] @ r) / n
        size = abs(slope[i])
        formula.append(float(np.abs(U + u * v * slope[i]).max() / size))
        height.append(float(U.max() / (size / 2) - 1))
        best = int(U.argmax())
        balance.append(float(abs(abs(u[best]) - abs(v[best]))))
        signs += int(np.sign(u[best] * v[best]) == -np.sign(slope[i]))
    data = {"formula": formula, "height": height, "balance": balance, "signs": signs, "step": 2 * np.pi / (points - 1)}
    return Measurement(data, {"dimension": 5, "samples": 20}, seeds[:1])


def _judge_utility(data: Mapping[str, Any]) -> list[Criterion]:
    step = data["step"]
    return [
        at_most(
            "U_i = −u_i v_i ∂L/∂β_i",
            "largest difference from the mean over samples, relative to |∂L/∂β_i|",
            data["formula"],
            SUM_ROUNDING,
            reason="means over 20 samples in float64; the factor is 64",
        ),
        within(
            "the largest U_i on the circle is ½|∂L/∂β_i|",
            "largest value on a grid over ½|∂L/∂β_i|, minus 1",
            data["height"],
            0.0,
            step**2 + SUM_ROUNDING,
            reason="a parabola on a grid of this step is lower than its maximum by at most 2(step/2)²·2",
        ),
        at_most(
            "it is attained where |u_i| = |v_i|",
            "||u_i| − |v_i|| at the largest value on the grid",
            data["balance"],
            2 * step,
            reason="the grid's step, at a slope of √2",
        ),
        equals("it is attained where sgn(u_i v_i) = −sgn ∂L/∂β_i", "neurons with this sign", data["signs"], 5),
    ]


utility_and_maximum = Check(_measure_utility, _judge_utility)


def _measure_conserved(setting: Setting) -> Measurement:
    """Follow gradient flow of a whole diagonal network from u = √2·α, v = 0."""
    seeds, alpha = setting.seeds_or((0,)), 0.1
    X, y = sparse_regression(seeds[0], d=setting.choose(quick=3, paper=5))
    d = X.shape[1]

    def right(t: float, z: np.ndarray) -> np.ndarray:
        u, v = z[:d], z[d:]
        g = X.T @ (X @ (u * v) - y) / len(y)
        return np.concatenate([-v * g, -u * g])

    start = np.concatenate([np.full(d, np.sqrt(2) * alpha), np.zeros(d)])
    path = solve_ivp(right, (0.0, 3.0), start, method="DOP853", rtol=1e-11, atol=1e-13).y
    u, v = path[:d], path[d:]
    norm2 = u**2 + v**2
    data = {
        "printed difference": float(np.abs(u**2 - v**2 - 2 * alpha).max()),
        "difference": float(np.abs(u**2 - v**2 - 2 * alpha**2).max() / norm2.max()),
        "printed product": float(np.abs(4 * u**2 * v**2 - norm2 + 4 * alpha**2).max() / norm2.max() ** 2),
        "product": float(np.abs(4 * u**2 * v**2 - norm2**2 + 4 * alpha**4).max() / norm2.max() ** 2),
        "largest norm": float(norm2.max()),
    }
    return Measurement(data, {"alpha": alpha}, seeds[:1])


def _judge_conserved(data: Mapping[str, Any]) -> list[Criterion]:
    reason = "the flow is solved to 1e-11 per step in at most 1024 steps; the factor is 8"
    drift = CONSERVED * data["largest norm"]
    return [
        above(
            "neurons wake along the flow",
            "largest ‖θ‖²",
            data["largest norm"],
            1.0,
            form="precondition",
            reason="an active neuron has norm one",
        ),
        at_most(
            "u² − v² = 2α",
            "largest |u² − v² − 2α| at α = 0.1",
            data["printed difference"],
            drift,
            form="printed",
            reason=reason,
        ),
        at_most(
            "u² − v² = 2α²",
            "largest |u² − v² − 2α²| over the largest ‖θ‖²",
            data["difference"],
            CONSERVED,
            form="corrected",
            reason=reason,
        ),
        at_most(
            "2uv = ±√(‖θ‖² − 4α²)",
            "largest |4u²v² − ‖θ‖² + 4α²| over the largest ‖θ‖⁴",
            data["printed product"],
            CONSERVED,
            form="printed",
            reason=reason,
        ),
        at_most(
            "2uv = ±√(‖θ‖⁴ − 4α⁴)",
            "largest |4u²v² − ‖θ‖⁴ + 4α⁴| over the largest ‖θ‖⁴",
            data["product"],
            CONSERVED,
            form="corrected",
            reason=reason,
        ),
    ]


conserved = Check(_measure_conserved, _judge_conserved)


def _measure_tanh(setting: Setting) -> Measurement:
    """Compare Ū along the exact (u, v) with the hyperbolic tangent."""
    alpha = 1e-3
    eta = -np.log(np.sqrt(2) * alpha)
    errors, moved = [], []
    for slope in (-0.7, 1.3):
        times = np.linspace(0.0, 0.4, setting.choose(quick=41, paper=4001))
        u, v = _uv_flow(slope, alpha, eta, times)
        U = -u * v * slope / (u**2 + v**2)
        start, U_star = len(times) // 3, abs(slope) / 2
        delta = np.arctanh(U[start] / U_star)
        law = U_star * np.tanh(delta + 4 * eta * U_star * (times[start:] - times[start]))
        errors.append(float(np.abs(U[start:] - law).max() / U_star))
        moved.append(float((U[-1] - U[start]) / U_star))
    return Measurement({"errors": errors, "moved": moved}, {"alpha": alpha})


def _judge_tanh(data: Mapping[str, Any]) -> list[Criterion]:
    return [
        above(
            "the utility changes",
            "change of Ū/Ū* on the interval",
            data["moved"],
            0.01,
            form="precondition",
            reason="a hundredth is far above the rounding of the closed form",
        ),
        at_most(
            "Ū(τ + t) = Ū* tanh(δ + 4ηŪ*t)",
            "largest distance from Ū along the exact u and v, over Ū*",
            data["errors"],
            CLOSED_FORM,
            reason="closed forms on both sides; artanh amplifies rounding by up to 1e3, the factor is 64",
        ),
    ]


riccati_solution = Check(_measure_tanh, _judge_tanh)


def _measure_accumulated(setting: Setting) -> Measurement:
    """Compare S and ρ after a change of slope with the integral of 2Ū and the sign of uv."""
    errors, signs, flips, zeros = [], 0, 0, []
    points = setting.choose(quick=4001, paper=100_001)
    cases = ((-1.0, -0.5), (-1.0, 0.8), (0.6, -1.5))
    for alpha in (0.1, 1e-3):
        eta = -np.log(np.sqrt(2) * alpha)
        for first, second in cases:
            times = np.linspace(0.0, 0.8, points)
            x = np.where(times <= 0.3, -first * times, -first * 0.3 - second * (times - 0.3)) * eta
            # 2Ū jumps with the slope, so each piece is integrated separately.
            k = int(np.searchsorted(times, 0.3, side="right"))
            S1, _ = agf.lemmas.accumulated(0.0, first, 0.0, times[k - 1], eta)
            S = float(S1) + cumulative_simpson(-second * np.tanh(2 * x[k - 1 :]), x=times[k - 1 :], initial=0.0)
            head = cumulative_simpson(-first * np.tanh(2 * x[:k]), x=times[:k], initial=0.0)
            law, rho = agf.lemmas.accumulated(float(S1), second, -np.sign(first), times[k - 1 :] - times[k - 1], eta)
            errors += [float(np.abs(law - S).max()), abs(float(head[-1]) - float(S1))]
            same = np.abs(x[k - 1 :]) > 1e-9
            signs += int(bool((np.sign(x[k - 1 :]) == rho)[same].all()))
            if np.sign(x[-1]) != np.sign(x[k - 1]):
                flips += 1
                zeros.append(float(np.min(np.asarray(law))))
    data = {"errors": errors, "signs": signs, "cases": 2 * len(cases), "flips": flips, "zeros": zeros, "points": points}
    return Measurement(data, {"alphas": (0.1, 1e-3)})


def _judge_accumulated(data: Mapping[str, Any]) -> list[Criterion]:
    step = 0.8 / (data["points"] - 1)
    return [
        at_most(
            "S(τ+t) = (1/2η) log cosh(2η(2U*t + (ζ/2η) arcosh e^{2ηS(τ)}))",
            "largest distance from the integral of 2Ū",
            data["errors"],
            step,
            reason="Simpson's rule on pieces whose ends are a grid step from the change of slope",
        ),
        equals("ρ is the sign of uv (eq. 32)", "cases with the right sign at all times", data["signs"], data["cases"]),
        above("a sign flips", "cases with a flip", data["flips"], 0, form="precondition"),
        at_most(
            "ρ flips only where S = 0",
            "least S in the cases with a flip",
            data["zeros"],
            4 * step,
            reason="S is at most 2|∂L| ≤ 4 times the distance in time from its zero, which is below a grid step",
        ),
    ]


accumulated_utility = Check(_measure_accumulated, _judge_accumulated)


def _measure_next(setting: Setting) -> Measurement:
    """Evaluate S and the norm at Δτ for random states."""
    seeds = setting.seeds_or((0,))
    rng = np.random.default_rng(seeds[0])
    S_error, norm_error, first, draws = [], [], 0, setting.choose(quick=200, paper=20_000)
    for _ in range(draws):
        alpha = 10 ** rng.uniform(-8, -1)
        eta = -np.log(np.sqrt(2) * alpha)
        S, slope, rho = rng.uniform(0, 1, 3), rng.standard_normal(3), rng.choice([-1.0, 1.0], 3)
        waits = np.array([float(agf.lemmas.time_to_jump(*state, eta)) for state in zip(S, slope, rho, strict=True)])
        i = int(waits.argmin())
        later = np.array(
            [float(agf.lemmas.accumulated(*state, waits[i], eta)[0]) for state in zip(S, slope, rho, strict=True)]
        )
        # The hyperbolic angle x of (u, v) grows linearly, independently of the closed form of S.
        x = rho[i] * np.arccosh(np.exp(2 * eta * S[i])) / 2 - eta * slope[i] * waits[i]
        S_error.append(abs(later[i] - 1))
        norm_error.append(abs(2 * alpha**2 * np.cosh(2 * x) - 1))
        first += int(later.argmax() == i)
    data = {"S": max(S_error), "norm": max(norm_error), "first": first, "draws": draws}
    return Measurement(data, {"neurons": 3}, seeds[:1])


def _judge_next(data: Mapping[str, Any]) -> list[Criterion]:
    reason = "closed forms with exponents up to 2η < 37, whose rounding is amplified by at most 1e3; the factor is 64"
    return [
        at_most("S(τ + Δτ) = 1", "largest |S − 1|", data["S"], CLOSED_FORM, reason=reason),
        at_most(
            "the neuron then has norm one",
            "largest |‖θ‖² − 1|",
            data["norm"],
            CLOSED_FORM * 1e3,
            reason=reason + "; cosh of an angle up to 37 amplifies by as much again",
        ),
        equals(
            "the smallest Δτ is the next jump",
            "draws in which that neuron of three has the largest S",
            data["first"],
            data["draws"],
        ),
    ]


next_jump = Check(_measure_next, _judge_next)
