"""A thousand ascents of Li₂'s energy, and a census with Hessians, against gradient ascent from one start at a time."""

import time

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._timing import result
from firstlight import features, groups

__all__ = ["li2_ascents_z101_seconds", "li2_census_s5_seconds"]

STEPS = 200


def _one_by_one(group: groups.Group, starts: int) -> float:
    """Return seconds per start of the obvious code: compiled jax.grad of E over all pairs, one start at a time."""
    M = group.order
    g, h = np.divmod(np.arange(M * M), M)
    labels = jnp.asarray(group.table[g, h])

    def E(w):
        z = jax.ops.segment_sum((w[g] + w[M + h]) ** 2, labels, M)
        return 0.5 * jnp.sum((z - z.mean()) ** 2)

    @jax.jit
    def step(w):
        gradient = jax.grad(E)(w)
        w = w + gradient / (w @ gradient)
        return w / jnp.linalg.norm(w)

    with jax.enable_x64(True):
        W = features.random_starts(group, starts, seed=0)
        step(W[:, 0]).block_until_ready()
        start = time.perf_counter()
        for w in W.T:
            for _ in range(STEPS):
                w = step(w)
            w.block_until_ready()
    return (time.perf_counter() - start) / starts


def li2_ascents_z101_seconds() -> dict:
    """1000 ascents of E over the whole table of Z101 from random starts, until every ascent converges."""
    group = groups.cyclic(101)
    group.irreps()
    E, W = features.GroupEnergy(group), features.random_starts(group, 1000, seed=0)
    best, end = float("inf"), features.ascend(E, W)
    for _ in range(3):
        start = time.perf_counter()
        end = features.ascend(E, W)
        best = min(best, time.perf_counter() - start)
    missed = float(np.abs(end.energy / (101 / 4) - 1).max())
    alone = 1000 * _one_by_one(group, 2)
    name = f"jax.grad, one start at a time, {STEPS} steps, seconds for 1000"
    rested = int(end.converged.sum())
    return result(best, "s", "lower", 5.0, (name, alone), speedup=alone / best, rested=rested, missed=missed)


def li2_census_s5_seconds() -> dict:
    """A census of S5: 300 ascents, the component and energy of each, the Hessian at every end point."""
    group = groups.symmetric(5)
    group.irreps()
    start = time.perf_counter()
    table = features.census(group, starts=300, seed=0)
    took = time.perf_counter() - start
    alone = 300 * _one_by_one(group, 2)
    name = f"jax.grad, one start at a time, {STEPS} steps, no Hessian, seconds for 300"
    flat = int((table["flat"] == table["predicted_flat"]).sum())
    return result(took, "s", "lower", 60.0, (name, alone), speedup=alone / took, as_predicted=flat)
