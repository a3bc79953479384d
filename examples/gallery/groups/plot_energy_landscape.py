"""
An energy landscape and its maxima
==================================

Between memorising and generalising, each hidden unit of a two-layer network climbs an energy of its own. On modular
addition the tops of this landscape are pure waves: a unit at a top has picked one frequency. The picture is a map
of the landscape between three of them.
"""

import numpy as np

from firstlight import features, groups
from firstlight.records import figure

group = groups.parse("Z7")


def wave(k: int) -> np.ndarray:
    """Return the hidden unit of length one that looks at frequency k of both summands."""
    row = np.cos(2 * np.pi * k * np.arange(7) / 7)
    return np.concatenate([row, row]) / np.linalg.norm(np.concatenate([row, row]))


# %%
# A point of the map is a mixture of the waves 1, 2 and 3, scaled to length one. Its middle is the equal mixture.
tops = np.stack([wave(1), wave(2), wave(3)], axis=1)
axes = np.array([[1, 1, 1], [1, -1, 0], [-1, -1, 2]]).T / np.sqrt([3, 2, 6])
side = np.linspace(-2.2, 2.2, 161)
x, y = np.meshgrid(side, side)
units = tops @ axes @ np.stack([np.ones_like(x), x, y]).reshape(3, -1)
units /= np.linalg.norm(units, axis=0)
height = features.energy(units, group).reshape(x.shape)
blank = [""] * len(side)
landscape = figure.heatmap(
    height[::-1],
    x="← more of wave 2          more of wave 1 →",
    y="more of wave 3 →",
    value="energy",
    rows=blank,
    columns=blank,
    title="Energy between three waves",
)

# %%
# Theory gives the height of the tops: M/4 for a group of M = 7 elements, and no other maxima. Sixty units that
# start at random and climb all end at this height, each on one wave.
starts = features.random_starts(group, 60, seed=0)
ends = features.ascend(features.GroupEnergy(group), starts)
before = features.energy(starts, group)
climb = figure.histogram(
    {"at random": before, "after the climb": ends.energy},
    x="energy of a hidden unit",
    y="hidden units",
    bins=25,
    title="Sixty climbs",
)
print("theory:", [m.energy for m in features.maxima(group)], "  reached:", np.unique(ends.energy.round(6)))

# %%
figure.panels([landscape, climb], columns=2, title="Hidden units on Z7 climb to pure waves")
