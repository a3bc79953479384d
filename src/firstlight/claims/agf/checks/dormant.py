"""Section 2 and Appendix B: the dynamics of dormant neurons and conserved norms."""

import numpy as np

from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.agf.checks import _forms
from firstlight.claims.agf.tolerances import SAME_TRAJECTORY
from firstlight.theories import agf


def directional_and_radial(setting: Setting) -> Outcome:
    """Compare eq. 2 with θ′ = η∇U, for κ = 2, 3, 4."""
    seed, count = setting.seeds_or((0,))[0], setting.choose(quick=3, paper=20)
    errors = {}
    for kappa in (2, 3, 4):
        problem = _forms.form(kappa, 5, seed)
        theta = _forms.start(problem, count, 0.1, seed)
        times = np.linspace(0.0, _forms.horizon(problem, theta, 0.3, 0.7), 9)
        plain = _forms.plain(problem, theta, times, 0.7)
        theta_bar, S = _forms.split(problem, theta, times, 0.7)
        norm = np.asarray(agf.lemmas.norm_at(S, np.linalg.norm(theta, axis=1), kappa, 0.7))
        rebuilt = norm[:, :, None] * theta_bar
        errors[f"κ = {kappa}"] = float(np.abs(rebuilt - plain).max() / np.abs(plain).max())
    return Outcome(
        "holds" if max(errors.values()) < SAME_TRAJECTORY else "fails",
        errors,
        dict.fromkeys(errors, 0.0),
        seeds=(seed,),
    )


def riccati(setting: Setting) -> Outcome:
    """Check eq. 14 by the derivative of U(θ̄) along the flow."""
    seed, eta = setting.seeds_or((0,))[0], 0.7
    errors = {}
    for kappa in (2, 3, 4):
        problem = _forms.form(kappa, 5, seed)
        theta = np.random.default_rng(seed).standard_normal((setting.choose(quick=20, paper=1000), 5))
        norm = np.linalg.norm(theta, axis=1)
        theta_bar = theta / norm[:, None]
        U, slope = problem.utility(theta_bar, None)
        right = agf.lemmas.dynamics(problem, None, np.minimum(norm, 0.9), np.ones(len(norm), bool), eta)
        moved = right(0.0, np.concatenate([theta_bar.ravel(), np.zeros(len(norm))]))[: -len(norm)]
        rate = np.einsum("kp,kp->k", slope, moved.reshape(theta.shape))
        law = eta * kappa**2 * np.minimum(norm, 0.9) ** (kappa - 2) * ((slope**2).sum(1) / kappa**2 - U**2)
        errors[f"κ = {kappa}"] = float(np.abs(rate - law).max() / np.abs(law).max())
    return Outcome(
        "holds" if max(errors.values()) < 1e-9 else "fails", errors, dict.fromkeys(errors, 0.0), seeds=(seed,)
    )


def conserved_norms(setting: Setting) -> Outcome:
    """Check Lemma B.1 along gradient flow of networks with σ of degree κ − 1."""
    seed = setting.seeds_or((0,))[0]
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal((30, 2))
    drift, slack, other = {}, {}, {}
    for name in setting.choose(quick=("linear", "quadratic"), paper=("linear", "quadratic", "power3")):
        problem = agf.network(X, y, name)
        theta = 0.4 * rng.standard_normal((4, 5))
        run = agf.follow(problem, theta, np.linspace(0.0, 2.0, 9), rtol=1e-10)
        w, a = (run.params[:, :, part] ** 2 for part in (slice(0, 3), slice(3, 5)))
        w, a, k = w.sum(-1), a.sum(-1), problem.kappa
        c = (k - 1) * a - w
        drift[name] = float(np.abs(c - c[0]).max())
        slack[name] = float((w + a - np.maximum(-c[0], c[0] / (k - 1))).min())
        other[name] = float(np.abs((k * a - w) - (k * a - w)[0]).max())
    return Outcome(
        "holds" if max(drift.values()) < 1e-7 and min(slack.values()) > -1e-7 else "fails",
        {"drift of (κ−1)‖a‖² − ‖w‖²": drift, "least slack of the bound": slack},
        {"drift of (κ−1)‖a‖² − ‖w‖²": dict.fromkeys(drift, 0.0)},
        evidence=(
            "The proof says that σ has degree κ; the degree is κ − 1. "
            f"κ‖a‖² − ‖w‖² drifts by up to {max(other.values()):.2f}."
        ),
        seeds=(seed,),
    )
