"""Section 5 and Appendix F: utilities, maxima and costs of modular addition, by sums over all pairs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, within
from firstlight.claims.agf.checks._pairs import EXACT, SUM_ROUNDING, orbit, pairs, targets, template
from firstlight.records import Criterion
from firstlight.theories import agf


def _measure_correlation(setting: Setting) -> Measurement:
    """Compare both sides of eq. 60, and of eq. 62 of its proof."""
    errors, dropped = {}, {}
    sizes = setting.choose(quick=(7, 10), paper=(7, 10, 23, 40))
    for p in sizes:
        x, u, v, w = np.random.default_rng(p).standard_normal((4, p))
        O = orbit(x)
        terms = np.abs(np.einsum("a,b,ab->ab", O @ u, O @ v, (targets(x) @ w))).sum()
        total = np.einsum("a,b,ab->", O @ u, O @ v, (targets(x) @ w))
        x_hat, u_hat, v_hat, w_hat = np.fft.fft([x, u, v, w])
        law = np.sum(np.abs(x_hat) ** 2 * u_hat * v_hat * np.conj(w_hat * x_hat)).real / p
        without = np.sum(x_hat * u_hat * v_hat * np.conj(w_hat * x_hat)).real / p
        errors[f"p = {p}"] = float(abs(law - total) / terms)
        dropped[f"p = {p}"] = float(abs(without - total) / terms)
    note = "Eq. 62, in the proof, drops a factor x̂."
    return Measurement({"errors": errors, "without a factor x̂": dropped}, {"p": sizes}, note=note)


def _judge_correlation(data: Mapping[str, Any]) -> list[Criterion]:
    return [
        at_most(
            "Σ⟨u, a·x⟩⟨v, b·x⟩⟨w, (a+b)·x⟩ = (1/p) Σ|x̂|² û v̂ conj(ŵ x̂)",
            "largest difference of the two sides, over the sum of absolute terms",
            data["errors"],
            SUM_ROUNDING,
            reason=EXACT,
        ),
        at_least(
            "the sum tells the factor |x̂|²",
            "the same difference with x̂ in place of |x̂|², as in eq. 62",
            data["without a factor x̂"],
            1e3 * SUM_ROUNDING,
            form="precondition",
            reason="a thousand times the rounding",
        ),
    ]


triple_correlation = Check(_measure_correlation, _judge_correlation)


def _measure_initial(setting: Setting) -> Measurement:
    """Compare eq. 63, and its print in Section 5, with the mean over all pairs."""
    errors, section_5 = {}, {}
    sizes = setting.choose(quick=(7, 10), paper=(7, 10, 23, 40))
    for p in sizes:
        x = template(p, p)
        u, v, w = np.random.default_rng(p).standard_normal((3, p))
        products = (pairs((u[None], v[None], w[None]), x) * targets(x)).sum(-1)
        U, size = products.mean(), np.abs(products).mean()
        hats = np.fft.fft([x, u, v, w])
        law = 2 / p**3 * np.sum(np.abs(hats[0]) ** 2 * hats[1] * hats[2] * np.conj(hats[3] * hats[0]))[()].real
        plain = 2 / p**3 * np.sum(np.abs(hats[0]) ** 2 * hats[1] * hats[2] * hats[3] * hats[0]).real
        errors[f"p = {p}"] = float(abs(law - U) / size)
        section_5[f"p = {p}"] = float(abs(plain - U) / size)
    return Measurement({"errors": errors, "section 5": section_5}, {"p": sizes})


def _judge_initial(data: Mapping[str, Any]) -> list[Criterion]:
    quantity = "largest difference from the mean over all pairs, over the mean absolute term"
    return [
        at_most(
            "U = (2/p³) Σ_(k≠0) |x̂|² û v̂ ŵ x̂, without conjugates, as Section 5 prints it",
            quantity,
            data["section 5"],
            SUM_ROUNDING,
            form="printed",
            reason=EXACT,
        ),
        at_most(
            "U = (2/p³) Σ_(k≠0) |x̂|² û v̂ conj(ŵ x̂), eq. 63",
            quantity,
            data["errors"],
            SUM_ROUNDING,
            form="corrected",
            reason=EXACT,
        ),
    ]


initial_utility = Check(_measure_initial, _judge_initial)


def _measure_maxima(setting: Setting) -> Measurement:
    """Ascend the utility from random neurons; measure heights, shapes and curvature at each frequency."""
    seeds = setting.seeds_or((0,))
    p = setting.choose(quick=11, paper=21)
    x = agf.harmonic_template(p, {1: 10.0, 2: 8.0 * np.exp(0.7j), 3: 6.4})
    task, heights = agf.Template(f"Z{p}", x), agf.lemmas.utility_at(x)
    law = np.sqrt(2 / (27 * p**3)) * np.abs(np.fft.fft(x)) ** 3
    rng = np.random.default_rng(seeds[0])
    attained = {}
    for xi in (1, 2, 3):
        u, v, w = agf.lemmas.maximiser(x, xi, (0.3, 1.1))
        U = np.mean((pairs((u[None], v[None], w[None]), x) * targets(x)).sum(-1))
        attained[f"ξ = {xi}"] = float(U / law[xi])
    theta = rng.standard_normal((setting.choose(quick=300, paper=1500), task.problem.parameters))
    nothing = task.problem.residual(np.zeros_like(theta))
    for _ in range(1500):
        theta /= np.linalg.norm(theta, axis=1, keepdims=True)
        theta = theta + 0.1 / heights.max() * task.problem.utility(theta, nothing)[1]
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    U = task.problem.utility(theta, nothing)[0]
    ends = {f"ξ = {xi}": int((np.abs(U / law[xi] - 1) < 1e-3).sum()) for xi in (1, 2, 3)}
    curvature = _second_order(task, agf.lemmas.maximiser(x, 2, (0.3, 1.1)))
    data = {
        "ascents": len(theta),
        "U over √(2/27p³)|x̂[ξ]|³": attained,
        "largest U reached over U*": float(U.max() / law[1]),
        "ends": ends,
        "curvature at ξ = 2": curvature,
    }
    return Measurement(data, {"p": p, "|x̂|": [10, 8, 6.4]}, seeds[:1])


def _second_order(task: agf.Template, weights: Sequence[np.ndarray] | np.ndarray) -> list[float]:
    """Return the three largest eigenvalues of the Hessian on the sphere, relative to the largest curvature."""
    theta = task.theta(*(part[None] for part in weights))
    P = theta.shape[1]
    nothing = task.problem.residual(np.zeros_like(theta))
    h = 1e-5
    ahead = task.problem.utility(theta + h * np.eye(P), nothing)[1]
    behind = task.problem.utility(theta - h * np.eye(P), nothing)[1]
    H = (ahead - behind) / (2 * h)
    slope = task.problem.utility(theta, nothing)[1]
    out = np.eye(P) - theta.T @ theta
    H = out @ ((H + H.T) / 2 - (slope @ theta.T)[0, 0] * np.eye(P)) @ out
    values = np.sort(np.linalg.eigvalsh(H + -1e6 * theta.T @ theta))[::-1]
    return (values[:3] / np.abs(values[:-1]).max()).tolist()


def _judge_maxima(data: Mapping[str, Any]) -> list[Criterion]:
    ends, total, flat = data["ends"], data["ascents"], 1e-8
    elsewhere = total - sum(ends.values())
    curved = data["curvature at ξ = 2"]
    reason = "central differences of step 1e-5 round by 2⁻⁵²/1e-5 ≈ 2e-11; the factor is 64 and the condition below 10"
    return [
        within(
            "U at harmonics with s_u + s_v ≡ s_w + s_x is √(2/27p³)|x̂[ξ]|³",
            "mean over all pairs at ξ = 1, 2, 3, over this height",
            data["U over √(2/27p³)|x̂[ξ]|³"],
            1.0,
            SUM_ROUNDING,
            reason=EXACT,
        ),
        at_most(
            "no unit vector has a larger utility than the harmonic of the dominant frequency",
            "largest utility that ascents reach, over U*",
            data["largest U reached over U*"],
            1 + SUM_ROUNDING,
            reason=EXACT,
        ),
        at_most(
            "U has no other local maxima than at the dominant frequency",
            "share of ascents that end at another frequency",
            (ends["ξ = 2"] + ends["ξ = 3"]) / total,
            0.0,
            form="printed",
        ),
        above(
            "harmonics of another frequency attract ascents",
            "ascents that end at |x̂| = 8, the second of three",
            ends["ξ = 2"],
            0,
            form="corrected",
        ),
        at_most(
            "such a harmonic is a local maximum: no direction ascends",
            "largest eigenvalue of the Hessian on the sphere at ξ = 2, over the largest curvature",
            curved[0],
            flat,
            form="corrected",
            reason=reason,
        ),
        at_most(
            "two directions, the phases, are flat; all others descend",
            "third eigenvalue of the Hessian at ξ = 2, over the largest curvature",
            curved[2],
            -1e3 * flat,
            form="corrected",
            reason="a thousand times the error of the differences",
        ),
        at_most(
            "every ascent ends at a harmonic of a frequency of the template",
            "share of ascents that have not reached one of the three heights",
            elsewhere / total,
            0.01,
            form="corrected",
            reason="an ascent of 1500 steps that starts near a saddle may not have left it",
        ),
    ]


maxima = Check(_measure_maxima, _judge_maxima)


def _measure_alignment(setting: Setting) -> Measurement:
    """Measure gradients at other harmonics, with squares that cancel and with squares that do not."""
    seeds = setting.seeds_or((0,))
    rng = np.random.default_rng(seeds[0])
    p, xi = setting.choose(quick=(13, 2), paper=(31, 3))
    x = template(p, seeds[0])
    task = agf.Template(f"Z{p}", x)
    A, s = rng.uniform(0.5, 1.5, (3, 4)), rng.uniform(0, 2 * np.pi, (3, 4))
    pair = [np.concatenate([A, A], 1), np.concatenate([s, s], 1)]
    # (z₁ + z₂)² − (z₁ − z₂)²: the second half has the opposite signs of v and w, so that the squares cancel.
    pair[1][1, 4:] += np.pi
    pair[1][2, 4:] += np.pi
    leaks = {}
    for name, (amplitude, phase) in {"squares cancel": pair, "squares do not": (A, s)}.items():
        theta = task.theta(*agf.lemmas.aligned_weights(amplitude, phase, p, xi))
        parts = task.weights(task.problem.cost(theta)[1])
        spectra = np.abs(np.fft.fft(np.stack(parts), axis=-1))
        other = np.ones(p, bool)
        other[[0, xi, p - xi]] = False
        leaks[name] = float(spectra[..., other].max() / spectra[..., xi].max())
    note = "The prefactors of eq. 79 should be 2/p², 2/p² and 1/p²; the theorem does not depend on them."
    return Measurement(leaks, {"p": p, "frequency": xi}, seeds[:1], note=note)


def _judge_alignment(data: Mapping[str, Any]) -> list[Criterion]:
    return [
        at_most(
            "the loss has no gradient along other harmonics if the squares cancel",
            "largest gradient there, over that along ξ",
            data["squares cancel"],
            SUM_ROUNDING,
            reason=EXACT,
        ),
        at_least(
            "the condition is needed",
            "largest gradient along other harmonics if the squares do not cancel, over that along ξ",
            data["squares do not"],
            1e3 * SUM_ROUNDING,
            form="precondition",
            reason="a thousand times the rounding",
        ),
    ]


alignment_is_kept = Check(_measure_alignment, _judge_alignment)
