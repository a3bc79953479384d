"""The energy E(w) = ½‖Ỹᵀσ(Xw)‖² of independent feature learning, and its maxima for modular addition."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from firstlight import features, groups, tasks
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_most, equals, within
from firstlight.claims.li2.checks import families
from firstlight.models import activation
from firstlight.records import Criterion, CriterionForm

_ACTIVATIONS = ("quadratic", "poly(1,0.5)", "relu", "silu", "tanh")

EPS = 2.0**-52

PHASE_LEVEL = 1e-6
"""Probability that independent phases exceed the bound on their resultant."""


def _measure_gradient(setting: Setting) -> Measurement:
    """Compare the flow of eq. 7 with the automatic derivative of E, on whole and on sampled tables."""
    seeds = setting.seeds_or(range(setting.choose(quick=3, paper=15)))
    names = setting.choose(quick=("S3",), paper=("Z71", "S4", "A5"))
    with jax.enable_x64(True):
        errors = {sigma: max(_flow_error(sigma, name, seeds) for name in names) for sigma in _ACTIVATIONS}
    pairs = max(groups.parse(name).order for name in names) ** 2
    return Measurement({"errors": errors, "pairs": pairs}, {"groups": names, "activations": _ACTIVATIONS}, seeds)


def _judge_gradient(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the flow to be the gradient to rounding, for each activation."""
    limit = 64 * EPS * data["pairs"]
    reason = f"sums over {data['pairs']} pairs in float64: 64 × pairs × 2⁻⁵²"
    return [
        at_most(
            f"eq. 7 is gradient ascent on E for σ = {sigma}",
            "largest relative difference of the flow and ∇E, on the whole table and on 40 % of it",
            error,
            limit,
            reason=reason,
        )
        for sigma, error in data["errors"].items()
    ]


gradient_of_energy = Check(_measure_gradient, _judge_gradient)


def _flow_error(sigma: str, name: str, seeds: tuple[int, ...]) -> float:
    """Return the largest ‖∇E(w) − XᵀDỸỸᵀσ(Xw)‖ / ‖∇E(w)‖ over random w, on the whole table and on 40 % of it."""
    group = groups.parse(name)
    task = tasks.group_task(group)
    W = np.stack([np.random.default_rng(seed).standard_normal(2 * group.order) for seed in seeds], axis=1)
    errors = []
    for rows in (None, task.split(fraction=0.4, seed=seeds[0]).train):
        # Each node has its own energy, so the gradient of the sum contains the gradient of each.
        gradient = np.asarray(jax.grad(lambda W, rows=rows: _dense_energy(W, task, sigma, rows).sum())(W))
        flow = features.energy_gradient(W, group, sigma, rows=rows)
        errors += list(np.linalg.norm(gradient - flow, axis=0) / np.linalg.norm(gradient, axis=0))
    return float(max(errors))


def _dense_energy(W: jax.Array, task: tasks.Task, sigma: str, rows: np.ndarray | None) -> jax.Array:
    """Compute E(w) = ½‖Ỹᵀσ(Xw)‖² for every column of W by its definition, with dense X (n, 2M) and Y (n, M)."""
    chosen = slice(None) if rows is None else rows
    X, Y = task.inputs.dense()[chosen], np.eye(task.outputs)[task.targets[chosen]]
    return 0.5 * jnp.sum(((Y - Y.mean(0)).T @ activation(sigma)(X @ W)) ** 2, axis=0)


