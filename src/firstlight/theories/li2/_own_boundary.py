"""The boundary of a group from ascents of its own residualised energy, kept in the user's cache folder."""

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import resources
from math import inf, log, sqrt
from typing import Any

import numpy as np
import pandas as pd

from firstlight._files import read_from_cache, write_to_cache
from firstlight.features import require_features
from firstlight.groups import Group
from firstlight.theories.li2._boundary import energy_boundary

BISECTIONS, NODES = 6, 16
"""Number of bisections for each draw of the pairs, and of maximisers; the last bracket is 4 % wide."""

PRECISION = 0.01
"""Relative standard error of the boundary at which no further pairs are drawn."""

FEWEST, MOST, WORK = 8, 64, 24
"""Draws of the pairs: at least 8 and at most 64, but fewer above order 24, where an ascent is more expensive."""

VERSION = 2
"""Increased when the method changes; earlier files in the cache are then left unread."""

ProgressCallback = Callable[[float, str], None]


@dataclass(frozen=True)
class OwnBoundary:
    """Survival of the energy's maxima at several data fractions.

    **Attributes:**

    - `order`: M.
    - `fractions`: data fractions p.
    - `survival`: for each kind of component, such as "real 2", the share of its maxima that survive at each p.
    - `p50`: fraction at which half of all maxima survive.
    - `error`: relative standard error of `p50` over draws of the pairs.
    """

    order: int
    fractions: tuple[float, ...]
    survival: Mapping[str, tuple[float, ...]]
    p50: float
    error: float

    @property
    def pairs(self) -> float:
        """n₅₀ = p₅₀M², the number of pairs at which half of the maxima survive."""
        return self.p50 * self.order**2

    def survives(self, kind: str, fraction: float) -> float:
        """Return the share of the maxima of a kind of component that survive at a data fraction, interpolated in ln p.

        >>> OwnBoundary(7, (0.25, 1.0), {"real 1": (0.0, 1.0)}, 0.5, 0.1).survives("real 1", 0.5)
        0.5
        """
        if kind not in self.survival:
            return float("nan")
        return float(np.interp(log(fraction), np.log(self.fractions), self.survival[kind]))


def own_boundary(group: Group, progress: ProgressCallback | None = None) -> OwnBoundary:
    """Return the boundary of a group's residualised energy: from the cache, else by ascents, which takes seconds.

    The boundaries of some named groups come with the package. A file in the cache folder is named by the digest of the
    Cayley table, so groups that are equal up to the names of their elements have files of their own.

    **Arguments:**

    - `group`: of order M ≥ 2.
    - `progress`: called with the fraction done and a note while ascents run. By default a line is written to a
      terminal.

    >>> from firstlight.groups import cyclic
    >>> boundary = own_boundary(cyclic(7))
    >>> bool(0.3 < boundary.p50 < 0.7), list(boundary.survival)
    (True, ['complex 1'])
    """
    require_features(group)
    return _remembered(group, progress) if progress is None else _found(group, progress)


def is_cached(group: Group) -> bool:
    """Return whether the boundary of a group is in the cache folder."""
    return _read(group) is not None


@lru_cache(maxsize=64)
def _remembered(group: Group, progress: ProgressCallback | None) -> OwnBoundary:
    return _found(group, progress)


def _found(group: Group, progress: ProgressCallback | None) -> OwnBoundary:
    boundary = _read(group)
    if boundary is None:
        boundary = compute_boundary(group, _on_terminal if progress is None else progress)
        write_to_cache(_file(group), json.dumps({"version": VERSION, **asdict(boundary)}).encode())
    return boundary


def compute_boundary(group: Group, progress: ProgressCallback) -> OwnBoundary:
    """Bisect for the fraction at which half of the maxima survive, for several draws of the pairs."""
    M, start = group.order, time.monotonic()
    most = draws(M)
    progress(0.0, f"ascents of the energy on {group.name} (order {M}), once; then kept in the cache folder")
    tables, half_points = [], []
    for seed in range(most):
        low, high = 0.7 * log(M) / M, min(7 * log(M) / M, 1.0)
        for _ in range(BISECTIONS):
            middle = sqrt(low * high)
            tables.append(energy_boundary(group, [middle], [seed], residualised=True, nodes=NODES))
            low, high = (low, middle) if tables[-1]["survives"].mean() >= 0.5 else (middle, high)
        half_points.append(log(low * high) / 2)
        error = float(np.std(half_points, ddof=1) / sqrt(seed + 1)) if seed else inf
        if seed + 1 >= min(FEWEST, most) and error <= PRECISION:
            break
        left = (time.monotonic() - start) / (seed + 1) * (most - seed - 1)
        progress((seed + 1) / most, f"ascents of the energy on {group.name}, at most {left:.0f} s left" if left else "")
    progress(1.0, "")
    fractions, survival = _by_kind(pd.concat(tables, ignore_index=True))
    return OwnBoundary(M, fractions, survival, float(np.exp(np.mean(half_points))), max(error, PRECISION))


def draws(order: int) -> int:
    """Return the largest number of draws of the pairs for a group.

    >>> draws(12), draws(48), draws(127)
    (64, 16, 3)
    """
    return min(max(round(MOST * (WORK / order) ** 2), 3), MOST)


def _by_kind(table: pd.DataFrame) -> tuple[tuple[float, ...], dict[str, tuple[float, ...]]]:
    """Return the fractions of all ascents, and for each kind of component the nearest nondecreasing survival."""
    from sklearn.isotonic import isotonic_regression

    kinds = np.array([f"{kind} {dim}" for kind, dim in zip(table["kind"], table["dim"], strict=True)])
    survives, fraction = np.asarray(table["survives"], float), np.asarray(table["fraction"], float)
    fractions = np.unique(fraction)
    survival = {}
    for name in dict.fromkeys(kinds.tolist()):
        rates = np.array([survives[(kinds == name) & (fraction == p)].mean() for p in fractions])
        rising = isotonic_regression(rates, y_min=0.0, y_max=1.0)
        survival[name] = tuple(np.round(rising, 6).tolist())
    return tuple(fractions.tolist()), survival


def _file(group: Group) -> str:
    return f"boundaries/{group.digest}.json"


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Any]:
    """Return the boundaries of some named groups, computed in the same way, by the digest of their tables."""
    text = resources.files("firstlight.theories.li2").joinpath("boundaries.json").read_text(encoding="utf-8")
    values = json.loads(text)
    return {digest: {"version": values["version"], **rest} for digest, rest in values["boundaries"].items()}


def _read(group: Group) -> OwnBoundary | None:
    known = _shipped().get(group.digest)
    if known is not None:
        return _parsed(dict(known), group)
    content = read_from_cache(_file(group))
    try:
        return None if content is None else _parsed(json.loads(content), group)
    except ValueError:
        return None  # a damaged file is computed again


def _parsed(values: dict[str, Any], group: Group) -> OwnBoundary | None:
    try:
        if values.pop("version") != VERSION or values["order"] != group.order:
            return None
        survival = {key: tuple(map(float, row)) for key, row in values.pop("survival").items()}
        fractions = tuple(map(float, values.pop("fractions")))
        boundary = OwnBoundary(fractions=fractions, survival=survival, **values)
        whole = all(len(row) == len(fractions) for row in survival.values())
        return boundary if whole and 0 < boundary.p50 <= 1 and boundary.error >= 0 else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _on_terminal(fraction: float, note: str) -> None:
    if sys.stderr.isatty() and note:
        print(f"firstlight: {note}", file=sys.stderr)
