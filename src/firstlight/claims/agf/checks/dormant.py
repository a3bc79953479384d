"""Section 2 and Appendix B: the dynamics of dormant neurons and conserved norms."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most
from firstlight.claims.agf.checks import _forms
from firstlight.records import Criterion
from firstlight.theories import agf

FORM_ROUNDING = 64 * 5**4 * 2.0**-52
"""Relative rounding of a form of degree 4 in 5 parameters: 625 terms, factor 64."""

CONSERVED = 1e-10 * 128 * 8
"""Drift along a flow solved to 1e-10 per step, in at most 128 steps; the factor is 8."""


def _measure_dynamics(setting: Setting) -> Measurement:
    """Compare eq. 2 with θ′ = η∇U, for κ = 2, 3, 4."""
    seeds, count = setting.seeds_or(range(setting.choose(quick=2, paper=8))), setting.choose(quick=3, paper=20)
    turned, grown = {}, {}
    for kappa in (2, 3, 4):
        worst = [_dynamics(kappa, count, seed) for seed in seeds]
        turned[f"κ = {kappa}"] = [error for error, _ in worst]
        grown[f"κ = {kappa}"] = [error for _, error in worst]
    return Measurement({"directions": turned, "norms": grown}, {"neurons": count}, seeds)


def _dynamics(kappa: int, count: int, seed: int) -> tuple[float, float]:
    """Return the largest error of a direction, and the largest relative error of a norm."""
    problem = _forms.form(kappa, 5, seed)
    theta = _forms.start(problem, count, 0.1, seed)
    times = np.linspace(0.0, _forms.horizon(problem, theta, 0.3, 0.7), 9)
    plain = _forms.plain(problem, theta, times, 0.7)
    length = np.linalg.norm(plain, axis=2)
    theta_bar, S = _forms.split(problem, theta, times, 0.7)
    norm = np.asarray(agf.lemmas.norm_at(S, np.linalg.norm(theta, axis=1), kappa, 0.7))
    return float(np.abs(theta_bar - plain / length[..., None]).max()), float(np.abs(norm / length - 1).max())


def _judge_dynamics(data: Mapping[str, Any]) -> list[Criterion]:
    return [
        at_most(
            "dθ̄/dt = η‖θ‖^{κ−2}P⊥∇U(θ̄)",
            "distance of directions from those of θ′ = η∇U",
            data["directions"],
            _forms.SOLVED,
            reason=_forms.SOLVED_REASON,
        ),
        at_most(
            "d‖θ‖/dt = ηκ‖θ‖^{κ−1}U(θ̄)",
            "relative distance of norms from those of θ′ = η∇U",
            data["norms"],
            _forms.SOLVED,
            reason=_forms.SOLVED_REASON,
        ),
    ]


directional_and_radial = Check(_measure_dynamics, _judge_dynamics)


def _measure_riccati(setting: Setting) -> Measurement:
    """Compare eq. 14 with ⟨∇U(θ̄), dθ̄/dt⟩ along θ′ = η∇U(θ)."""
    seeds, eta = setting.seeds_or((0,)), 0.7
    errors = {}
    for kappa in (2, 3, 4):
        problem = _forms.form(kappa, 5, seeds[0])
        theta = np.random.default_rng(seeds[0]).standard_normal((setting.choose(quick=20, paper=1000), 5))
        norm = np.linalg.norm(theta, axis=1)
        theta_bar = theta / norm[:, None]
        U, slope = problem.utility(theta_bar, None)
        velocity = eta * problem.utility(theta, None)[1]
        along = np.einsum("kp,kp->k", theta_bar, velocity)
        rate = np.einsum("kp,kp->k", slope, (velocity - along[:, None] * theta_bar) / norm[:, None])
        law = eta * kappa**2 * norm ** (kappa - 2) * ((slope**2).sum(1) / kappa**2 - U**2)
        errors[f"κ = {kappa}"] = float(np.abs(rate - law).max() / np.abs(law).max())
    return Measurement({"errors": errors}, {}, seeds[:1])


def _judge_riccati(data: Mapping[str, Any]) -> list[Criterion]:
    return [
        at_most(
            "dŪ/dt = ηκ²‖θ‖^{κ−2}(‖∇Ū‖²/κ² − Ū²)",
            "relative error",
            data["errors"],
            FORM_ROUNDING,
            reason="forms of degree 4 in 5 parameters sum 625 products; float64 rounds by 2⁻⁵², the factor is 64",
        )
    ]


riccati = Check(_measure_riccati, _judge_riccati)


def _measure_norms(setting: Setting) -> Measurement:
    """Follow gradient flow of networks with σ of degree κ − 1."""
    seeds = setting.seeds_or((0,))
    rng = np.random.default_rng(seeds[0])
    X, y = rng.standard_normal((30, 3)), rng.standard_normal((30, 2))
    drift, slack = {}, {}
    names = setting.choose(quick=("linear", "quadratic"), paper=("linear", "quadratic", "power3"))
    for name in names:
        problem = agf.network(X, y, name)
        theta = 0.4 * rng.standard_normal((4, 5))
        run = agf.follow(problem, theta, np.linspace(0.0, 2.0, 9), rtol=1e-10)
        w, a = (run.params[:, :, part] ** 2 for part in (slice(0, 3), slice(3, 5)))
        w, a, k = w.sum(-1), a.sum(-1), problem.kappa
        c = (k - 1) * a - w
        drift[name] = float(np.abs(c - c[0]).max())
        slack[name] = float((w + a - np.maximum(-c[0], c[0] / (k - 1))).min())
    note = "The proof gives σ the degree κ; the statement holds for the degree κ − 1."
    return Measurement({"drift": drift, "slack": slack}, {"activations": names}, seeds[:1], note=note)


def _judge_norms(data: Mapping[str, Any]) -> list[Criterion]:
    reason = "the flow is solved to 1e-10 per step in at most 128 steps; the factor is 8"
    return [
        at_most("(κ−1)‖a_i‖² − ‖w_i‖² is conserved", "largest drift", data["drift"], CONSERVED, reason=reason),
        at_least(
            "‖θ_i‖² ≥ max(−c, c/(κ−1))",
            "least ‖θ_i‖² − max(−c, c/(κ−1)) along the flow",
            data["slack"],
            -CONSERVED,
            reason=reason,
        ),
    ]


conserved_norms = Check(_measure_norms, _judge_norms)