def _measure_modular(setting: Setting) -> Measurement:
    """Ascend E on the unit sphere from random starts, over the full table of Z_M."""
    seeds = setting.seeds_or((0, 1))
    sizes = setting.choose(quick=(5, 7, 8, 9, 12), paper=(5, 7, 8, 9, 12, 15, 16, 23, 24, 31))
    starts = setting.choose(quick=24, paper=128)
    energy: dict[str, list[float]] = {"odd": [], "even": [], "half": []}
    data: dict[str, Any] = {"unconverged": 0, "impurity": 0.0, "outside": []}
    turns = []
    for i, M in enumerate(sizes):
        setting.progress(i / len(sizes), f"Z{M}")
        ends = families.ascend(groups.cyclic(M), starts, seeds)
        data["unconverged"] += int((~ends.converged).sum())
        data["impurity"] = max(data["impurity"], float(ends.impurity.max()))
        # The non-trivial components of Z_M are the frequencies |k| = 1, …, ⌊M/2⌋ in order.
        frequency = ends.family + 1
        half = 2 * frequency == M
        energy["half"] += list(ends.energy[half] / M)
        energy["even" if M % 2 == 0 else "odd"] += list(ends.energy[~half] / M)
        turns += [_turn(ends.W[:, j], M, int(k)) for j, k in enumerate(frequency) if 2 * k != M]
        maxima = features.maxima(ends.group)
        data["outside"] += [
            families.outside_curvature(ends.W[:, j], maxima[k]) for k, j in _first_ends(ends.family).items()
        ]
    data["energies"] = {kind: [min(values), max(values)] for kind, values in energy.items()}
    data |= {"turns": len(turns), "resultant": float(abs(np.mean(turns)))}
    return Measurement(data, {"M": sizes, "starts": starts * len(seeds)}, seeds)


def _first_ends(family: np.ndarray) -> dict[int, int]:
    """Return the first end in every component that was reached."""
    return {int(k): int(np.flatnonzero(family == k)[0]) for k in np.unique(family)}


def _turn(w: np.ndarray, M: int, k: int) -> complex:
    """Return exp(2i(φ_a + φ_b)) for the phases of both halves at frequency k: 1 for w = [u; ±Pu]."""
    a, b = (np.fft.fft(half)[k] for half in (w[:M], w[M:]))
    return complex((a * b / abs(a * b)) ** 2)


def _judge_modular(data: Mapping[str, Any]) -> list[Criterion]:
    """Compare the energies with M/16 and M/8 as printed, and with M/4 and M/2."""
    E, reason = data["energies"], families.ASCENT_REASON
    independent = float(np.sqrt(-np.log(PHASE_LEVEL) / data["turns"]))
    forms: tuple[tuple[CriterionForm, int, int], ...] = (("printed", 16, 8), ("corrected", 4, 2))
    energies = [
        row
        for form, pair, half in forms
        for row in (
            within(f"E* = M/{pair} for odd M", "E*/M at the ends", E["odd"], 1 / pair, 1e-9, reason=reason, form=form),
            within(
                f"for even M the frequency M/2 has E* = M/{half}",
                "E*/M at the ends with this frequency",
                E["half"],
                1 / half,
                1e-9,
                reason=reason,
                form=form,
            ),
        )
    ]
    return [
        equals("ascents converge", "ascents that did not", data["unconverged"], 0, form="precondition"),
        at_most(
            "all local maxima are single frequency",
            "largest share of ‖w‖² in other frequencies",
            data["impurity"],
            families.ASCENT,
            reason=reason,
        ),
        *energies,
        within(
            "for even M the other frequencies have E* = M/4",
            "E*/M at the ends with these frequencies",
            E["even"],
            1 / 4,
            1e-9,
            reason=reason,
            form="corrected",
        ),
        within(
            "b = ±Pa: the phases of a and b add up to 0 or π",
            "resultant |mean exp 2i(φ_a + φ_b)| over the ends",
            data["resultant"],
            1.0,
            1e-8,
            reason="ascents stop at a relative gradient of 1e-9; the factor is 10",
            form="printed",
        ),
        at_most(
            "the phases of a and b are independent",
            "resultant |mean exp 2i(φ_a + φ_b)|, 1 for [u; ±Pu]",
            data["resultant"],
            independent,
            reason=f"√(ln 10⁶/N) for N = {data['turns']} ends: exceeded with probability 10⁻⁶ by independent phases",
            form="corrected",
        ),
        at_most(
            "different local maxima are disconnected",
            "largest curvature towards other frequencies, over w·∇E",
            data["outside"],
            -0.5,
            reason="theory gives −1; any negative value separates the maxima",
        ),
    ]


maxima_for_modular_addition = Check(_measure_modular, _judge_modular)
