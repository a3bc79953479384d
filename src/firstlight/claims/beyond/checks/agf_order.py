"""The order of irreps under AGF against Li₂'s energies, for one-hot inputs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import groups
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_most
from firstlight.features import energy
from firstlight.records import Criterion
from firstlight.theories import agf


def _measure(setting: Setting) -> Measurement:
    """Ascend AGF's utility on one-hot inputs, evaluate Li₂'s energy there, and follow gradient flow."""
    names = setting.choose(quick=("Z7", "S3", "D5"), paper=("Z7", "S3", "D5", "A4", "Q8", "D7", "S4"))
    seeds = setting.seeds_or(range(setting.choose(quick=3, paper=8)))
    gaps, heights = {}, {}
    for name in names:
        group = groups.parse(name)
        task = agf.Template(group, np.eye(group.order)[0])
        M = group.order
        theta = np.random.default_rng(0).standard_normal((40, task.problem.parameters))
        nothing = task.problem.residual(np.zeros_like(theta))
        step = 0.1 / task.order[0].utility
        for _ in range(2000):
            theta /= np.linalg.norm(theta, axis=1, keepdims=True)
            theta = theta + step * task.problem.utility(theta, nothing)[1]
        theta /= np.linalg.norm(theta, axis=1, keepdims=True)
        U = task.problem.utility(theta, nothing)[0]
        u, v, _ = task.weights(theta)
        first = np.concatenate([u, v], axis=1).T
        E = np.asarray(energy(first / np.linalg.norm(first, axis=0), group))
        gaps[name] = np.abs(np.sqrt(8 * E / 27) / M**2 / U - 1)
        closed = [np.sqrt(8 * M / ((2 if c.kind == "real" else 4) * c.dim) / 27) / M**2 for c in task.order]
        heights[name] = [abs(item.utility / value - 1) for item, value in zip(task.order, closed, strict=True)]
    orders = [_first(groups.parse("S3"), seed) for seed in seeds]
    data = {"gaps": gaps, "heights": heights, "learned first": orders, "seeds": list(seeds)}
    return Measurement(data, {"groups": names, "seeds": len(seeds)}, seeds)


def _first(group: Any, seed: int) -> str:
    """Return the component of S3 of which gradient flow first learns half; '' if none."""
    task = agf.Template(group, np.eye(group.order)[0])
    theta = task.problem.initial(width=18, alpha=1e-3, seed=seed)
    end = 20 / (3 * task.order[-1].utility * float(np.linalg.norm(theta, axis=1).max()))
    times = np.concatenate([[0.0], np.geomspace(end / 2000, end, 200)])
    stop = 0.6 * float(task.template @ task.template) / 2
    run = agf.follow(task.problem, theta, times, solver="lsoda", rtol=1e-5, loss_below=stop)
    shares = np.stack([task.power(params) for params in run.params])
    half = [agf.lemmas.crossing(run.times, -column, -0.5) for column in shares.T]
    return task.components[int(np.nanargmin(half))].label if np.isfinite(half).any() else ""


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    group = groups.parse("S3")
    best = agf.Template(group, np.eye(6)[0]).order[0].label
    first = [float(label == best) for label in data["learned first"]]
    return [
        at_most(
            "U* = √(8E*/27)/M² at every local maximum of the utility",
            "largest relative distance at the ends of ascents, E by Li₂'s energy of the first layer",
            data["gaps"],
            1e-6,
            reason="ascents of 2000 steps converge geometrically; the identity is exact at a maximum",
        ),
        at_most(
            "with E* = M/2d for real and M/4d for other irreps this is AGF's U* of each irrep",
            "largest relative distance of the closed forms",
            data["heights"],
            64 * 2.0**-52 * 24,
            reason="products and singular values in float64, at most 24 terms; the factor is 64",
        ),
        above(
            "on S3 gradient flow from small weights learns first the irrep of largest E* in most draws",
            f"share of {len(first)} draws",
            float(np.mean(first)),
            0.5,
            reason="most draws are more than half of them",
            seeds=data["seeds"],
        ),
        above(
            "but not in every draw",
            f"draws of {len(first)} that learn another irrep first",
            sum(label not in ("", best) for label in data["learned first"]),
            0,
            reason="one such draw is enough",
            seeds=data["seeds"],
        ),
    ]


order_and_energy = Check(_measure, _judge)
