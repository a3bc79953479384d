"""Monomial potentials under gradient flow: their velocity, their decoupling with width, and their ripples."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import t as student

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_most, below, within
from firstlight.flow import Loss, population_value_and_grad
from firstlight.groups import cyclic, parse
from firstlight.records import Criterion, figure
from firstlight.theories.cogo import Solution
from firstlight.theories.cogo._dynamics import forward
from firstlight.theories.cogo.lemmas import (
    coupling,
    decoupled_diagonal,
    gaussian_solution,
    jj_star,
    loss_gradient,
    potential_velocity,
    potentials,
    ripple,
    ripple_energy,
)

Velocity = tuple[np.ndarray, np.ndarray]
"""Ẇ (2d, q) and V̇ (q, d)."""

VELOCITY = 1e-11
"""Relative error of sums over 4d³ potentials and q nodes, d = 23 and q = 8: 64 × √(4 · 23³ · 8) × 2⁻⁵²."""
DIFFERENCE = 64 * 2**-52
"""Rounding of a difference of potentials, relative to the potentials."""


def _measure_velocity(setting: Setting) -> Measurement:
    """Compare ṙ from the gradient of the loss in the weights with −JJ* conj ∇_r ℓ."""
    seeds = setting.seeds_or(range(2))
    cases = setting.choose(quick=(("Z5", 4), ("Z6", 4)), paper=(("Z11", 16), ("Z12", 16), ("Z2xZ4", 8), ("Z23", 8)))
    errors, inner, differences = [], [], []
    for i, (name, order) in enumerate(cases):
        setting.progress(i / len(cases), name)
        for seed in seeds:
            solution = gaussian_solution(parse(name), order, seed)
            predicted, velocity = potential_velocity(solution), _weight_velocity(solution)
            measured = _moved_by_weights(solution, velocity)
            errors.append(max(_apart(x, y) for x, y in zip(predicted, measured, strict=True)))
            gradient = loss_gradient(solution)
            along = jj_star(solution, gradient)
            norm2 = sum(float(np.vdot(g, g).real) for g in gradient)
            inner.append(sum(float(np.vdot(g, v).real) for g, v in zip(gradient, along, strict=True)) / norm2)
            differences.append(_difference_error(solution, velocity, measured))
    data = {"errors": errors, "inner products": inner, "differences": differences}
    return Measurement(data, {"groups": [name for name, _ in cases], "nodes": [q for _, q in cases]}, seeds)


def _judge_velocity(data: Mapping[str, Any]) -> list[Criterion]:
    """Require ṙ = −JJ* conj ∇_r ℓ, J to be the derivative of r, and a positive inner product."""
    return [
        at_most(
            "ṙ = −JJ* conj ∇_r ℓ under gradient flow of the weights",
            "largest error relative to the largest entry",
            data["errors"],
            VELOCITY,
            reason="sums over at most 4 · 23³ potentials and 8 nodes: 64 × √(4 · 23³ · 8) × 2⁻⁵²",
        ),
        at_most(
            "J is the derivative of r in the weights",
            "central differences less their third-order term, over max |r|/h",
            data["differences"],
            DIFFERENCE,
            reason="r is cubic in the weights, so that only rounding is left; the factor is 64",
        ),
        above(
            "the velocity has a positive inner product with −conj ∇_r ℓ",
            "least ⟨∇ℓ, JJ*∇ℓ⟩ over ‖∇ℓ‖²",
            data["inner products"],
            0,
            reason="the theorem's own bound",
        ),
    ]


potential_dynamics = Check(_measure_velocity, _judge_velocity)


def _weight_velocity(solution: Solution) -> Velocity:
    """Return −∇ℓ for W (2d, q) and V (q, d)."""
    with jax.enable_x64(True):
        W, V = (jax.numpy.asarray(part) for part in solution.weights)
        conventions = Loss(projection="outputs", reduction="mean")
        _, (dW, dV) = population_value_and_grad(W, V, solution.group, loss=conventions)
        return -np.asarray(dW, float), -np.asarray(dV, float)


def _moved_by_weights(solution: Solution, velocity: Velocity) -> Sequence[np.ndarray]:
    """Return the velocity of the potentials by the chain rule."""
    return forward(solution, Solution.from_weights(velocity[0], velocity[1], solution.group).z)


def _difference_error(solution: Solution, velocity: Velocity, measured: Sequence[np.ndarray], h: float = 1e-3) -> float:
    """Compare (r(W + hẆ) − r(W − hẆ))/2h − h² r(Ẇ) with the derivative along Ẇ, relative to max |r|/h."""
    (W, V), (dW, dV) = solution.weights, velocity
    at = lambda W, V: potentials(Solution.from_weights(W, V, solution.group))  # noqa: E731
    ahead, behind, third = at(W + h * dW, V + h * dV), at(W - h * dW, V - h * dV), at(dW, dV)
    errors = [
        np.abs((x - y) / (2 * h) - h**2 * z - slope).max() * h / max(np.abs(x).max(), np.abs(y).max())
        for x, y, z, slope in zip(ahead, behind, third, measured, strict=True)
    ]
    return float(max(errors))


def _apart(x: np.ndarray, y: np.ndarray) -> float:
    """Return the largest difference, relative to the largest entry of y."""
    return float(np.abs(x - y).max() / np.abs(y).max())


def _measure_decoupling(setting: Setting) -> Measurement:
    """Compare off-diagonal with diagonal entries of JJ* for Gaussian weights of growing width."""
    seeds = setting.seeds_or(range(24))
    group = cyclic(setting.choose(quick=5, paper=7))
    widths = np.array(setting.choose(quick=(64, 256, 1024), paper=(64, 256, 1024, 4096)))
    pairs = np.array([[coupling(gaussian_solution(group, int(q), seed)) for seed in seeds] for q in widths])
    setting.progress(0.7, "with r_pmk′k")
    # At d = 7 this matrix would have side 648 and come from rows of 86,000 numbers; d = 5 is enough.
    small = [[gaussian_solution(cyclic(5), int(q), seed) for seed in seeds[:4]] for q in widths]
    every = np.array([[coupling(z, quadratic_too=True)[0] for z in row] for row in small]).mean(1)
    slopes = np.polyfit(np.log(widths), np.log(pairs).reshape(len(widths), -1), 1)[0].reshape(len(seeds), 2)
    data = {
        "slopes": {"largest": slopes[:, 0], "root mean square": slopes[:, 1]},
        "pure decay": float((widths[0] / widths[-1]) ** 0.5),
        "kept with r_pmk′k": float(every[-1] / every[0]),
        # ℓ̃_k as a function of r_kkk alone; each minimum is at 1/2d if the loss is the first two terms of eq. (3).
        "minimum": {"printed": _minimum(1, group.order), "eq. (3)": _minimum(-4, 4 * group.order)},
        "1/2d": 1 / (2 * group.order),
    }
    mean = pairs.mean(1)
    series = [
        figure.Series("largest", widths, mean[:, 0]),
        figure.Series("2/√q", widths, 2 / widths**0.5, style="dashed", like="largest"),
        figure.Series("root mean square", widths, mean[:, 1]),
        figure.Series("0.5/√q", widths, 0.5 / widths**0.5, style="dashed", like="root mean square"),
        figure.Series("largest, with r_pmk′k (Z5)", widths, every),
    ]
    x, y = figure.Axis("width q", scale="log"), figure.Axis("JJ* off over on the diagonal", scale="log")
    shown = figure.curves(
        series, x=x, y=y, title="Potentials decouple with width", caption=f"{group.name}, Gaussian weights."
    )
    return Measurement(data, {"group": group.name, "widths": widths}, seeds, (shown,))


def _minimum(linear: float, quadratic: float) -> float:
    """Return the real r at which linear · r + quadratic · r² is least."""
    least: Any = minimize_scalar(lambda r: linear * r + quadratic * r**2, bracket=(-1.0, 1.0))
    return float(least.x)


def _judge_decoupling(data: Mapping[str, Any]) -> list[Criterion]:
    """Require exponents of −1/2 for the potentials of the first two terms, and no decoupling with the others."""
    rows = []
    for name, slopes in data["slopes"].items():
        margin = student.ppf(0.995, len(slopes) - 1) * np.std(slopes, ddof=1) / len(slopes) ** 0.5
        rows += [
            at_most(
                "the exponent is determined",
                f"half width of the 99 % interval, {name}",
                margin,
                0.1,
                reason="a fifth of the exponent",
                form="precondition",
            ),
            within(
                "off the diagonal JJ* falls like q^(−1/2), so that it becomes diagonal",
                f"exponent of the {name} entry, mean over seeds",
                float(np.mean(slopes)),
                -0.5,
                float(margin),
                reason="99 % interval of the mean over seeds (Student)",
            ),
        ]
    goal, decay = data["1/2d"], data["pure decay"]
    exact, reason = 1e-6, "a minimum is found to the root of rounding, 1.5e-8; the factor is 64"
    return [
        *rows,
        within(
            "ℓ̃_k = r_kkk + d Σ|r|² is the loss",
            "r_kkk of its minimum over 1/2d",
            data["minimum"]["printed"] / goal,
            1,
            exact,
            reason=reason,
            form="printed",
        ),
        within(
            "ℓ̃_k = −4 r_kkk + 4d Σ|r|² is the loss",
            "r_kkk of its minimum over 1/2d",
            data["minimum"]["eq. (3)"] / goal,
            1,
            exact,
            reason=reason,
            form="corrected",
        ),
        above(
            "with the potentials of the other two terms JJ* does not become diagonal",
            "largest entry with r_pmk′k, mean over four seeds, widest over narrowest",
            data["kept with r_pmk′k"],
            decay**0.5,
            reason=f"half way, in logarithms, between a constant (1) and q^(−1/2) ({decay:g})",
            form="corrected",
        ),
    ]


decoupling = Check(_measure_decoupling, _judge_decoupling)

SWING = 1e-5
"""Relative size of the small swings about the centre of eq. (12)."""
RIPPLE_ENERGY = 1e-9
"""Drift of the conserved energy H: errors of 1e-12 a step over at most 1000 steps."""


def _measure_ripples(setting: Setting) -> Measurement:
    """Integrate eq. (12): its conserved energy, period and swings; differentiate the decoupled curve of r_kkk."""
    turns = setting.choose(quick=4, paper=40)
    drift, swings, ratios = [], [], []
    for alpha, c0 in ((0.75, 0.1), (1.0, 0.5), (2.0, 1.3)):
        rest, cycle = c0 / (2 * alpha - 1), 2 * np.pi / c0**0.5
        time = np.linspace(0, turns * cycle, 200 * turns + 1)
        wide = ripple(3 * rest, 0.2, alpha=alpha, c0=c0, time=time)
        drift.append(np.ptp(ripple_energy(wide.r, wide.kappa, alpha=alpha, c0=c0)))
        small = ripple(rest * (1 + SWING), 0.0, alpha=alpha, c0=c0, time=time)
        swing = (small.r / rest - 1) / SWING
        swings.append(np.abs(swing - np.cos(c0**0.5 * time)).max())
        ratios.append(np.ptp(swing[-200:]) / np.ptp(swing[:200]))
    d, time = 23, np.linspace(0, 0.3, 61)
    h = 1e-30
    curves = {"(1 − e^(−t))/2d": lambda t: (1 - np.exp(-t)) / (2 * d), "(1 − e^(−2dt))/2d": _decoupled(d)}
    misses = {
        name: np.abs(curve(time + 1j * h).imag / h - (1 - 2 * d * curve(time))).max() for name, curve in curves.items()
    }
    wide = ripple(0.3, 0.0, alpha=1.0, c0=0.1, time=np.linspace(0, 80, 281))
    shown = figure.curves(
        [figure.Series("r", wide.time, wide.r), figure.Series("κ", wide.time, wide.kappa)],
        x="time",
        y="value",
        title="Eq. (12) turns about its centre and does not settle",
        caption="α = 1, c₀ = 0.1, from r = 0.3, κ = 0.",
        horizontal={"r = c₀/(2α − 1)": 0.1},
    )
    data = {"drift": drift, "swings off cos √c₀t": swings, "last over first swing": ratios, "misses": misses}
    return Measurement(data, {"turns": turns, "d": d}, figures=(shown,))


def _decoupled(d: int) -> Any:
    """Return `decoupled_diagonal` as a function that also accepts complex times."""
    exact = lambda t: (1 - np.exp(-2 * d * t)) / (2 * d)  # noqa: E731
    times = np.linspace(0, 0.3, 7)
    if np.abs(exact(times) - decoupled_diagonal(times, d)).max() > 64 * 2**-52:
        raise ValueError(f"decoupled_diagonal is (1 − e^(−2dt))/2d; got {decoupled_diagonal(times, d)}")
    return exact


def _judge_ripples(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the period of eq. (12), its conserved energy, and the curve that solves r′ = 1 − 2dr."""
    printed, corrected = data["misses"].values()
    exact, reason = 64 * 2**-52, "rounding of 1 and of 2dr ≤ 1; the factor is 64"
    clause, name = "r_kkk(t) = {} solves r′ = 1 − 2d r, d = 23", "largest |r′ − (1 − 2dr)|"
    return [
        at_most(
            "eq. (12) has complex roots for c₀ > 0: it swings with period 2π/√c₀",
            "small swings off cos √c₀t",
            data["swings off cos √c₀t"],
            10 * SWING,
            reason="second order in a swing of 1e-5; the factor is 10",
        ),
        at_most(clause.format("(1 − e^(−t))/2d"), name, printed, exact, reason=reason, form="printed"),
        at_most(clause.format("(1 − e^(−2dt))/2d"), name, corrected, exact, reason=reason, form="corrected"),
        below(
            "the ripples of eq. (12) stabilise",
            "last swing over first",
            data["last over first swing"],
            0.5,
            reason="swings that die out are at least halved",
            form="printed",
        ),
        at_most(
            "eq. (12) conserves H = κ²/2 + (2α − 1)r − c₀ ln r, so that it does not settle",
            "largest drift of H",
            data["drift"],
            RIPPLE_ENERGY,
            reason="an integrator of order 8 errs by 1e-12 a step, over at most 1000 steps",
            form="corrected",
        ),
    ]


ripples = Check(_measure_ripples, _judge_ripples)
