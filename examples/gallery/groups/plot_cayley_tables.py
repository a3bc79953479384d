"""
Four groups of order 12
=======================

A finite group is a multiplication table. These four tables have twelve elements each, and a network that learns one
of them has to find different features: Z12 is addition on a clock, D6 are the symmetries of a hexagon, A4 the
rotations of a tetrahedron, and Dic3 is the only group of twelve elements with a quaternionic irrep.
"""

import numpy as np

from firstlight import groups
from firstlight.records import figure

names = ("Z12", "D6", "A4", "Dic3")
tables = np.stack([groups.parse(name).table for name in names])
labels = [
    f"{name}: {'commutative' if (t == t.T).all() else 'not commutative'}" for name, t in zip(names, tables, strict=True)
]

# %%
# Row g, column h, colour gh. In a commutative group the table is symmetric about its diagonal.
figure.grid(
    tables,
    labels=labels,
    x="second factor",
    y="first factor",
    value="product",
    columns=2,
    palette="sequential",
    title="Multiplication tables of order 12",
)

# %%
# The sizes of the irreps say how hard a group is: each irrep of dimension d holds d² of the twelve dimensions.
for name in names:
    print(f"{name:>5}: dimensions", [irrep.dim for irrep in groups.parse(name).irreps()])
