"""The data fraction at which networks of the paper's setting generalise, found by bisection (Figures 4 and 8)."""

import os
from collections.abc import Sequence
from typing import Any

import pandas as pd

from firstlight import groups
from firstlight.claims.li2.checks.printed import LOSS, printed_decay
from firstlight.records import RunSpec, Store
from firstlight.sweeps import BoundaryResult, boundary, estimate_boundary
from firstlight.theories import li2

FRACTION = "task.split.fraction"
PRECISION = 0.02
"""Relative width of a bracket."""

REACH = (0.5, 2.0)
"""The ends of the search, in units of the boundary of the authors' released code."""

LARGEST = 0.9
"""Largest fraction to test: a smaller held-out set measures a test accuracy of 0.99 too coarsely."""


DECAY = 2e-4
"""Weight decay of Figure 4, read in the loss of the released code: the mean over samples without ½."""


def setting(width: int = 2048, rate: float = 5e-4, steps: int = 3000) -> dict[str, Any]:
    """Return the base run: by default width and rate of Figure 4. The paper does not print the steps."""
    return {
        "model": {"width": width},
        "optimizer": {"learning_rate": rate},
        "loss": LOSS,
        "steps": steps,
        "recording": {"every": 25},
    }


def decay_of(name: str, decay: float = DECAY) -> float:
    """Return the η of the printed loss for a group: that of the released code at the boundary of its formula.

    >>> round(decay_of("Z71"), 3)
    0.083
    """
    M = groups.parse(name).order
    return printed_decay(decay, round(float(li2.lemmas.released_boundary(M)) * M**2))


def fractions(spec: RunSpec) -> tuple[float, float]:
    """Return the ends of the search for the group of a spec."""
    centre = predicted(spec)
    return centre * REACH[0], min(centre * REACH[1], LARGEST)


def predicted(spec: RunSpec) -> float:
    """Return the boundary of the authors' released code, 2.7482 ln M / M, as the first value to test."""
    name: str = spec.task.group  # type: ignore[union-attr]
    return float(li2.lemmas.released_boundary(groups.parse(name).order))


def trained_boundaries(
    names: Sequence[str],
    store: Store | str | os.PathLike[str] | None = None,
    *,
    seeds: int | Sequence[int] = 5,
    base: dict[str, Any] | None = None,
    decay: float = DECAY,
    **options: Any,
) -> BoundaryResult:
    """Find p₅₀ of trained networks for each group; with a store the search resumes.

    **Arguments:**

    - `names`: the groups.
    - `store`: holds the runs.
    - `seeds`: a list of seeds, or their number.
    - `base`: the base run; by default `setting()`.
    - `decay`: weight decay in the loss of the released code.
    - `options`: further arguments of `sweeps.boundary`, such as `run=False` to read the store only.

    >>> base = setting(width=32, rate=0.02, steps=100)
    >>> trained_boundaries(["Z5"], seeds=1, base=base, decay=1e-3, progress="off").boundaries["seeds"].tolist()
    [1]
    """
    chosen = setting() if base is None else base
    return boundary(chosen, FRACTION, fractions, store=store, **_search(names, seeds, decay), **options)


def estimate_boundaries(
    names: Sequence[str],
    *,
    seeds: int | Sequence[int] = 5,
    base: dict[str, Any] | None = None,
    measure: bool = False,
) -> pd.DataFrame:
    """Return the expected runs, steps, seconds and core-hours of `trained_boundaries` for each group.

    >>> estimate_boundaries(["Z23", "Z127"])["core_hours"].is_monotonic_increasing
    True
    """
    chosen = setting() if base is None else base
    return estimate_boundary(chosen, FRACTION, fractions, measure=measure, **_search(names, seeds, DECAY))


def _search(names: Sequence[str], seeds: int | Sequence[int], decay: float) -> dict[str, Any]:
    points = [{"task.group": name, "optimizer.weight_decay": decay_of(name, decay)} for name in names]
    return {"points": points, "seeds": seeds, "precision": PRECISION, "axis": "log", "start": predicted}
