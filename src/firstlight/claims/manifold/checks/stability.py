"""Section 4: training with weight decay stays near the zero-loss set and moves along it."""

import functools
from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from firstlight import _canonical as canonical
from firstlight import flow
from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.manifold.checks._networks import tanh_network
from firstlight.claims.manifold.tolerances import (
    ANGLE_RATIO,
    DISTANCE_LAW,
    LOSS_DECREASE,
    SAME_DISTANCE,
    TANGENTIAL_SHARE,
)
from firstlight.records import figure
from firstlight.theories import manifold


def _paths(setting: Setting) -> Iterator[tuple[int, manifold.ZeroLossSet, float, flow.Flow]]:
    """Yield, for each seed and λ: seed, zero-loss set, λ, and the trajectory from a point on the set."""
    lams = setting.choose(quick=(4e-3, 1e-3), paper=(1.6e-2, 4e-3, 1e-3, 2.5e-4))
    for seed in setting.seeds_or(range(setting.choose(quick=1, paper=5))):
        for lam in lams:
            setting.progress(0.5, f"seed {seed}, λ = {lam:g}")
            yield seed, tanh_network(seed)[0], lam, _path(seed, lam)


@functools.lru_cache(maxsize=32)
def _path(seed: int, lam: float) -> flow.Flow:
    """Solve a trajectory. Cached, because two claims use it."""
    zero_set, model = tanh_network(seed)
    # From the end of the fast transient to a nearly constant norm, in units of 1/λ.
    times = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 12)]) / lam
    start = manifold.project(zero_set, model).theta
    return manifold.decay_flow(zero_set, start, lam, times, solver="tsit5", rtol=1e-8, atol=1e-10)


def stability(setting: Setting) -> Outcome:
    """Compare distances along trajectories of several λ with λ‖(JᵀJ)⁺θ‖ and with each other."""
    sup, misfit, seeds, series = {}, {}, [], []
    for seed, zero_set, lam, path in _paths(setting):
        seeds.append(seed)
        thetas = path.params[1:]
        nearest = [manifold.project(zero_set, theta) for theta in thetas]
        far = np.array([point.distance for point in nearest])
        law = np.array([manifold.lemmas.predicted_distance(zero_set, point.theta, lam) for point in nearest])
        late = path.times[1:] * lam >= 0.05
        sup.setdefault(lam, []).append(far.max())
        misfit.setdefault(lam, []).append(float(np.abs(far / law - 1)[late].max()))
        if seed == seeds[0]:
            measured = figure.Series(f"λ = {lam:g}", path.times[1:] * lam, far)
            series += [
                measured,
                figure.Series(f"law, λ = {lam:g}", measured.x, law, style="dashed", like=measured.label),
            ]
    lams = sorted(sup)
    slope = float(np.polyfit(np.log(lams), np.log([np.mean(sup[lam]) for lam in lams]), 1)[0])
    worst = {f"{lam:g}": max(misfit[lam]) for lam in lams}
    measured = {
        "largest distance": {f"{lam:g}": max(sup[lam]) for lam in lams},
        "order of the distance in λ": slope,
        "largest misfit of the law": worst,
    }
    holds = abs(slope - 1) <= 0.1 and worst[f"{lams[0]:g}"] <= DISTANCE_LAW
    shown = figure.curves(
        series,
        x=figure.Axis("λt", scale="log"),
        y=figure.Axis("distance to the zero-loss set", scale="log"),
        title="Weight decay keeps training at a distance of order λ",
        caption=f"Seed {seeds[0]}; dashed: λ‖(JᵀJ)⁺θ‖, which holds after a fast transient.",
    )
    return Outcome(
        "holds" if holds else "fails",
        measured,
        {"order of the distance in λ": 1.0, "largest misfit of the law": 0.0},
        evidence="A sharper law holds: after the transient the distance is λ‖(JᵀJ)⁺θ‖ up to higher orders of λ.",
        figures=(shown,),
        seeds=tuple(dict.fromkeys(seeds)),
    )


