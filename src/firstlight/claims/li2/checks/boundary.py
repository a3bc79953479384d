"""Number of samples that preserve the maxima of the energy (Theorem 4), for two energies."""

import numpy as np

from firstlight import groups
from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.li2.tolerances import DRIFT_SIGMAS
from firstlight.records import figure
from firstlight.theories import li2

_ENERGIES = {"plain energy": False, "residualised energy": True}


def survival_boundary(setting: Setting) -> Outcome:
    """Measure p₅₀ of both energies: against M for cyclic groups, against the irrep's dimension for other groups."""
    seeds = setting.seeds_or(range(setting.choose(quick=3, paper=10)))
    orders = np.array(setting.choose(quick=(11, 23), paper=(11, 17, 23, 31, 41, 61, 101, 127)))
    evaluations, nodes = setting.choose(quick=(5, 6), paper=(9, 12))
    p50 = {}
    for i, M in enumerate(orders):
        for label, residualised in _ENERGIES.items():
            setting.progress(0.7 * i / len(orders), f"Z{M}, {label}")
            boundaries = li2.lemmas.locate_boundary(groups.cyclic(int(M)), seeds, residualised, nodes, evaluations)
            p50.setdefault(label, []).append(boundaries)
    each = np.repeat(orders, len(seeds))
    fits = {label: li2.lemmas.fit_boundary(each, np.concatenate(p)) for label, p in p50.items()}
    p50 = {label: [float(np.exp(np.log(by_seed).mean())) for by_seed in p] for label, p in p50.items()}
    c = {label: np.array(p) * orders / np.log(orders) for label, p in p50.items()}
    by_dim = {}
    multiples = setting.choose(quick=(1.7, 2.2, 2.8, 3.4), paper=(1.2, 1.5, 1.8, 2.1, 2.4, 2.8, 3.2, 3.7, 4.3, 5.0))
    for i, name in enumerate(setting.choose(quick=("D13",), paper=("D23", "A5", "S4"))):
        setting.progress(0.7 + 0.1 * i, name)
        by_dim[name] = _by_dimension(name, multiples, seeds)
    largest = {name: c[max(c)] / c[min(c)] for name, c in by_dim.items()}
    plain, residual = (fits[label] for label in _ENERGIES)
    first, last = ([values[end] for values in c.values()] for end in (0, -1))
    holds = plain.drift > DRIFT_SIGMAS * plain.drift_error and plain.drift > residual.drift and _no_square(by_dim)
    return Outcome(
        "holds-as-corrected" if holds else "fails",
        {
            "p₅₀": {label: dict(zip(map(str, orders.tolist()), p, strict=True)) for label, p in p50.items()},
            "n/(M ln M)": {label: list(values) for label, values in c.items()},
            "power of M in n": {label: [fit.power, fit.power_error] for label, fit in fits.items()},
            "power of M in n/(M ln M)": {label: [fit.drift, fit.drift_error] for label, fit in fits.items()},
            "n/(M ln M) by dimension, residualised": by_dim,
            "largest over smallest dimension": largest,
        },
        {"power of M in n/(M ln M)": 0.0, "n/(M ln M) by dimension": "∝ d² as printed"},
        evidence=(
            f"n/(M ln M) of the plain energy grows from {first[0]:.2f} at M = {orders[0]} to {last[0]:.2f} at "
            f"M = {orders[-1]}, n ∝ M^{plain.power:.2f}; of the residualised energy from {first[1]:.2f} to "
            f"{last[1]:.2f}. Between the smallest and the largest dimension of an irrep n/(M ln M) changes by a factor "
            + ", ".join(f"{ratio:.2f} ({name})" for name, ratio in largest.items())
            + ", where the law d² would give "
            + ", ".join(f"{(max(c) / min(c)) ** 2:.1f}" for c in by_dim.values())
            + "."
        ),
        figures=(_boundary_figure(orders, p50),),
        seeds=seeds,
    )


def _by_dimension(name: str, multiples: tuple[float, ...], seeds: tuple[int, ...]) -> dict[int, float]:
    """Return c = p₅₀ M / ln M of the residualised energy for every dimension of a non-trivial irrep."""
    group = groups.parse(name)
    M = group.order
    fractions = np.array(multiples) * np.log(M) / M
    table = li2.energy_boundary(group, fractions[fractions < 1], seeds, residualised=True, nodes=10)
    p50 = {int(d): li2.critical_fraction(table, int(d)) for d in np.unique(table["dim"])}
    return {d: p * M / np.log(M) for d, p in p50.items() if np.isfinite(p)}


def _no_square(by_dim: dict[str, dict[int, float]]) -> bool:
    """Check that log c rises with d by less than half of log d², in every group."""
    pairs = [(c[max(c)] / c[min(c)], max(c) / min(c)) for c in by_dim.values() if len(c) > 1]
    return bool(pairs) and all(np.log(ratio) < 0.5 * np.log(d**2) for ratio, d in pairs)


def _boundary_figure(orders: np.ndarray, p50: dict[str, list[float]]) -> figure.FigureData:
    series = [figure.Series(label, orders, p) for label, p in p50.items()]
    M = np.geomspace(orders[0], orders[-1], 50)
    series.append(figure.Series("2.7482 ln M / M, released code", M, li2.lemmas.released_boundary(M), style="dashed"))
    return figure.curves(
        series,
        x=figure.Axis("group order M", scale="log"),
        y=figure.Axis("data fraction p₅₀", scale="log"),
        title="How much data keeps the maxima of the energy",
        caption=(
            "At p₅₀ half of the maxima survive: an ascent that starts there keeps its irrep, half way above chance."
        ),
    )
