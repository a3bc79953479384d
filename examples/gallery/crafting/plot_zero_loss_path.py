"""
A path without loss
===================

Two different networks add numbers mod 7 perfectly. Between them runs a path on which every network is perfect too,
while the norm of the weights falls by a factor of nearly ten. A straight line between the same two networks leaves
the solutions at once.
"""

import numpy as np

from firstlight import groups
from firstlight.records import figure
from firstlight.records.figure import Axis, Series
from firstlight.theories import cogo

group = groups.parse("Z7")
path = cogo.zero_loss_path(cogo.lemmas.random_unit(group, 3, seed=0), cogo.craft(group))
t = np.linspace(0, 1, 41)
along = np.array([cogo.table_loss(*path.at(place).weights, group) for place in t])

# %%
# The straight line mixes the weights of both ends.
(W0, V0), (W1, V1) = path.at(0.0).weights, path.at(1.0).weights
straight = np.array([cogo.table_loss((1 - s) * W0 + s * W1, (1 - s) * V0 + s * V1, group) for s in t])
print(f"largest loss on the path {along.max():.0e}, on the straight line {straight.max():.2f}")

# %%
floor = 1e-32
loss = figure.curves(
    [Series("along the path", t, along + floor), Series("straight line", t, straight + floor)],
    x="way from one network to the other",
    y=Axis("loss", scale="log"),
    title="Loss",
)
norm = figure.curves(
    [Series("along the path", t, path.norms(t))], x="way from one network to the other", y="squared norm", title="Norm"
)
figure.panels([loss, norm], columns=2, title="From one perfect network to another")
