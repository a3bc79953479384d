"""The flows of Figures 1 to 3, solved once, and what their checks share."""

import functools
from typing import Any

import numpy as np

from firstlight.claims._check import Setting
from firstlight.claims._criteria import at_most
from firstlight.records import Criterion
from firstlight.theories import manifold

LAMBDAS = (0.01, 0.1, 0.2)
"""The values of λ of Figure 1."""
LAMBDA = 0.05
"""The value of λ of Figures 2 and 3, which print none."""
SMALL = (1e-2, 2.5e-3)
ON_THE_HYPERBOLA = (3.0, 1 / 3)
RANDOM_STARTS = 20
_END = 1000.0

SOLVED = 1e-8
"""How far a solved path may be from its closed form."""
SOLVER = "the solver's tolerances are 1e-11 relative and 1e-13 absolute a step, over at most 10⁴ steps, times 8"
LOW = 0.01
"""Share of its first value at which a loss counts as very low."""
AHEAD = 0.5
"""Least share of the way along the zero-loss set that is ahead where the loss has become low."""
FIRST = "'first … then' means that most of the way along the set is still ahead"


@functools.cache
def _solve(points: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Solve the runs of all three figures as rows of a single flow; return times and paths.

    The last two rows of the hyperbola start on it, one for each of two small λ. The last rows of the cross have
    random starts.
    """
    toys = manifold.lemmas.TOYS
    times = np.concatenate([[0.0], np.geomspace(1e-3, _END, points)])
    starts = {name: np.array(toy.starts) for name, toy in toys.items()}
    starts["cross"] = np.concatenate([starts["cross"], np.random.default_rng(0).standard_normal((RANDOM_STARTS, 2))])
    lams = {name: np.full(len(w), LAMBDA) for name, w in starts.items()}
    starts["addition"], lams["addition"] = np.repeat(starts["addition"], len(LAMBDAS), axis=0), np.array(LAMBDAS)
    starts["hyperbola"] = np.concatenate([starts["hyperbola"], [ON_THE_HYPERBOLA] * len(SMALL)])
    lams["hyperbola"] = np.append(lams["hyperbola"], SMALL)
    paths = manifold.lemmas.toy_flows([(toys[name], lams[name], starts[name]) for name in toys], times)
    return times, dict(zip(toys, paths, strict=True))


def solved_flows(setting: Setting) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return times and paths of all three figures."""
    return _solve(setting.choose(quick=80, paper=250))


def agrees(what: str, error: Any) -> Criterion:
    """Require a solved path to be its closed form, as a precondition."""
    return at_most(
        f"the path of {what} is solved",
        "largest distance from its closed form",
        error,
        SOLVED,
        reason=SOLVER,
        form="precondition",
    )


def share_ahead(off: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return, for each run, the share of `along` left where `off` has fallen to a hundredth; 0 if it never has."""
    low = np.abs(off) <= LOW * np.abs(off[0])
    left = along[low.argmax(0), np.arange(along.shape[1])] / along[0]
    return np.where(low.any(0), left, 0.0)
