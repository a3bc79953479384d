"""Section 4: training with weight decay stays near the zero-loss set and moves along it."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from firstlight import _canonical as canonical
from firstlight import flow
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, below, equals, within
from firstlight.claims.manifold.checks._networks import tanh_network
from firstlight.records import Criterion, figure
from firstlight.theories import manifold

PROVED_POWER = 0.5
"""Least power of λ that the proof of Theorem 4.9 gives for the distance: 𝓛 ≤ λ‖θ(0)‖² grows as its square."""
LAW_ORDER = 0.25
"""How far the power of λ in the misfit of the distance law may be from 1, its next order."""
PROVED_CONSTANT = 2.0
"""The constant of Theorem 4.13 in its proof, over the limit of the ratio of angle and distance."""
ANGLE_POWER = 0.05
"""How far the power of the distance in the angle may be from 1, between distances of 1e-2 and 1e-4."""
LEAVING_ORDER = 0.05
"""How far the power of the step, in the distance by which a tangent leaves the set, may be from 2."""
SOLVER = 1e-8
"""Relative tolerance of the solver, per step."""
SETTLED = 0.05
"""Largest relative change of the distance over the last doubling of time."""
ROUNDING = 64.0
"""Factor of rounding errors."""
STOPPED = 1e-14
"""Change of the squared distance at which sequential quadratic programming stops."""


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
    # From the end of the fast transient to a constant norm, in units of 1/λ.
    times = np.concatenate([[0.0], np.geomspace(1e-3, 20.0, 16)]) / lam
    start = manifold.project(zero_set, model).theta
    path = manifold.decay_flow(zero_set, start, lam, times, solver="kvaerno5", rtol=SOLVER, atol=SOLVER / 100)
    if len(path.times) < len(times):
        raise RuntimeError(f"the trajectory of seed {seed} at λ = {lam:g} must reach λt = 20; it ended: {path.status}")
    return path


def _measure_distances(setting: Setting) -> Measurement:
    """Project trajectories of several λ onto the zero-loss set; compare the distances with λ‖(JᵀJ)⁺θ‖."""
    sup: dict[int, dict[float, float]] = {}
    misfit: dict[int, dict[float, float]] = {}
    changes: dict[int, dict[float, float]] = {}
    series: list[figure.Series] = []
    for seed, zero_set, lam, path in _paths(setting):
        nearest = [manifold.project(zero_set, theta) for theta in path.params[1:]]
        far = np.array([point.distance for point in nearest])
        law = np.array([manifold.lemmas.predicted_distance(zero_set, point.theta, lam) for point in nearest])
        late = path.times[1:] * lam >= 0.05
        sup.setdefault(seed, {})[lam] = far.max()
        changes.setdefault(seed, {})[lam] = abs(far[-1] / far[-2] - 1)
        misfit.setdefault(seed, {})[lam] = np.abs(far / law - 1)[late].max()
        if len(sup) == 1:
            drawn = figure.Series(f"λ = {lam:g}", path.times[1:] * lam, far)
            series += [drawn, figure.Series(f"law, λ = {lam:g}", drawn.x, law, style="dashed", like=drawn.label)]
    lams = sorted(sup[next(iter(sup))])
    data = {
        "λ": lams,
        "largest distance": [[by_lam[lam] for lam in lams] for by_lam in sup.values()],
        "last change of the distance": [[by_lam[lam] for lam in lams] for by_lam in changes.values()],
        "misfit of the law": [[by_lam[lam] for lam in lams] for by_lam in misfit.values()],
    }
    shown = figure.curves(
        series,
        x=figure.Axis("λt", scale="log"),
        y=figure.Axis("distance to the zero-loss set", scale="log"),
        title="Weight decay keeps training at a distance of order λ",
        caption=f"Seed {next(iter(sup))}; dashed: λ‖(JᵀJ)⁺θ‖, which holds after a fast transient.",
    )
    note = "A sharper law than the printed one holds: after the transient the distance is λ‖(JᵀJ)⁺θ‖ + O(λ²)."
    return Measurement(data, _NETWORK | {"weight decay": lams}, tuple(sup), (shown,), note)


_NETWORK = {"network": "tanh, 3 inputs, 8 hidden units, 1 output", "samples": 5, "optimizer": "gradient flow"}


def _powers(x: Any, y: Any) -> np.ndarray:
    """Return the least-squares slope of log y against log x for each row of y."""
    u = np.log(np.asarray(x, float))
    return (np.log(np.asarray(y, float)) @ (u - u.mean())) / np.sum((u - u.mean()) ** 2)


def _judge_distances(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the power of λ in the distances, and the sharper law by the power of its misfit."""
    return [
        at_least(
            "sup_t dist(θ(t)) becomes smaller than any ε as λ → 0",
            "power of λ in the largest distance, for each seed",
            _powers(data["λ"], data["largest distance"]),
            PROVED_POWER,
            reason="the proof bounds 𝓛, which grows as the square of the distance, by λ‖θ(0)‖²",
        ),
        at_most(
            "the supremum is over all t ≥ 0",
            "relative change of the distance over the last doubling of t, up to λt = 20",
            data["last change of the distance"],
            SETTLED,
            reason="a distance that has settled to 5 % has passed its supremum, or is as near to it",
            form="precondition",
        ),
        within(
            "sharper than printed: dist = λ‖(JᵀJ)⁺θ‖ + O(λ²)",
            "power of λ in the relative misfit of the law, λt ≥ 0.05, between the two smallest λ, for each seed",
            _powers(data["λ"][:2], np.array(data["misfit of the law"], float)[:, :2]),
            1.0,
            LAW_ORDER,
            reason="the misfit is of the next order, power 1; a law that is wrong by a factor has power 0",
        ),
    ]


