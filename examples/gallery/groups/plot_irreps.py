"""
The irreps of S4
================

Every function on a group is a sum of waves. On a clock the waves are sines and cosines; on the group S4 of all
permutations of four things they are the entries of five irreps, of dimension 1, 1, 2, 3 and 3. Below, each column
is a wave and each row a permutation.
"""

import numpy as np

from firstlight import groups
from firstlight.records import figure

group = groups.parse("S4")
components = group.real_components()
columns = [component.label for component in components for _ in range(component.size)]

# %%
# The waves are orthogonal, and there are as many as elements: together they describe every function on the group.
basis = group.real_basis()
print("orthogonal to", f"{np.abs(basis.T @ basis - np.eye(24)).max():.0e}")
print("waves of each irrep:", {component.label: component.size for component in components})

# %%
# The trivial irrep is constant and the sign irrep takes two values; the others vary. Elements are sorted by their
# conjugacy class, the kind of permutation.
order = np.concatenate([np.asarray(members) for members in group.classes])
limit = float(np.abs(basis).max())
figure.heatmap(
    basis[order],
    x="wave, one block of columns for each irrep",
    y="permutation, sorted by kind",
    value="value",
    palette="diverging",
    limits=(-limit, limit),
    title="The 24 waves of S4",
)

# %%
# A character is the trace of an irrep. It is the same for all permutations of one kind, so that a small table says
# all.
table = groups.character_table(group).real
figure.heatmap(
    table,
    x="kind of permutation (size of the class)",
    y="irrep",
    value="character",
    palette="diverging",
    rows=[irrep.label for irrep in group.irreps()],
    columns=[str(len(members)) for members in group.classes],
    title="Character table of S4",
)
