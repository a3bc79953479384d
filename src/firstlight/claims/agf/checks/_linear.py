"""Networks, flows and jump times of the checks on fully connected linear networks."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from firstlight import _canonical as canonical
from firstlight.claims.agf.checks._limit import clock, in_the_limit
from firstlight.theories import agf

PANELS = {"commuting": True, "not commuting": False}
"""Panels (a) and (b) of Figure 4: whether Σ_xx commutes with Σ_yxᵀΣ_yx."""

SEPARATED = 4.0
"""Two jumps overlap if they are nearer than this many e-folds of growth at the largest α."""


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
    flows = [network.flow(alpha, times, seed) for alpha in alphas]
    middles = ((predicted.levels[1:] + predicted.levels[:-1]) / 2)[:jumps]
    crossed = [[agf.lemmas.crossing(run.times, run.loss, middle) for middle in middles] for run in flows]
    errors = [(np.array(row) / predicted.jump_times[:jumps] - 1).tolist() for row in crossed]
    return Draw(network, predicted, flows, errors)


def summary(draw: Draw, seed: int, alphas: Sequence[float]) -> dict[str, Any]:
    """Return plain data of a draw: errors, which jumps stand apart from their neighbours, and learned levels."""
    jumps = len(draw.errors[0])
    times = draw.predicted.jump_times
    gaps = np.diff(np.concatenate([[0.0], times[: jumps + 1]]))
    # A mode of rate σ grows e-fold in 1/(ησ), and σ is about 1/τ.
    needed = SEPARATED / clock(alphas[0]) * times[:jumps]
    after = np.append(gaps[1:], np.inf)[:jumps]
    # Eq. 6 is a recursion, so that a jump stands apart only if those before it do.
    apart = np.logical_and.accumulate((gaps[:jumps] >= needed) & (after >= needed))
    return {
        "seed": seed,
        "errors": draw.errors,
        "stand apart": apart.tolist(),
        "predicted levels": draw.predicted.levels[: jumps + 1].tolist(),
        "ranks": _ranks(draw, jumps),
    }


def _ranks(draw: Draw, jumps: int) -> list[int]:
    """Return the rank of the network's map between the measured jumps: singular values above 1 % of the target's."""
    run, measured = draw.flows[-1], draw.predicted.jump_times[:jumps] * (1 + np.array(draw.errors[-1]))
    edges = np.concatenate([[0.0], measured])
    middles = np.searchsorted(run.times, (edges[1:] + edges[:-1]) / 2)
    values = np.linalg.svd(run.params[middles], compute_uv=False)
    sizes = np.linalg.svd(draw.network.target, compute_uv=False)
    return (values > 0.01 * sizes.min()).sum(1).tolist()


def limits(draws: Sequence[dict[str, Any]], alphas: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return |errors| extrapolated to α → 0 of the jumps that stand apart, and |error|·|log α| of all jumps."""
    apart, scaled = [], []
    for row in draws:
        chosen = np.array(row["stand apart"], bool)
        apart += np.abs(in_the_limit(row["errors"], alphas))[chosen].tolist()
        scaled += (clock(alphas[-1]) * np.abs(np.array(row["errors"][-1], float))).tolist()
    return np.array(apart), np.array(scaled)
