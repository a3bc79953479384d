"""Theorem 4: how many sampled pairs preserve the maxima of the energy, and how that number grows with the group."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Real

from firstlight.features import GroupEnergy, ascend, dominates, irrep_content, maxima, require_features
from firstlight.groups import Group
from firstlight.tasks import train_count

VANISHES = 1e-12
"""Share of E* below which the energy of a hidden unit of norm 1 is zero up to rounding."""

STOPPING_SLOPE = 1e-4
"""Ratio of slope to energy at which an ascent stops: after 1e-3 some still leave their component, after 1e-4 none."""

RELEASED = 2.7482
"""The constant of the boundary p = c ln M / M in the authors' released code."""


def released_boundary(M: float | Real[np.ndarray, "*M"]) -> Float[np.ndarray, "*M"]:
    """Return p = 2.7482 ln M / M, the critical data fraction of the authors' released code.

    >>> round(float(released_boundary(127)), 3)
    0.105
    """
    return np.asarray(RELEASED * np.log(M) / np.asarray(M, float))


def survival(
    group: Group, rows: Int[np.ndarray, " n"], *, residualised: bool = False, nodes: int = 12, seed: int = 0
) -> pd.DataFrame:
    """Test which maxima of the whole table are still maxima of the energy of the sampled pairs.

    The empirical energy is ascended from random maximisers, spread over the components. `kept` is the share of the
    weights that stays in the component. A maximum survives if `kept` is more than half-way from chance to all, and if
    its energy is not zero. Chance is the component's share of all weights, three quarters for A4's 3a; the energy is
    zero if all samples have the same label. With `residualised`, indicators of the single factors are regressed out of
    the labels, a stand-in for the S⁻¹ of eq. 5.

    **Arguments:**

    - `group`: of order M.
    - `rows`: (n,) the sampled pairs gM + g′.
    - `residualised`: which of the two energies.
    - `nodes`: number of maximisers, at least one per dimension d.
    - `seed`: of the choice of maximisers.

    **Returns:**

    One row per maximiser: component, kind, dim, kept, energy, survives.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> survival(cyclic(7), np.arange(49), nodes=3)["survives"].tolist()
    [True, True, True]
    """
    require_features(group)
    rng = np.random.default_rng(seed)
    families = maxima(group)
    chosen = _spread_over_dimensions(np.array([m.component.dim for m in families]), nodes, rng)
    W = np.stack([families[i].random_node(rng) for i in chosen], axis=1)
    end = ascend(GroupEnergy(group, rows=rows, residualised=residualised), W, tolerance=STOPPING_SLOPE)
    content, place = irrep_content(end.W, group), (np.arange(len(chosen)), chosen + 1)
    rises = end.energy > VANISHES * np.array([families[i].energy for i in chosen])
    return pd.DataFrame(
        {
            "component": [families[i].component.label for i in chosen],
            "kind": [families[i].component.kind for i in chosen],
            "dim": [families[i].component.dim for i in chosen],
            "kept": content[place],
            "energy": end.energy,
            "survives": dominates(content, group)[place] & rises,
        }
    )


