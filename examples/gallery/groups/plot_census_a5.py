"""
A census of the maxima on A5
============================

Where can a hidden unit end up? A5 is the group of rotations of an icosahedron, the smallest simple group that is
not commutative. Four hundred hidden units start at random and climb the energy; each ends in exactly one irrep, at
the height that theory gives.
"""

from firstlight import features, groups
from firstlight.records import figure
from firstlight.records.figure import Series

group = groups.parse("A5")
table = features.census(group, starts=400, seed=0, curved=2)
summary = table.groupby("component", sort=False).agg(
    dim=("dim", "first"),
    units=("energy", "size"),
    lowest=("energy", "min"),
    highest=("energy", "max"),
    theory=("predicted", "first"),
)
summary.sort_values("theory", ascending=False)

# %%
# The highest tops belong to the smallest irreps. More units end at the lower tops of the larger irreps, which take
# up more directions of the weights.
ordered = summary.sort_index()
reached = figure.bars(
    list(ordered.index),
    {"hidden units": ordered["units"].to_numpy()},
    x="irrep, named by its dimension",
    y="hidden units",
    title="Where 400 ascents end",
)
heights = figure.scatter(
    [Series("ends of ascents", table["predicted"].to_numpy(), table["energy"].to_numpy(), style="points")],
    x="height of the top by theory, M/2d",
    y="height reached",
    identity=True,
    title="Height of every end",
)
figure.panels([reached, heights], columns=2, title="400 hidden units on A5")
