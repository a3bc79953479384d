"""The energy E(w) = ½‖Ỹᵀσ(Xw)‖² of independent feature learning, and its maxima for modular addition."""

import jax
import jax.numpy as jnp
import numpy as np

from firstlight import features, groups, tasks
from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.li2.tolerances import ENERGY_ASCENT, ENERGY_GRADIENT
from firstlight.models import activation

_ACTIVATIONS = ("quadratic", "poly(1,0.5)", "relu", "silu", "tanh")


def gradient_of_energy(setting: Setting) -> Outcome:
    """Compare the flow of eq. 7 with the automatic derivative of E, on whole and on sampled tables."""
    seeds = setting.seeds_or(range(setting.choose(quick=3, paper=15)))
    names = setting.choose(quick=("S3",), paper=("Z71", "S4", "A5"))
    with jax.enable_x64(True):
        worst = {sigma: max(_flow_error(sigma, name, seeds) for name in names) for sigma in _ACTIVATIONS}
    holds = max(worst.values()) <= ENERGY_GRADIENT
    return Outcome("holds" if holds else "fails", worst, dict.fromkeys(worst, 0.0), seeds=seeds)


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


def maxima_for_modular_addition(setting: Setting) -> Outcome:
    """Ascend E on the unit sphere from random starts, over the full table of Z_M."""
    seeds = setting.seeds_or((0,))
    sizes = setting.choose(quick=(5, 7, 8, 9, 12), paper=(5, 7, 8, 9, 12, 15, 16, 23, 24, 31))
    starts = setting.choose(quick=32, paper=128)
    measured, expected, misfit, impurity = {}, {}, 0.0, 0.0
    for i, M in enumerate(sizes):
        setting.progress(i / len(sizes), f"Z{M}")
        energies, frequencies, shares = _ascend(M, starts, seeds)
        predicted = np.where(2 * frequencies == M, M / 2, M / 4)
        misfit = max(misfit, float(np.abs(energies / predicted - 1).max()))
        impurity = max(impurity, float(1 - shares.min()))
        levels = [np.median(energies[predicted == level]) for level in np.unique(predicted)]
        measured[f"Z{M}"], expected[f"Z{M}"] = levels, np.unique(predicted)
    printed = measured["Z7"][0] / (7 / 16)
    return Outcome(
        "holds-as-corrected" if max(misfit, impurity) <= ENERGY_ASCENT and printed > 1.5 else "fails",
        {"energy": measured, "largest relative misfit": misfit, "largest share in other frequencies": impurity},
        {"energy": expected, "largest relative misfit": 0.0, "largest share in other frequencies": 0.0},
        evidence=f"Z7: ascents reach {measured['Z7'][0]:.4f} = M/4, {printed:.3g} times the printed M/16 = 0.4375.",
        seeds=seeds,
    )


def _ascend(M: int, starts: int, seeds: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the energy at each ascent's end, the frequency |k| of the maximum, its share of ‖w‖²; each (starts,)."""
    group = groups.cyclic(M)
    W = np.concatenate([features.random_starts(group, starts, seed) for seed in seeds], axis=1)
    W = features.ascend(features.GroupEnergy(group), W).W
    g, h = np.divmod(np.arange(M * M), M)
    Y = np.eye(M)[group.table[g, h]] - 1 / M
    energies = 0.5 * ((Y.T @ (W[g] + W[M + h]) ** 2) ** 2).sum(0)
    content = features.irrep_content(W, group)
    # The real components of Z_M are the frequencies |k| = 0, 1, …, ⌊M/2⌋ in order.
    return energies, content.argmax(1), features.purity(content)
