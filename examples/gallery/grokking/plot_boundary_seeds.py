"""
The boundary, seed by seed
==========================

How much data is enough? Instead of a grid, a search by bisection finds for each seed the smallest share of the
pairs that is enough to generalise. The boundary differs a little between seeds; theory gives a formula for its
middle, n ∝ M ln M for a group of M elements.
"""

import numpy as np

from firstlight.records import figure
from firstlight.records.figure import Series
from firstlight.sweeps import boundary

base = {
    "model": {"width": 128},
    "optimizer": {"learning_rate": 0.01, "weight_decay": 1e-3},
    "steps": 500,
    "recording": {"every": 25},
}
sizes = [7, 11, 17]
result = boundary(
    base,
    "task.split.fraction",
    (0.2, 0.9),
    groups=[f"Z{size}" for size in sizes],
    seeds=3,
    precision=0.05,
    progress="off",
)
result.boundaries[["task.group", "p50", "error", "low", "high", "runs"]]

# %%
# Points are seeds; the line is c · ln M / M with one constant c, fitted to all of them.
brackets = result.brackets.assign(
    M=lambda t: t["task.group"].str[1:].astype(int), middle=lambda t: (t["low"] + t["high"]) / 2
)
brackets = brackets[np.isfinite(brackets["middle"])]
law = np.log(brackets["M"]) / brackets["M"]
c = float((brackets["middle"] * law).sum() / (law**2).sum())
M = np.linspace(6, 18, 60)
figure.scatter(
    [
        Series(
            "one seed",
            brackets["M"].to_numpy() + 0.12 * (brackets["seed"].to_numpy() - 1),
            brackets["middle"].to_numpy(),
            style="points",
        )
    ],
    fits=[Series(f"{c:.1f} ln M / M", M, c * np.log(M) / M)],
    x="elements of the group, M",
    y="share of pairs needed",
    title="How much data cyclic groups need",
)