stability = Check(_measure_distances, _judge_distances)


def _measure_losses(setting: Setting) -> Measurement:
    """Record 𝓛 and 𝓛_λ along trajectories that start on the zero-loss set."""
    largest, rises, seeds, lams = [], [], [], []
    for seed, _, lam, path in _paths(setting):
        norms = np.sum(path.params**2, axis=1)
        losses = path.loss - lam * norms
        largest.append(float(losses.max() / (lam * norms[0])))
        rises.append(float(np.diff(path.loss).max() / path.loss[0]))
        seeds.append(seed)
        lams.append(lam)
    data = {"largest 𝓛 over λ‖θ(0)‖²": largest, "largest rise of 𝓛_λ over 𝓛_λ(0)": rises}
    return Measurement(data, _NETWORK | {"weight decay": sorted(set(lams))}, tuple(dict.fromkeys(seeds)))


def _judge_losses(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the bound of the lemma, and its reason."""
    return [
        below(
            "sup_t 𝓛(θ(t)) < ε for λ < ε/‖θ(0)‖²",
            "largest 𝓛 over λ‖θ(0)‖², for each seed and λ",
            data["largest 𝓛 over λ‖θ(0)‖²"],
            1.0,
            reason="the bound of the lemma",
        ),
        at_most(
            "gradient flow never increases 𝓛_λ",
            "largest change of 𝓛_λ from one record to the next over 𝓛_λ(0)",
            data["largest rise of 𝓛_λ over 𝓛_λ(0)"],
            ROUNDING * SOLVER,
            reason="the solver's relative tolerance a step is 1e-8; the factor is 64",
        ),
    ]


loss_bound = Check(_measure_losses, _judge_losses)


def _measure_angles(setting: Setting) -> Measurement:
    """Measure cos∠(∇𝓛, tangent)/dist at random normal displacements, and in balls that do not contain projections."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=5)))
    distances, directions = (1e-1, 1e-2, 1e-3, 1e-4), setting.choose(quick=6, paper=40)
    largest, outside, touching = [], [], []
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
        largest.append(ratios.max(0))
        share, sups = _in_a_ball(zero_set, phi, normals[0] / np.linalg.norm(normals[0]), rng, directions // 3)
        outside.append(share)
        touching.append(sups)
    data = {
        "distances": distances,
        "largest angle over distance": np.array(largest),
        "share of a ball that projects outside": outside,
        "largest angle over distance in a ball": np.array(touching),
    }
    note = (
        "The printed condition proj(S ∩ 𝒵) ⊆ S holds for every S, because points of 𝒵 are their own projections. "
        "The proof assumes proj(θ) ∈ S for θ ∈ S, which does not follow from it. No condition is needed: points of "
        "the compact S with dist → 0 accumulate at S ∩ 𝒵, so their projections lie in a compact neighbourhood of "
        "S ∩ 𝒵 in 𝒵. This neighbourhood is regular, because singular points form a closed set."
    )
    return Measurement(data, _NETWORK | {"directions": directions}, seeds, note=note)


def _judge_angles(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge that the sine of the gradient's angle to the normal space falls in proportion to the distance."""
    ratios, distances = np.array(data["largest angle over distance"], float), np.array(data["distances"], float)
    ball = np.array(data["largest angle over distance in a ball"], float)
    return [
        at_most(
            "|vᵀ∇𝓛|/(‖v‖‖∇𝓛‖) < C·dist with one C for all distances below x₀",
            "largest cosine over distance, at distances 1e-1 to 1e-3, over its value at 1e-4, for each seed",
            ratios[:, :-1] / ratios[:, -1:],
            PROVED_CONSTANT,
            reason="the proof's C is twice the limit of the ratio",
        ),
        within(
            "the cosine falls in proportion to the distance",
            "power of the distance in the largest cosine, from 1e-2 to 1e-4, for each seed",
            _powers(distances[1:], ratios[:, 1:] * distances[1:]),
            1.0,
            ANGLE_POWER,
            reason="the ratio changes by a few times the distance, 1e-2; over two decades this moves the power by 0.02",
        ),
        above(
            "sets S from which points project outside are tested as well",
            "least share of the points of a ball touching 𝒵 that project outside it",
            data["share of a ball that projects outside"],
            0.5,
            form="precondition",
            reason="most points of the ball",
        ),
        at_most(
            "the bound holds in sets S that do not contain the projections of their points",
            "in balls that touch 𝒵: largest cosine over distance, over its value nearest to 𝒵",
            ball[:, :-1] / ball[:, -1:],
            PROVED_CONSTANT,
            reason="the proof's C is twice the limit of the ratio",
        ),
    ]


orthogonality = Check(_measure_angles, _judge_angles)


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


def _measure_tangents(setting: Setting) -> Measurement:
    """Compare the null space of the Hessian of 𝓛, by automatic differentiation, with the null space of J on 𝒵."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=10)))
    hessian = eqx.filter_jit(lambda F, theta: jax.hessian(lambda t: jnp.sum(F(t) ** 2))(theta))
    parts, extra, orders = [], [], []
    for seed in seeds:
        zero_set, model = tanh_network(seed)
        phi = manifold.project(zero_set, model).theta
        with jax.enable_x64(True):
            H = np.asarray(hessian(zero_set.equations, jnp.asarray(phi)))
        values, vectors = np.linalg.eigh(H)
        null = values < 1e-9 * values.max()
        flat = canonical.basis(vectors[:, null])
        extra.append(flat.shape[1] - (zero_set.parameters - zero_set.constraints))
        at = manifold.Tangent(zero_set, phi)
        # Rounding and the residual of φ perturb H; eigenvectors move by the perturbation over the gap.
        moved = np.finfo(float).eps * values.max() + float(np.linalg.norm(zero_set.evaluate(phi)))
        parts.append(max(float(np.linalg.norm(at.normal(v))) for v in flat.T) * values[~null].min() / moved)
        # A tangent is the direction of a curve on 𝒵: a step along it leaves 𝒵 by a distance of second order.
        # The projection of a draw does not depend on the basis of the null space that `eigh` returns.
        v = flat @ (flat.T @ np.random.default_rng(seed).standard_normal(len(phi)))
        v /= np.linalg.norm(v)
        far = [manifold.distance(zero_set, phi + x * v) for x in (1e-2, 1e-3)]
        orders.append(float(np.log10(far[0] / far[1])))
    data = {
        "normal part of null vectors over rounding": parts,
        "null vectors left over": extra,
        "order at which a tangent leaves": orders,
    }
    note = "The printed proof says km ≥ d, but its Theorem B.2 needs d ≥ km."
    return Measurement(data, _NETWORK, seeds, note=note)


def _judge_tangents(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge both inclusions: null vectors are tangents, and there are as many of them."""
    return [
        at_most(
            "∇²𝓛(θ)v = 0 implies v ∈ 𝒯",
            "normal part of unit null vectors of the Hessian, over (2⁻⁵²‖∇²𝓛‖ + ‖𝓕(φ) − y‖)/gap, for each seed",
            data["normal part of null vectors over rounding"],
            ROUNDING,
            reason="eigenvectors move by the perturbation over the gap to the other eigenvalues; the factor is 64",
        ),
        equals(
            "v ∈ 𝒯 implies ∇²𝓛(θ)v = 0",
            "largest difference between the dimensions of the null space and of the tangent space",
            max(map(abs, data["null vectors left over"])),
            0,
        ),
        within(
            "tangents are available directions",
            "power of the step in the distance from 𝒵 after a step along a null vector, for each seed",
            data["order at which a tangent leaves"],
            2.0,
            LEAVING_ORDER,
            reason="the third order changes the distance by a few times the step, 1e-2, and the power by 0.02",
        ),
    ]


tangent_space = Check(_measure_tangents, _judge_tangents)


def _measure_displacements(setting: Setting) -> Measurement:
    """Measure the tangential part of θ − proj(θ), with a projection by an independent minimiser."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=8)))
    along, differences, distances = [], [], []
    for seed in seeds:
        zero_set, model = tanh_network(seed)
        theta = zero_set.vector(model)
        constraint = {"type": "eq", "fun": zero_set.evaluate, "jac": zero_set.jacobian}
        other = minimize(
            lambda p, t=theta: float(np.sum((p - t) ** 2)),
            theta,
            jac=lambda p, t=theta: 2 * (p - t),
            constraints=[constraint],
            method="SLSQP",
            options={"ftol": STOPPED, "maxiter": 500},
        )
        away = theta - other.x
        distances.append(float(np.linalg.norm(away)))
        along.append(float(np.linalg.norm(manifold.Tangent(zero_set, other.x).tangential(away))))
        differences.append(abs(manifold.project(zero_set, theta).distance - distances[-1]))
    data = {
        "tangential part": along,
        "distance": distances,
        "difference of two minimisers": differences,
    }
    return Measurement(data, _NETWORK | {"points": "random parameters, one for each seed"}, seeds)


def _judge_displacements(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge that the displacement has no tangential part, relative to its length."""
    distances = np.array(data["distance"], float)
    return [
        at_most(
            "two minimisers find the same projection",
            "difference of their distances, squared distances stopped at 1e-14, for each seed",
            data["difference of two minimisers"],
            ROUNDING * STOPPED**0.5,
            reason="the minimiser stops when the squared distance changes by 1e-14; its error is the root; times 64",
            form="precondition",
        ),
        at_most(
            "θ − proj(θ) lies in the normal space at proj(θ)",
            "tangential part of θ − proj(θ) over its length, for each seed",
            np.array(data["tangential part"], float) / distances,
            ROUNDING * STOPPED**0.5,
            reason="the minimiser stops when the squared distance changes by 1e-14; its error is the root; times 64",
        ),
    ]


normal_displacement = Check(_measure_displacements, _judge_displacements)
