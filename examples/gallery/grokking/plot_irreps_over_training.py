"""
Which irreps are learned, and when
==================================

Hidden units start as noise, spread over all irreps of the group. During training each unit moves into one irrep,
which then dominates its weights. The picture counts these units in a network that learns S4, the permutations of
four things.
"""

import numpy as np

from firstlight import groups, runs
from firstlight.records import figure, spec_from_mapping
from firstlight.records.figure import Series

spec = spec_from_mapping(
    {
        "task": {"group": "S4", "split": {"fraction": 0.75}},
        "model": {"width": 192},
        "optimizer": {"learning_rate": 4e-3, "weight_decay": 2e-3},
        "steps": 240,
        "recording": {"every": 6},
        "lenses": ["li2"],
    }
)
record = runs.run(spec, progress="off")
components = groups.parse("S4").real_components()
shares = np.asarray(record.table["li2.nodes"])
print(record.summary["story"])

# %%
# A unit counts for an irrep once most of its weights lie there, beyond what chance would give. At the start none
# does.
epochs = record.table.step
figure.curves(
    [Series(f"{c.label}, dimension {c.dim}", epochs, shares[:, i]) for i, c in enumerate(components)],
    x="epoch",
    y="share of hidden units",
    vertical={"generalised": runs.first_step(record, "test_accuracy") or epochs[-1]},
    title="The irreps of S4 over training",
)