def loss_bound(setting: Setting) -> Outcome:
    """Measure the largest 𝓛 along trajectories that start on the zero-loss set, in units of λ‖θ(0)‖²."""
    worst, rises, seeds = 0.0, -np.inf, []
    for seed, _, lam, path in _paths(setting):
        seeds.append(seed)
        norms = np.sum(path.params**2, axis=1)
        losses = path.loss - lam * norms
        worst = max(worst, float(losses.max() / (lam * norms[0])))
        rises = max(rises, float(np.diff(path.loss).max() / path.loss[0]))
    measured = {"largest 𝓛 over λ‖θ(0)‖²": worst, "largest rise of 𝓛_λ, relative": rises}
    return Outcome(
        "holds" if worst <= 1 and rises <= LOSS_DECREASE else "fails",
        measured,
        {"largest 𝓛 over λ‖θ(0)‖²": "at most 1", "largest rise of 𝓛_λ, relative": "at most 0"},
        seeds=tuple(dict.fromkeys(seeds)),
    )


def orthogonality(setting: Setting) -> Outcome:
    """Measure cos∠(∇𝓛, tangent)/dist at random normal displacements, and in balls that do not contain projections."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=5)))
    distances, directions = (1e-1, 1e-2, 1e-3, 1e-4), setting.choose(quick=6, paper=40)
    drift, constants, outside, touching = 0.0, [], [], []
    for i, seed in enumerate(seeds):
        setting.progress(i / len(seeds), f"seed {seed}")
        zero_set, model = tanh_network(seed)
        phi = manifold.project(zero_set, model).theta
        at = manifold.Tangent(zero_set, phi)
        rng = np.random.default_rng(seed)
        normals = [at.normal(rng.standard_normal(len(phi))) for _ in range(directions)]
        ratios = np.zeros((directions, len(distances)))
        for j, alpha in enumerate(normals):
            for k, x in enumerate(distances):
                g = zero_set.gradient(phi + x * alpha / np.linalg.norm(alpha))
                ratios[j, k] = np.linalg.norm(at.tangential(g)) / np.linalg.norm(g) / x
        sups = ratios.max(0)
        constants.append(sups[-1])
        # Compare the supremum over directions at each distance with its limit.
        drift = max(drift, float(np.abs(sups[1:] / sups[-1] - 1).max()), float(sups[0] / sups[-1] - 1))
        share, sups = _in_a_ball(zero_set, phi, normals[0] / np.linalg.norm(normals[0]), rng, directions // 3)
        outside.append(share)
        touching.append(float(np.abs(sups / sups[-1] - 1).max()))
    measured = {
        "C at distance 1e-4": {str(seed): c for seed, c in zip(seeds, constants, strict=True)},
        "largest drift of C down from distance 1e-1": drift,
        "balls that touch 𝒵: least share of points that project outside": min(outside),
        "balls that touch 𝒵: largest drift of C down from distance 1e-4": max(touching),
    }
    bounded = max(drift, *touching) <= ANGLE_RATIO and bool(np.isfinite(constants).all())
    return Outcome(
        "holds" if bounded and min(outside) > 0.5 else "fails",
        measured,
        {name: f"at most {ANGLE_RATIO}" for name in measured if "drift" in name},
        evidence=(
            "The printed condition proj(S ∩ 𝒵) ⊆ S holds for every S, because points of 𝒵 are their own projections. "
            "The proof assumes proj(θ) ∈ S for θ ∈ S, which does not follow from it. No condition is needed: points of "
            "the compact S with dist → 0 accumulate at S ∩ 𝒵, so their projections lie in a compact neighbourhood of "
            "S ∩ 𝒵 in 𝒵. This neighbourhood is regular, because singular points form a closed set. The bound also "
            f"holds in balls that touch 𝒵, where at least {min(outside):.0%} of the points project outside the ball."
        ),
        seeds=seeds,
    )


def _in_a_ball(
    zero_set: manifold.ZeroLossSet, phi: np.ndarray, normal: np.ndarray, rng: np.random.Generator, directions: int
) -> tuple[float, np.ndarray]:
    """Return, for a ball that touches 𝒵 at φ, the share of points that project outside and sup cos/dist by height."""
    radius, outside, ratios = 0.1, [], []
    centre = phi + radius * normal
    for _ in range(directions):
        across = rng.standard_normal(len(phi))
        across -= (across @ normal) * normal
        across /= np.linalg.norm(across)
        for height in (1e-6, 1e-7, 1e-8):
            # Inside the ball, and so far from its axis that the distance is of order √height.
            theta = phi + height * normal + 0.9 * np.sqrt(height * (2 * radius - height)) * across
            cosine, far = manifold.lemmas.gradient_angle(zero_set, theta)
            ratios.append(cosine / far)
            outside.append(np.linalg.norm(manifold.project(zero_set, theta).theta - centre) > radius)
    return float(np.mean(outside)), np.reshape(ratios, (directions, -1)).max(0)


def tangent_space(setting: Setting) -> Outcome:
    """Compare the null space of the Hessian of 𝓛, by automatic differentiation, with the null space of J on 𝒵."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=10)))
    hessian = eqx.filter_jit(lambda F, theta: jax.hessian(lambda t: jnp.sum(F(t) ** 2))(theta))
    error, extra, curve = 0.0, 0, 0.0
    for seed in seeds:
        zero_set, model = tanh_network(seed)
        phi = manifold.project(zero_set, model).theta
        with jax.enable_x64(True):
            H = np.asarray(hessian(zero_set.equations, jnp.asarray(phi)))
        values, vectors = np.linalg.eigh(H)
        flat = canonical.basis(vectors[:, values < 1e-9 * values.max()])
        extra = max(extra, abs(flat.shape[1] - (zero_set.parameters - zero_set.constraints)))
        at = manifold.Tangent(zero_set, phi)
        error = max(error, max(float(np.linalg.norm(at.normal(v))) for v in flat.T))
        # A tangent is the direction of a curve on 𝒵: a step along it leaves 𝒵 by a distance of second order.
        # The projection of a draw does not depend on the basis of the null space that `eigh` returns.
        v = flat @ (flat.T @ np.random.default_rng(seed).standard_normal(len(phi)))
        v /= np.linalg.norm(v)
        far = [manifold.distance(zero_set, phi + x * v) for x in (1e-2, 1e-3)]
        curve = max(curve, abs(np.log10(far[0] / far[1]) - 2))
    measured = {
        "normal part of null vectors of the Hessian": error,
        "null vectors missing or left over": extra,
        "order at which a tangent leaves 𝒵, less 2": curve,
    }
    return Outcome(
        "holds" if error <= 1e-6 and extra == 0 and curve <= 0.05 else "fails",
        measured,
        dict.fromkeys(measured, 0.0),
        evidence="The printed proof says km ≥ d, but its Theorem B.2 needs d ≥ km.",
        seeds=seeds,
    )


