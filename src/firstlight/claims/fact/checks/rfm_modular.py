"""Modular addition: block-circulant features (Figure 6), and the similarity of AGOP and FACT (Figure 7)."""

import functools

import numpy as np

from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.fact.tolerances import CIRCULANT, DELAYED, MODULAR_ACCURACY, SIMILAR_FACTORS, STALLED
from firstlight.features import pearson
from firstlight.records import figure
from firstlight.rfm import Gaussian, Kernel, Quadratic, Rule, recursive_feature_machine

RIDGE = 1e-12
"""The smallest ridge in double precision; the paper has none."""


def table(p: int, fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return one-hot pairs (p², 2p), their sums, and the rows for training and for testing."""
    a, b = np.divmod(np.arange(p * p), p)
    X = np.concatenate([np.eye(p)[a], np.eye(p)[b]], axis=1)
    order = np.random.default_rng(seed).permutation(p * p)
    count = int(fraction * p * p)
    return X, (a + b) % p, order[:count], order[count:]


def accuracy_curve(
    p: int, fraction: float, kernel: Kernel, rule: Rule, iterations: int, *, seed: int, enough: float = 2.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the test accuracy of every iteration and the last M; stop when the accuracy reaches `enough`."""
    X, y, train, test = table(p, fraction, seed)
    accuracy, M = [], np.eye(2 * p)
    run = recursive_feature_machine(X[train], np.eye(p)[y[train]], kernel, rule, iterations=iterations, ridge=RIDGE)
    for machine, f in run:
        M = machine.M
        accuracy.append(float(np.mean(f(X[test]).argmax(axis=1) == y[test])))
        if accuracy[-1] >= enough:
            break
    return np.array(accuracy), M


def circulant_share(M: np.ndarray) -> float:
    """Return the share of M's variation that block-circulant matrices explain.

    Each block is constant along (i, j) → (i + 1, j + 1) modulo p. Means of blocks and the diagonal of M do not count.
    """
    p = len(M) // 2
    i, j = np.meshgrid(np.arange(p), np.arange(p), indexing="ij")
    explained = total = 0.0
    for rows, columns in ((0, 0), (0, 1), (1, 1)):
        block = M[rows * p : (rows + 1) * p, columns * p : (columns + 1) * p]
        line = (i - j) % p
        counted = (line != 0) | (rows != columns)
        values, where = block[counted], line[counted]
        sums, counts = np.bincount(where, values, p), np.maximum(np.bincount(where, minlength=p), 1)
        spread = values - values.mean()
        total += float(spread @ spread)
        explained += float(np.sum((sums / counts)[where] * spread))
    return explained / total


@functools.lru_cache(maxsize=8)
def _runs(scale: str, seed: int) -> tuple[int, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Return p, and accuracy curves and last metrics by method. Cached, because two claims use them."""
    p, fraction = (31, 0.75) if scale == "quick" else (61, 0.5)
    length = (12, 30, 30) if scale == "quick" else (25, 75, 40)
    return p, {
        "NFA, quadratic": accuracy_curve(
            p, fraction, Quadratic(), Rule("nfa", None, centred=True), length[0], seed=seed
        ),
        "FACT geometric, quadratic": accuracy_curve(
            p, fraction, Quadratic(), Rule("fact_geometric", None), length[1], seed=seed
        ),
        "FACT geometric, Gaussian": accuracy_curve(
            p, fraction, Gaussian(2.5), Rule("fact_geometric", None), length[2], seed=seed
        ),
    }


def modular_addition(setting: Setting) -> Outcome:
    """Measure the accuracy over iterations and the block-circulant share of M."""
    seed = setting.seeds_or((0,))[0]
    p, runs = _runs(setting.scale, seed)
    good = MODULAR_ACCURACY[setting.scale]
    measured = {}
    for name, (accuracy, M) in runs.items():
        above = np.flatnonzero(accuracy > good)
        measured[name] = {
            "test accuracy": [float(accuracy[0]), float(accuracy.max())],
            f"first iteration above {good}": int(above[0]) if len(above) else None,
            "share of M that is block-circulant": circulant_share(M),
        }
    learned = ["NFA, quadratic", "FACT geometric, quadratic"]
    late = all(runs[name][0][2] < DELAYED and runs[name][0].max() > good for name in learned)
    circulant = all(measured[name]["share of M that is block-circulant"] > CIRCULANT for name in learned)
    stalls = runs["FACT geometric, Gaussian"][0].max() < STALLED
    curves = figure.curves(
        [figure.Series(name, np.arange(len(accuracy)), accuracy) for name, (accuracy, _) in runs.items()],
        x="iteration",
        y="test accuracy",
        title=f"Addition modulo {p}",
    )
    maps = [_map(runs[name][1], name) for name in learned]
    return Outcome(
        "holds-as-corrected" if late and circulant and stalls else "fails",
        measured,
        {
            key: {"test accuracy": f"above {good}", "share of M that is block-circulant": f"above {CIRCULANT}"}
            for key in learned
        },
        evidence=(
            "Best test accuracy of the geometric FACT update: "
            f"{runs['FACT geometric, Gaussian'][0].max():.2f} with the Gaussian kernel, "
            f"{runs['FACT geometric, quadratic'][0].max():.3f} with the quadratic kernel."
        ),
        figures=(
            figure.panels([curves, *maps], columns=3, title="Grokking modular addition without a neural network"),
        ),
        seeds=(seed,),
    )


def similar_factors(setting: Setting) -> Outcome:
    """Compare τ with k′ over pairs of training rows after FACT-RFM has converged."""
    seed = setting.seeds_or((0,))[0]
    p, runs = _runs(setting.scale, seed)
    M = runs["FACT geometric, quadratic"][1]
    X, _, train, _ = table(p, 0.75 if setting.scale == "quick" else 0.5, seed)
    slope = 2 * X[train] @ M @ X[train].T
    tau = slope.T @ slope / len(train)
    correlation = float(pearson(tau, slope))
    first = slope.ravel() @ tau.ravel() / (slope.ravel() @ slope.ravel())
    pairs = np.random.default_rng(seed).integers(0, len(train), (2, 1000))
    x, y = slope[tuple(pairs)], tau[tuple(pairs)]
    line = np.array([0.0, float(x.max())])
    shown = figure.scatter(
        [figure.Series("pairs of rows", x, y, style="points")],
        x="k′(xᵢᵀMxⱼ)",
        y="τ(xᵢ, M, xⱼ)",
        fits=[figure.Series("best proportional fit", line, first * line)],
        title="The two factors of Proposition 5.1",
        caption=f"Addition modulo {p}, FACT-RFM at its end; 1000 pairs.",
    )
    good = SIMILAR_FACTORS[setting.scale]
    return Outcome(
        "holds" if correlation > good else "fails",
        {"Pearson correlation of τ and k′": correlation, "slope of the proportional fit": float(first)},
        {"Pearson correlation of τ and k′": f"above {good}"},
        figures=(shown,),
        seeds=(seed,),
    )


def _map(M: np.ndarray, title: str) -> figure.FigureData:
    # The diagonal is far larger than the other entries and would hide them.
    return figure.heatmap(
        M - np.diag(M.diagonal()), x="residue", y="residue", value="M", palette="diverging", title=title
    )
