"""Networks, flows and jump times of the checks on fully connected linear networks."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from firstlight import _canonical as canonical
from firstlight.claims.agf.checks._limit import clock, in_the_limit, stand_apart
from firstlight.flow import Flow
from firstlight.theories import agf

PANELS = {"commuting": True, "not commuting": False}
"""Panels (a) and (b) of Figure 4: whether Σ_xx commutes with Σ_yxᵀΣ_yx."""


def power_law(commuting: bool, seed: int, size: int) -> agf.LinearNetwork:
    """Draw Σ_xx with eigenvalues i⁻² and a Gaussian target; if commuting, both are diagonal in one basis."""
    rng = np.random.default_rng(seed)
    Q = canonical.orthogonal(rng, size, size)
    lam = np.arange(1, size + 1.0) ** -2
    if not commuting:
        return agf.LinearNetwork(Q @ np.diag(lam) @ Q.T, rng.standard_normal((size, size)), size)
    U = canonical.orthogonal(rng, size, size)
    b = np.sort(np.abs(rng.standard_normal(size)))[::-1]
    return agf.LinearNetwork(Q @ np.diag(lam) @ Q.T, U @ np.diag(b) @ Q.T, size)


START = "a_i ~ N(0, α²/2c), w_i ~ N(0, α²/2d)"
"""The start of `flow`, which is that of Section 2."""


def flow(network: agf.LinearNetwork, alpha: float, times: Any, seed: int) -> Flow:
    """Solve gradient flow from the start of Section 2, in units of −log α.

    `LinearNetwork.flow` draws entries of standard deviation α and has −log of that as its clock; here c = d.
    """
    outputs, inputs = network.target.shape
    if outputs != inputs:
        raise ValueError(f"the start has one scale for square maps only, got {outputs} outputs and {inputs} inputs")
    entry = alpha / float(np.sqrt(2 * inputs))
    ratio = clock(entry) / clock(alpha)
    run = network.flow(entry, np.asarray(times) / ratio, seed)
    return dataclasses.replace(run, times=run.times * ratio)


class Draw(NamedTuple):
    """A network, Conjecture 4.1 as printed, the flows by α, and relative errors of jump times, a row per α."""

    network: agf.LinearNetwork
    predicted: agf.Staircase
    flows: list[Any]
    errors: list[list[float]]


@functools.lru_cache(maxsize=64)
def solve(commuting: bool, seed: int, size: int, jumps: int, alphas: Sequence[float], points: int) -> Draw:
    """Solve gradient flow for each α up to a jump and measure when it crosses the middles of the levels."""
    network = power_law(commuting, seed, size)
    predicted = network.conjecture()
    # Gradient flow may be later than the limit by an order-one number over |log α|.
    end = (1 + 6 / clock(alphas[0])) * float(predicted.jump_times[jumps - 1])
    times = np.concatenate([[0.0], np.geomspace(0.1 * predicted.jump_times[0], end, points)])
    flows = [flow(network, alpha, times, seed) for alpha in alphas]
    middles = ((predicted.levels[1:] + predicted.levels[:-1]) / 2)[:jumps]
    crossed = [[agf.lemmas.crossing(run.times, run.loss, middle) for middle in middles] for run in flows]
    errors = [(np.array(row) / predicted.jump_times[:jumps] - 1).tolist() for row in crossed]
    return Draw(network, predicted, flows, errors)


def summary(draw: Draw, seed: int, alphas: Sequence[float], commuting: bool) -> dict[str, Any]:
    """Return plain data of a draw: errors, which jumps stand apart from their neighbours, and learned levels.

    Where Σ_xx commutes the modes do not interact, and every jump is judged; elsewhere those that stand apart.
    """
    jumps = len(draw.errors[0])
    times = draw.predicted.jump_times
    apart = stand_apart(times[: jumps + 1], alphas[0])[:jumps]
    return {
        "seed": seed,
        "errors": draw.errors,
        "stand apart": apart.tolist(),
        "judged": [True] * jumps if commuting else apart.tolist(),
        "predicted levels": draw.predicted.levels[: jumps + 1].tolist(),
        "ranks": _ranks(draw, jumps),
    }


def _ranks(draw: Draw, jumps: int) -> list[int]:
    """Return the rank of the network's map between the measured jumps.

    A singular value counts if it has half of its size on the plateau after its own jump; the smallest singular value
    of the target, which may be nearly zero, is no measure of the others.
    """
    run, measured = draw.flows[-1], draw.predicted.jump_times[:jumps] * (1 + np.array(draw.errors[-1]))
    edges = np.concatenate([[0.0], measured])
    middles = np.searchsorted(run.times, (edges[1:] + edges[:-1]) / 2)
    values = np.linalg.svd(run.params[middles], compute_uv=False)
    plateaus = np.linalg.svd(draw.predicted.parameters[1 : jumps + 1], compute_uv=False)
    return (values[:, :jumps] > np.diag(plateaus) / 2).sum(1).tolist()


def limits(draws: Sequence[dict[str, Any]], alphas: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return |errors| of judged jumps extrapolated to α → 0, and |error|·|log α| of these; `judged` chooses them."""
    limit, scaled = [], []
    for row in draws:
        chosen = np.array(row["judged"], bool)
        limit += np.abs(in_the_limit(row["errors"], alphas))[chosen].tolist()
        scaled += (clock(alphas[-1]) * np.abs(np.array(row["errors"][-1], float)))[chosen].tolist()
    return np.array(limit), np.array(scaled)


def overlapping(draws: Sequence[dict[str, Any]]) -> np.ndarray:
    """Return the relative errors at the smallest α of the jumps that are not judged."""
    errors = [np.array(row["errors"][-1], float)[~np.array(row["judged"], bool)] for row in draws]
    return np.abs(np.concatenate(errors))
