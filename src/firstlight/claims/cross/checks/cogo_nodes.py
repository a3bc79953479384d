"""Nodes per frequency of crafted networks, of trained networks, and of reconstruction from generic maxima."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import equals, within
from firstlight.claims.cogo.checks._train import read, train
from firstlight.claims.cogo.checks._zero import zero_loss
from firstlight.features import maxima
from firstlight.groups import Group, cyclic
from firstlight.records import Criterion, figure
from firstlight.theories.cogo import craft, table_loss
from firstlight.theories.li2 import nodes_needed

REACHED = 1e-20
"""Relative squared residual below which a target counts as reached: (2⁻⁵² × condition 1e4 × 64)², rounded up."""
_KINDS = ("F6", "F4+repair", "F4+F6")


def _measure(setting: Setting) -> Measurement:
    """Count nodes per pair ±k of crafted and trained networks, and of random maxima of the energy with the best V."""
    seeds = setting.seeds_or(range(setting.choose(quick=4, paper=8)))
    d, width, decay, steps = setting.choose(quick=(11, 64, 1e-3, 1500), paper=(23, 128, 5e-4, 4000))
    group, pairs = cyclic(d), (d - 1) // 2
    crafted = {kind: craft(group, kind) for kind in _KINDS}
    run = train(setting, d, width, rate=0.02, decay=decay, steps=steps, seeds=seeds)
    data = {
        "pairs": pairs,
        "crafted orders": {kind: optimizer.order for kind, optimizer in crafted.items()},
        "crafted losses": [table_loss(*optimizer.weights, group) for optimizer in crafted.values()],
        "trained orders": [n for model in run.models for n in read(model, d).orders],
        "generic maxima": {
            projection: [_fewest(group, seed, projection) for seed in seeds] for projection in ("samples", "outputs")
        },
        "Li₂, Theorem 3": nodes_needed(group) / pairs,
    }
    nodes = {f"crafted, {kind}": optimizer.order / pairs for kind, optimizer in crafted.items()}
    nodes |= {
        "trained, mean": float(np.mean(data["trained orders"])),
        "generic maxima, samples centred": max(data["generic maxima"]["samples"]),
        "generic maxima, outputs centred": max(data["generic maxima"]["outputs"]),
        "Li₂, Theorem 3 with true maxima": data["Li₂, Theorem 3"],
    }
    shown = figure.bars(
        list(nodes),
        {"nodes": list(nodes.values())},
        x="how the nodes are found",
        y="nodes per pair ±k",
        title=f"Nodes per frequency of Z{d}",
    )
    return Measurement(
        data,
        {"group": group.name, "width": width, "weight decay": decay, "learning rate": 0.02, "epochs": steps},
        seeds,
        (shown,),
        note=(
            "Random maxima of the energy at one frequency have features in a space of 1 + 2 + 2 + 2 + 2 dimensions "
            "(constant, 2g, 2h, g + h, g − h). So 9 random maxima reach any target at this frequency, or 8 if the "
            "constant does not count. Phases chosen by algebra or by training need 4 to 6 nodes."
        ),
    )


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the numbers of nodes, all of them counted."""
    pairs, orders = data["pairs"], data["crafted orders"]
    counted = "nodes are counted"
    return [
        zero_loss("crafted networks are optimizers", "largest loss of a crafted network", data["crafted losses"]),
        equals("z_F6 takes 6 nodes per pair ±k", "nodes of z_F6", orders["F6"], 6 * pairs, reason=counted),
        equals(
            "order 4 takes 4 nodes per pair, and a repair of two nodes",
            "nodes of z_F4 with its repair",
            orders["F4+repair"],
            4 * pairs + 2,
            reason=counted,
        ),
        equals(
            "order 4 takes 4 nodes per pair, and a repair by one F6",
            "nodes of z_F4 with one F6",
            orders["F4+F6"],
            4 * pairs + 2,
            reason=counted,
        ),
        within(
            "a trained network takes 4 to 6 nodes per pair",
            "nodes of every frequency of trained networks",
            data["trained orders"],
            5,
            1,
            reason=counted,
        ),
        within(
            "generic true maxima take 8 with centred samples",
            "fewest random maxima that reach the target, samples centred, by seed",
            data["generic maxima"]["samples"],
            8,
            0,
            reason=counted,
        ),
        within(
            "generic true maxima take 9 with centred outputs",
            "fewest random maxima that reach the target, outputs centred, by seed",
            data["generic maxima"]["outputs"],
            9,
            0,
            reason=counted,
        ),
        within(
            "Li₂'s Theorem 3 with true maxima counts 8 per pair",
            "nodes per pair ±k",
            data["Li₂, Theorem 3"],
            8,
            0,
            reason=counted,
        ),
    ]


nodes_side_by_side = Check(_measure, _judge)


def _fewest(group: Group, seed: int, projection: str) -> int | None:
    """Return the least number of random maxima, from 3 to 11, that reach the target; None if none does."""
    return next((n for n in range(3, 12) if _residual(group, n, seed, projection) < REACHED), None)


def _residual(group: Group, count: int, seed: int, projection: str) -> float:
    """Return the loss at one frequency of `count` random maxima with the best V, relative to a network of zeros."""
    d = group.order
    family = maxima(group)[0]
    W = np.sqrt(d) * family.random_nodes(count, seed)
    F = ((W[:d, None] + W[None, d:]) ** 2).reshape(d * d, count)
    k = family.component
    phases = 2 * np.pi * np.arange(d) * k.irreps[0] / d
    angle = np.add.outer(phases, phases).ravel()
    Y = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # Centring outputs leaves the constant, which a node must cancel; centring samples removes it from the features.
    F = F - F.mean(0) if projection == "samples" else F
    V = np.linalg.lstsq(F, Y, rcond=None)[0]
    return float(np.sum((F @ V - Y) ** 2) / np.sum(Y**2))
