"""Section 5, extensions: modular addition of several summands with σ(z) = z^k."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_most, untested, within
from firstlight.records import Criterion
from firstlight.theories import agf

ROUNDING = 64 * 5**2 * 2.0**-52 * 1e2
"""Relative rounding of sums over 5⁴ terms, √: factor 64, cancellation up to 1e2."""


def _measure(setting: Setting) -> Measurement:
    """Compare the utility in Fourier space with the mean over all rows, and ascend it from random neurons."""
    seeds = setting.seeds_or((0,))
    rng = np.random.default_rng(seeds[0])
    cases = setting.choose(quick=((5, 3),), paper=((5, 3), (7, 3), (5, 4)))
    errors, heights, outside = {}, {}, {}
    for p, k in cases:
        x = agf.harmonic_template(p, {1: 3.0 * np.exp(0.4j), 2: 1.8})
        problem, name = agf.summands_problem(x, k), f"p = {p}, k = {k}"
        theta = rng.standard_normal((setting.choose(quick=60, paper=300), problem.parameters))
        nothing = problem.residual(np.zeros_like(theta))
        U = problem.utility(theta, nothing)[0]
        law = np.array([agf.lemmas.utility(row.reshape(k + 1, p), x) for row in theta])
        errors[name] = float(np.abs(law - U).max() / np.abs(U).max())
        top = agf.lemmas.utility_at(x, k)
        for _ in range(1500):
            theta /= np.linalg.norm(theta, axis=1, keepdims=True)
            theta = theta + 0.1 / top.max() * problem.utility(theta, nothing)[1]
        theta /= np.linalg.norm(theta, axis=1, keepdims=True)
        ends = problem.utility(theta, nothing)[0]
        outside[name] = float(np.mean(np.min(np.abs(ends[:, None] / top[None, 1:3] - 1), axis=1) > 1e-3))
        heights[name] = float(ends.max() / top.max())
    return Measurement({"errors": errors, "heights": heights, "outside": outside}, {"p, k": cases}, seeds[:1])


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    return [
        at_most(
            "with σ(z) = z^k the utility is a sum over frequencies",
            "largest distance of (k!/p^(k+1)) Σ conj(x̂)^k x̂ conj(ŵ) Πû from the mean over all rows, relative",
            data["errors"],
            ROUNDING,
            reason="sums over at most 5⁴ rows in float64; the factor is 64, and terms are up to 1e2 times their sum",
        ),
        within(
            "the dominant harmonic maximises it",
            "largest utility that ascents reach, over 2(k!/p^(k+1))(p/2(k+1))^((k+1)/2)|x̂[ξ]|^(k+1)",
            data["heights"],
            1.0,
            1e-6,
            reason="ascents converge geometrically in 1500 steps",
        ),
        at_most(
            "every ascent ends at one harmonic",
            "share of ascents that end at no harmonic of the template",
            data["outside"],
            0.02,
            reason="an ascent that starts near a saddle may not have left it",
        ),
        untested("the cost minimisation step might be more subtle", "the paper makes no statement on it"),
    ]


several_summands = Check(_measure, _judge)
