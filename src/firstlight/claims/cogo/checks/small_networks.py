"""Networks trained with plain Adam at d = 7: 6 and 4 nodes per frequency, and 3 without R_⊛ (Figures 2 and 3)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from firstlight import flow
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, equals
from firstlight.claims.cogo.checks._statistics import lower_bound
from firstlight.claims.cogo.checks._train import described, read, train
from firstlight.groups import cyclic
from firstlight.records import Criterion, figure
from firstlight.theories.cogo import OrderCensus, order_census
from firstlight.theories.cogo._reduced import train_without_convolution

D, WIDTH, EPOCHS, RATE = 7, 20, 3000, 0.05

FADED = 0.99
"""Share of |z_a|² in one frequency above which the other frequencies count as faded."""
DOMINANT = 0.9
"""Share of |z_a|² in one frequency above which it has emerged as the dominant one."""
LEARNED = 0.95
"""Least share of networks that must know every pair before their orders count."""


def _seeds(setting: Setting) -> tuple[int, ...]:
    return setting.seeds_or(range(setting.choose(quick=40, paper=200)))


def _measure_orders(setting: Setting) -> Measurement:
    """Count nodes per frequency of networks trained on the loss, and on the loss without its last term."""
    seeds, decay = _seeds(setting), 1e-3
    # With the observable of Figure 3 both figures share one compiled program.
    run = train(setting, D, WIDTH, rate=RATE, decay=decay, steps=EPOCHS, seeds=seeds, observables=(observe_z,))
    top = [read(model, D) for model in run.models]
    setting.progress(0.6, "without the last term")
    weights = train_without_convolution(
        cyclic(D), WIDTH, steps=EPOCHS, learning_rate=RATE, weight_decay=decay, seeds=seeds
    )
    bottom = [order_census(W, V, cyclic(D)) for W, V in weights]
    six, three = _example(top, [6, 6, 6]), _example(bottom, [3, 3, 3])
    panels = (_amplitudes(six, "All of eq. (3)"), _amplitudes(three, "Without the term of R_⊛"))
    data = {
        "orders": [sorted(census.orders) for census in top],
        "orders without R_⊛": [sorted(census.orders) for census in bottom],
        "learned": float(np.mean(run.frame.groupby("seed").last()["train_accuracy"] == 1)),
    }
    return Measurement(
        data,
        _setting(decay, len(seeds)) | {"loss of the bottom row": "eq. 3 without its last term"},
        seeds,
        (figure.panels(panels, columns=2, title="Nodes per frequency, d = 7, q = 20"),),
    )


def _setting(decay: float, seeds: int) -> dict[str, Any]:
    return {
        "group": f"Z{D}",
        "width": WIDTH,
        **described(),
        "optimizer": "adam",
        "learning rate": RATE,
        "weight decay": decay,
        "schedule": "constant",
        "epochs": EPOCHS,
        "train fraction": 1.0,
        "networks": seeds,
    }


def _judge_orders(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge Figure 2 as printed, for all networks, and as corrected, for most frequencies."""
    return [
        at_least(
            "networks learn every pair",
            "share of networks that do",
            data["learned"],
            LEARNED,
            form="precondition",
            reason="the few that do not learn cannot decide a majority",
        ),
        *_exactly(data["orders"], 6, 4, "trained on the whole loss"),
        *_exactly(data["orders without R_⊛"], 3, 4, "trained without the last term"),
    ]


def _exactly(networks: Sequence[Sequence[float]], order: int, other: int, how: str) -> list[Criterion]:
    """Judge that each frequency has exactly `order` nodes: in all networks, and in most frequencies."""
    exact = [list(network) == [order] * 3 for network in networks]
    own = [float(np.mean(np.array(network) == order)) for network in networks]
    either = [float(np.isin(network, (order, other)).mean()) for network in networks]
    reason = "most frequencies; the bound is Student's over networks"
    return [
        at_least(
            f"each frequency has exactly {order} hidden nodes, {how}",
            f"share of {len(networks)} networks with {order} nodes at every frequency",
            float(np.mean(exact)),
            1,
            form="printed",
        ),
        at_least(
            f"networks with {order} nodes at every frequency occur, {how}",
            f"networks with {order} nodes at every frequency, of {len(networks)}",
            sum(exact),
            1,
            form="corrected",
        ),
        above(
            f"most frequencies have {order} nodes, {how}",
            f"share of frequencies with {order} nodes, lower 99 % bound",
            lower_bound(own),
            0.5,
            reason=reason,
            form="corrected",
        ),
        above(
            f"nearly all frequencies have {order} or {other} nodes, {how}",
            f"share of frequencies with {order} or {other} nodes, lower 99 % bound",
            lower_bound(either),
            0.75,
            reason="more than three in four; the bound is Student's over networks",
            form="corrected",
        ),
    ]


six_and_three = Check(_measure_orders, _judge_orders)


def _example(censuses: Sequence[OrderCensus], orders: list[int]) -> OrderCensus:
    """Return the first network with these orders, or the first network."""
    return next((census for census in censuses if sorted(census.orders) == orders), censuses[0])


def _amplitudes(census: OrderCensus, title: str) -> figure.FigureData:
    """Draw |z_a| by frequency and node, with nodes sorted by frequency."""
    f = census.solution.frequencies
    nodes = [node for group in census.groups for node in group.hidden_units] + list(census.idle)
    matrix = np.abs(census.solution.z[0][list(f.halves)][:, nodes])
    rows = [f.label(k) for k in f.halves]
    columns = [str(node) for node in nodes]
    return figure.heatmap(
        matrix, x="hidden node, sorted", y="frequency", value="|z_a|", rows=rows, columns=columns, title=title
    )