def _spread_over_dimensions(
    dims: Int[np.ndarray, " C"], nodes: int, rng: np.random.Generator
) -> Int[np.ndarray, " nodes"]:
    """Return a component per hidden unit: dimensions in turn, the components of a dimension in random order."""
    by_dim = [rng.permutation(np.flatnonzero(dims == d)) for d in np.unique(dims)]
    return np.array([by_dim[j % len(by_dim)][(j // len(by_dim)) % len(by_dim[j % len(by_dim)])] for j in range(nodes)])


def energy_boundary(
    group: Group,
    fractions: Sequence[float] | Float[np.ndarray, " f"],
    seeds: Sequence[int],
    residualised: bool = False,
    nodes: int = 12,
) -> pd.DataFrame:
    """Run `survival` at several data fractions p and seeds; adds the columns fraction, n and seed.

    The pairs of a seed are nested: a smaller fraction is a subset of a larger one.

    **Arguments:**

    - `group`: of order M.
    - `fractions`: data fractions p.
    - `seeds`: of the sampled pairs and the maximisers.
    - `residualised`, `nodes`: as in `survival`.

    >>> from firstlight.groups import cyclic
    >>> table = energy_boundary(cyclic(7), [0.3, 1.0], [0], nodes=3)
    >>> table.groupby("fraction")["survives"].mean().tolist()[-1]
    1.0
    """
    M, tables = group.order, []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(M * M)
        for fraction in fractions:
            rows = np.sort(order[: train_count(M * M, fraction, None)])
            table = survival(group, rows, residualised=residualised, nodes=nodes, seed=seed)
            tables.append(table.assign(fraction=float(fraction), n=len(rows), seed=seed))
    return pd.concat(tables, ignore_index=True)


def half_point(fractions: Float[np.ndarray, " f"], rates: Float[np.ndarray, " f"]) -> float:
    """Return the fraction at which a rate passes ½, or NaN; interpolates the nearest nondecreasing rates.

    >>> import numpy as np
    >>> half_point(np.array([0.1, 0.2, 0.3]), np.array([0.0, 0.4, 0.6]))
    0.25
    """
    from sklearn.isotonic import isotonic_regression

    order = np.argsort(fractions, kind="stable")
    x, y = np.asarray(fractions, float)[order], isotonic_regression(np.asarray(rates, float)[order])
    above = np.flatnonzero(y >= 0.5)
    if not len(above) or (above[0] == 0 and y[0] > 0.5):
        return float("nan")
    i = above[0]
    return float(x[i]) if y[i] == 0.5 else float(x[i - 1] + (0.5 - y[i - 1]) / (y[i] - y[i - 1]) * (x[i] - x[i - 1]))


def critical_fraction(table: pd.DataFrame, dim: int | None = None) -> float:
    """Return p₅₀ of an `energy_boundary`, over all maxima or those of irreps of dimension `dim`.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"fraction": [0.2, 0.4], "survives": [False, True], "dim": [1, 1]})
    >>> round(critical_fraction(table), 9)
    0.3
    """
    chosen = np.full(len(table), True) if dim is None else np.asarray(table["dim"] == dim)
    fraction, survives = np.asarray(table["fraction"])[chosen], np.asarray(table["survives"])[chosen]
    fractions = np.unique(fraction)
    return half_point(fractions, np.array([survives[fraction == p].mean() for p in fractions]))


def locate_boundary(
    group: Group, seeds: Sequence[int], residualised: bool = False, nodes: int = 12, evaluations: int = 6
) -> Float[np.ndarray, " seeds"]:
    """Find p₅₀ of every seed by bisection: the fraction of its pairs at which half of the maxima survive.

    **Arguments:**

    - `group`: of order M.
    - `seeds`: of the sampled pairs and the maximisers.
    - `residualised`, `nodes`: as in `survival`.
    - `evaluations`: number of bisections.

    >>> from firstlight.groups import cyclic
    >>> p50 = locate_boundary(cyclic(7), [0], nodes=3)
    >>> bool(0.1 < p50[0] < 1)
    True
    """
    half_points = []
    for seed in seeds:
        low, high = 0.0, 1.0
        for _ in range(evaluations):
            # Bisect on a logarithmic scale once both ends are positive.
            middle = np.sqrt(low * high) if low else high / 2
            rate = np.mean(energy_boundary(group, [middle], [seed], residualised, nodes)["survives"])
            low, high = (low, middle) if rate >= 0.5 else (middle, high)
        half_points.append(np.sqrt(low * high) if low else high)
    return np.array(half_points)


@dataclass(frozen=True)
class BoundaryFit:
    """Fit of n = p₅₀M² against M.

    **Attributes:**

    - `power`, `power_error`: exponent of n ∝ M^power and its standard error.
    - `c`: n/(M ln M) for each M.
    - `drift`, `drift_error`: exponent x of c ∝ M^x and its standard error; 0 if n ∝ M ln M, as Theorem 4 states.
    """

    power: float
    power_error: float
    c: tuple[float, ...]
    drift: float
    drift_error: float


def fit_boundary(M: Real[np.ndarray, " m"], p50: Float[np.ndarray, " m"]) -> BoundaryFit:
    """Fit power and drift by least squares in the logarithms, with standard errors.

    >>> import numpy as np
    >>> M = np.array([11.0, 23.0, 47.0, 101.0])
    >>> fit = fit_boundary(M, 3 * np.log(M) / M)
    >>> abs(round(fit.drift, 9)), np.round(fit.c, 9).tolist()
    (0.0, [3.0, 3.0, 3.0, 3.0])
    """
    M, p50 = np.asarray(M, float), np.asarray(p50, float)
    if len(M) < 3:
        raise ValueError(f"a fit with its error needs at least 3 group orders, got {len(M)}")
    n = p50 * M**2
    c = n / (M * np.log(M))
    (power, power_error), (drift, drift_error) = (_slope(np.log(M), np.log(y)) for y in (n, c))
    return BoundaryFit(power, power_error, tuple(c.tolist()), drift, drift_error)


def _slope(x: Float[np.ndarray, " m"], y: Float[np.ndarray, " m"]) -> tuple[float, float]:
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    rest = y - y.mean() - slope * x
    return slope, float(np.sqrt(rest @ rest / (len(x) - 2) / (x @ x)))
