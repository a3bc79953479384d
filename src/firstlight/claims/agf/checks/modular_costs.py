"""Section 5 and Appendix F: costs of aligned neurons, and the utility left after them, by sums over all pairs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import minimize

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_most, within
from firstlight.claims.agf.checks._pairs import EXACT, SUM_ROUNDING, pairs, targets, template
from firstlight.records import Criterion
from firstlight.theories import agf


def _measure_cost(setting: Setting) -> Measurement:
    """Compare eq. 80 with the mean over all pairs."""
    seeds = setting.seeds_or((0,))
    rng = np.random.default_rng(seeds[0])
    errors = {}
    cases = setting.choose(quick=((7, 2, 3), (11, 1, 5)), paper=((7, 2, 3), (11, 1, 5), (23, 4, 12)))
    for p, xi, N in cases:
        x = template(p, p)
        A, s = rng.uniform(0.2, 1.5, (3, N)), rng.uniform(0, 2 * np.pi, (3, N))
        f = pairs(agf.lemmas.aligned_weights(A, s, p, xi), x)
        total = float(np.mean((f**2).sum(-1)) / 2)
        errors[f"p = {p}"] = abs(agf.lemmas.aligned_cost(A, s, p, float(np.abs(np.fft.fft(x)[xi]))) / total - 1)
    return Measurement({"errors": errors}, {"p, ξ, N": cases}, seeds[:1])


def _judge_cost(data: Mapping[str, Any]) -> list[Criterion]:
    return [
        at_most(
            "𝓒(Θ) is the double sum of eq. 80, for p odd",
            "relative distance from the mean over all pairs",
            data["errors"],
            SUM_ROUNDING,
            reason=EXACT,
        )
    ]


aligned_cost = Check(_measure_cost, _judge_cost)


def _learned(p: int, seed: int) -> tuple[np.ndarray, int, Any]:
    """Return a template, its largest frequency ξ, and six neurons that have learned ξ."""
    x = template(p, seed)
    xi = int(np.abs(np.fft.fft(x)[1 : (p + 1) // 2]).argmax()) + 1
    return x, xi, agf.lemmas.six_neurons(x, xi)


def _left(x: np.ndarray, xi: int, weights: Any, seed: int) -> dict[str, float]:
    """Return the utility that is left for a random neuron, by all pairs, and by both formulas."""
    p = len(x)
    u, v, w = np.random.default_rng(seed).standard_normal((3, p))
    products = (pairs((u[None], v[None], w[None]), x) * (targets(x) - pairs(weights, x))).sum(-1)
    hats, x_hat = np.fft.fft([u, v, w]), np.fft.fft(x)
    others = [k for k in range(1, p) if k not in (xi, p - xi)]
    size = np.abs(x_hat) ** 2
    law = 2 / p**3 * np.sum((size * hats[0] * hats[1] * np.conj(hats[2] * x_hat))[others]).real
    printed_5_2 = 2 / p**3 * np.sum(size[others] * (hats[0] * hats[1] * hats[2])[xi] * x_hat[others]).real
    at_xi = (hats[0] * hats[1] * np.conj(hats[2] * x_hat))[xi]
    printed_93 = float(np.real(2 / p**3 * np.sum(size[others]) * at_xi))
    return {
        "all pairs": float(products.mean()),
        "size": float(np.abs(products).mean()),
        "index k": float(law),
        "Theorem 5.2": float(printed_5_2),
        "eq. 93": printed_93,
    }


def _off(row: Mapping[str, Any], formula: str) -> float:
    """Return the distance of a formula from the mean over all pairs, over the mean absolute term."""
    return abs(row[formula] - row["all pairs"]) / row["size"]


def _measure_bound(setting: Setting) -> Measurement:
    """Measure the loss of six neurons, the least loss of fewer and more, and the utility that is left."""
    seeds = setting.seeds_or((0,))
    p = setting.choose(quick=7, paper=13)
    x, xi, weights = _learned(p, seeds[0])
    x_hat = np.abs(np.fft.fft(x))
    bound = float(x @ x / 2 - x_hat[xi] ** 2 / p)
    gap = pairs(weights, x) - targets(x)
    six = float(np.mean((gap**2).sum(-1)) / 2)
    rng = np.random.default_rng(seeds[0])
    s_x, height = float(np.angle(np.fft.fft(x)[xi])), float(agf.lemmas.utility_at(x)[xi])

    def gain(flat: np.ndarray, N: int) -> float:
        """Return 𝓒 − U of aligned neurons, in units of the bound |x̂|²/p."""
        A, s = flat.reshape(2, 3, N)
        U = height * np.sum(A[0] * A[1] * A[2] * np.cos(s[0] + s[1] - s[2] - s_x))
        return (agf.lemmas.aligned_cost(A, s, p, float(x_hat[xi])) - U) / (x_hat[xi] ** 2 / p)

    reached = {}
    for N in setting.choose(quick=(4, 8), paper=(4, 5, 6, 12)):
        starts = [rng.uniform(0.5, 3.0, 6 * N) for _ in range(setting.choose(quick=1, paper=4))]
        options = {"maxiter": setting.choose(quick=25, paper=600)}
        ends = [minimize(gain, start, args=(N,), method="L-BFGS-B", options=options) for start in starts]
        reached[f"N = {N}"] = -min(float(end.fun) for end in ends)
    data = {
        "six neurons over the bound": six / bound - 1,
        "share of |x̂|²/p": reached,
        "utility left": _left(x, xi, weights, seeds[0]),
    }
    return Measurement(data, {"p": p}, seeds[:1])


def _judge_tight(data: Mapping[str, Any]) -> list[Criterion]:
    quantity = "distance from the mean over all pairs, over the mean absolute term"
    return [
        at_most(
            "L ≥ ‖x‖²/2 − ⟨x, 1⟩²/2p − |x̂[ξ]|²/p",
            "largest share of |x̂[ξ]|²/p by which minimisation lowers the loss, N = 4 to 12",
            data["share of |x̂|²/p"],
            1 + SUM_ROUNDING,
            reason=EXACT,
        ),
        within(
            "the bound is tight for N ≥ 6",
            "loss of the six neurons over the bound, minus 1",
            data["six neurons over the bound"],
            0.0,
            SUM_ROUNDING,
            reason=EXACT,
        ),
        at_most(
            "then U = (2/p³) Σ_(k≠0,±ξ) |x̂[k]|² û[ξ] v̂[ξ] ŵ[ξ] x̂[k]",
            quantity,
            _off(data["utility left"], "Theorem 5.2"),
            SUM_ROUNDING,
            form="printed",
            reason=EXACT,
        ),
        at_most(
            "then U = (2/p³) Σ_(k≠0,±ξ) |x̂[k]|² û[k] v̂[k] conj(ŵ[k] x̂[k])",
            quantity,
            _off(data["utility left"], "index k"),
            SUM_ROUNDING,
            form="corrected",
            reason=EXACT,
        ),
    ]


tight_bound = Check(_measure_bound, _judge_tight)


def _measure_function(setting: Setting) -> Measurement:
    """Evaluate the outputs of six neurons on all pairs."""
    errors = {}
    sizes = setting.choose(quick=(7, 11), paper=(7, 11, 23))
    for p in sizes:
        x, xi, weights = _learned(p, p)
        x_hat = np.fft.fft(x)[xi]
        wave = 2 * np.abs(x_hat) / p * np.cos(2 * np.pi * xi * np.arange(p) / p + np.angle(x_hat))
        errors[f"p = {p}"] = float(np.abs(pairs(weights, x) - targets(wave)).max() / np.abs(wave).max())
    note = "Eq. 92, in the proof, drops the factor |x̂|² in its second line."
    return Measurement({"errors": errors}, {"p": sizes}, note=note)


def _judge_function(data: Mapping[str, Any]) -> list[Criterion]:
    return [
        at_most(
            "f(a·x, b·x) = (2|x̂[ξ]|/p)(a+b)·χ_ξ",
            "largest distance over all pairs, relative to the wave",
            data["errors"],
            SUM_ROUNDING,
            reason=EXACT,
        )
    ]


learned_function = Check(_measure_function, _judge_function)


def _measure_updated(setting: Setting) -> Measurement:
    """Compare eq. 93, with the indices ξ and k, with the mean over all pairs."""
    sizes = setting.choose(quick=(7, 11), paper=(7, 11, 23))
    rows = {}
    for p in sizes:
        x, xi, weights = _learned(p, p)
        rows[f"p = {p}"] = _left(x, xi, weights, p)
    return Measurement({"utility left": rows}, {"p": sizes})


def _judge_updated(data: Mapping[str, Any]) -> list[Criterion]:
    rows = data["utility left"].values()
    quantity = "largest distance from the mean over all pairs, over the mean absolute term"
    return [
        at_most(
            "U = (2/p³) Σ_(k≠0,±ξ) |x̂[k]|² û[ξ] v̂[ξ] conj(ŵ[ξ] x̂[ξ])",
            quantity,
            [_off(row, "eq. 93") for row in rows],
            SUM_ROUNDING,
            form="printed",
            reason=EXACT,
        ),
        at_most(
            "U = (2/p³) Σ_(k≠0,±ξ) |x̂[k]|² û[k] v̂[k] conj(ŵ[k] x̂[k])",
            quantity,
            [_off(row, "index k") for row in rows],
            SUM_ROUNDING,
            form="corrected",
            reason=EXACT,
        ),
    ]


updated_utility = Check(_measure_updated, _judge_updated)