def _measure_paths(setting: Setting) -> Measurement:
    """Record z_a of every node during training at d = 7; count remaining frequencies and final blocks."""
    seeds, decay = _seeds(setting), 5e-3
    run = train(
        setting, D, WIDTH, rate=RATE, decay=decay, steps=EPOCHS, seeds=seeds, every=10, observables=(observe_z,)
    )
    censuses = [read(model, D) for model in run.models]
    chosen = censuses.index(_example(censuses, [4, 6, 6]))
    data = {
        "orders": [sorted(census.orders) for census in censuses],
        "blocks": [sorted(group.name for group in census.groups) for census in censuses],
        "faded": [float(np.mean(_own_shares(census) > FADED)) for census in censuses],
        "kept": [_kept(lane, census) for lane, census in zip(run.lanes, censuses, strict=True)],
        "learned": float(np.mean(run.frame.groupby("seed").last()["train_accuracy"] == 1)),
    }
    panels = _paths(run.lanes[chosen], censuses[chosen])
    title = "z_a of the nodes of each frequency along training"
    shown = figure.panels(panels, columns=3, title=title, caption=f"d = 7, q = 20, seed {seeds[chosen]}.")
    return Measurement(data, _setting(decay, len(seeds)), seeds, (shown,))


def _judge_paths(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the final orders as printed, for all networks, and as corrected, for most; and the fading frequencies."""
    networks = data["orders"]
    alike = [float(list(network) == [4, 6, 6]) for network in networks]
    crafted = [float(set(blocks) <= {"F4", "F6", "F6′"}) for blocks in data["blocks"]]
    common, _ = Counter(" ".join(map(str, network)) for network in networks).most_common(1)[0]
    reason = "most networks; the bound is Student's over networks"
    return [
        at_least(
            "networks learn every pair",
            "share of networks that do",
            data["learned"],
            LEARNED,
            form="precondition",
            reason="the few that do not learn cannot decide a majority",
        ),
        at_least(
            "the final solution contains two order-6 and one order-4 solution",
            f"share of {len(networks)} networks that end so",
            float(np.mean(alike)),
            1,
            form="printed",
        ),
        above(
            "most networks end with two order-6 and one order-4 solution",
            "share of networks that end so, lower 99 % bound",
            lower_bound(alike),
            0.5,
            reason=reason,
            form="corrected",
        ),
        equals(
            "no other combination is as frequent",
            "most frequent orders of a network",
            common,
            "4 6 6",
            form="corrected",
        ),
        above(
            "these are z_F4 and z_F6, or the second family F6′",
            "share of networks made of F4, F6 and F6′ only, lower 99 % bound",
            lower_bound(crafted),
            0.5,
            reason=reason,
            form="corrected",
        ),
        above(
            "for each hidden node the other frequencies fade away",
            f"share of nodes with over {FADED:g} of |z_a|² in one frequency, lower 99 % bound over networks",
            lower_bound(data["faded"]),
            0.95,
            reason="19 nodes in 20; a node at random has a third of |z_a|² in a frequency",
        ),
        above(
            "once a dominant frequency emerges, it stays",
            f"share of nodes whose first frequency with over {DOMINANT:g} of |z_a|² is their last, "
            "lower 99 % bound over networks",
            lower_bound(data["kept"]),
            0.9,
            reason="9 nodes in 10; by chance 1 in 3",
        ),
    ]


convergence_paths = Check(_measure_paths, _judge_paths)


def observe_z(ctx: flow.Context) -> dict[str, jax.Array]:
    """Return z_a at the frequencies 1, 2, 3 of Z7, real and imaginary parts by node."""
    d = ctx.task.outputs
    z = jnp.fft.fft(ctx.model.W[:d], axis=0)[1 : (d + 1) // 2] / d
    return {"real": z.real, "imaginary": z.imag}


def _own_shares(census: OrderCensus) -> np.ndarray:
    """Return, for every node that is not idle, the share of |z_a|² in its own pair of frequencies."""
    power = np.abs(census.solution.z[0]) ** 2
    power = np.array(
        [power[k] + power[census.solution.frequencies.negative[k]] for k in census.solution.frequencies.halves]
    )
    nodes = [(i, node) for i, group in enumerate(census.groups) for node in group.hidden_units]
    return np.array([power[i, node] / power[:, node].sum() for i, node in nodes])


def _kept(lane: flow.LaneResult, census: OrderCensus) -> float:
    """Return the share of nodes, idle ones aside, whose first dominant frequency is the one they end with."""
    power = lane.arrays["real"] ** 2 + lane.arrays["imaginary"] ** 2
    shares = power / np.maximum(power.sum(1, keepdims=True), 1e-30)
    stays = []
    for i, group in enumerate(census.groups):
        for node in group.hidden_units:
            emerged = np.flatnonzero(shares[:, :, node].max(1) > DOMINANT)
            stays.append(len(emerged) > 0 and int(shares[emerged[0], :, node].argmax()) == i)
    return float(np.mean(stays)) if stays else 0.0


def _paths(lane: flow.LaneResult, census: OrderCensus) -> tuple[figure.FigureData, ...]:
    shown = []
    real, imaginary = (lane.arrays[part][::3] for part in ("real", "imaginary"))
    for i, group in enumerate(census.groups):
        series = [figure.Series(f"node {n}", real[:, i, n], imaginary[:, i, n]) for n in group.hidden_units]
        title = f"frequency {group.label}: {group.name}"
        shown.append(figure.curves(series, x="Re z_a", y="Im z_a", title=title))
    return tuple(shown)
