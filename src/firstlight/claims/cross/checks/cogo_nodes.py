"""Nodes per frequency of crafted networks, of trained networks, and of reconstruction from generic maxima."""

import numpy as np

from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.cogo.checks._train import read, train
from firstlight.claims.cogo.tolerances import ZERO_LOSS
from firstlight.features import maxima
from firstlight.groups import Group, cyclic
from firstlight.records import figure
from firstlight.theories.cogo import craft, table_loss
from firstlight.theories.li2 import nodes_needed

REACHED = 1e-20
"""Relative squared residual below which a target counts as reached."""


def nodes_side_by_side(setting: Setting) -> Outcome:
    """Count nodes per pair ±k of crafted and trained networks, and of random maxima of the energy with the best V."""
    seeds = setting.seeds_or(range(2))
    d, width, decay, steps = setting.choose(quick=(11, 64, 1e-3, 1200), paper=(23, 128, 5e-4, 4000))
    group, pairs = cyclic(d), (d - 1) // 2
    crafted = {kind: craft(group, kind) for kind in ("F6", "F4+repair", "F4+F6")}
    losses = {kind: table_loss(*optimizer.weights, group) for kind, optimizer in crafted.items()}
    run = train(setting, d, width, rate=0.02, decay=decay, steps=steps, seeds=seeds, schedule="cosine")
    trained = [read(model, d) for model in run.models]
    orders = [n for c in trained for n in c.orders]
    mean = sum(orders) / len(orders)
    generic = {
        projection: next((n for n in range(3, 12) if _residual(group, n, seeds[0], projection) < REACHED), None)
        for projection in ("samples", "outputs")
    }
    nodes = {f"crafted, {kind}": optimizer.order / pairs for kind, optimizer in crafted.items()}
    nodes |= {
        "trained, mean": mean,
        "generic maxima, samples centred": generic["samples"],
        "generic maxima, outputs centred": generic["outputs"],
        "Li₂, Theorem 3 with true maxima": nodes_needed(group) / pairs,
    }
    measured = {
        "nodes per pair ±k": nodes,
        "trained, frequencies by nodes": {str(n): orders.count(n) for n in sorted(set(orders))},
        "largest crafted loss": max(losses.values()),
    }
    right = (
        max(losses.values()) < ZERO_LOSS
        and nodes["crafted, F6"] == 6
        and min(orders) >= 4
        and max(orders) <= 6
        and generic == {"samples": 8, "outputs": 9}
        and nodes_needed(group) == 8 * pairs
    )
    counted = {name: count for name, count in nodes.items() if count is not None}
    shown = figure.bars(
        list(counted),
        {"nodes": list(counted.values())},
        x="how the nodes are found",
        y="nodes per pair ±k",
        title=f"Nodes per frequency of Z{d}",
    )
    return Outcome(
        "holds" if right else "fails",
        measured,
        {
            "nodes per pair ±k": {
                "crafted, F6": 6,
                "generic maxima, samples centred": 8,
                "generic maxima, outputs centred": 9,
            }
        },
        evidence=(
            "Random maxima of the energy at one frequency have features in a space of 1 + 2 + 2 + 2 + 2 dimensions "
            "(constant, 2g, 2h, g + h, g − h). So 9 random maxima reach any target at this frequency, or 8 if the "
            "constant does not count. Phases chosen by algebra or by training need 4 to 6 nodes."
        ),
        figures=(shown,),
        seeds=seeds,
    )


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