def normal_displacement(setting: Setting) -> Outcome:
    """Measure the tangential part of θ − proj(θ), with a projection by an independent minimiser."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=8)))
    worst, disagreement = 0.0, 0.0
    for seed in seeds:
        zero_set, model = tanh_network(seed)
        theta = zero_set.vector(model)
        nearest = manifold.project(zero_set, theta)
        constraint = {"type": "eq", "fun": zero_set.evaluate, "jac": zero_set.jacobian}
        other = minimize(
            lambda p, t=theta: float(np.sum((p - t) ** 2)),
            theta,
            jac=lambda p, t=theta: 2 * (p - t),
            constraints=[constraint],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        away = theta - other.x
        along = manifold.Tangent(zero_set, other.x).tangential(away)
        worst = max(worst, float(np.linalg.norm(along) / np.linalg.norm(away)))
        disagreement = max(disagreement, abs(nearest.distance / np.linalg.norm(away) - 1))
    measured = {
        "tangential share of θ − proj(θ)": worst,
        "distance against that of another minimiser": disagreement,
    }
    return Outcome(
        "holds" if worst <= TANGENTIAL_SHARE and disagreement <= SAME_DISTANCE else "fails",
        measured,
        dict.fromkeys(measured, 0.0),
        seeds=seeds,
    )
