"""
Counting the building blocks of a trained network
=================================================

CoGO says that a network which adds numbers is a sum of blocks, one for each frequency, of four or six hidden units.
The census below takes a network apart during training: how many hidden units serve each frequency, and which block
they form.
"""

import tempfile
from pathlib import Path

import numpy as np

from firstlight import groups, runs
from firstlight.records import figure, spec_from_mapping
from firstlight.records.figure import Series
from firstlight.theories import cogo

group = groups.parse("Z11")
spec = spec_from_mapping(
    {
        "task": {"group": "Z11", "split": {"fraction": 1.0}},
        "model": {"width": 96},
        "optimizer": {"learning_rate": 0.02, "weight_decay": 1e-3, "schedule": {"shape": "cosine"}},
        "steps": 3000,
        "recording": {"every": 150},
        "snapshots": 21,
    }
)
with tempfile.TemporaryDirectory() as folder:
    store = Path(folder) / "runs.sqlite"
    record = runs.run(spec, store=store, progress="off")
    networks = {step: runs.load_model(record, store, step) for step in runs.snapshot_steps(spec)}

# %%
# At each snapshot, count the hidden units of each frequency, and those that serve none.
blocks = {step: cogo.order_census(net.W, net.V, group) for step, net in networks.items()}
print("at the end:", blocks[max(blocks)])

# %%
# Weight decay removes one hidden unit after another until every frequency is left with four or six.
labels = [block.label for block in blocks[0].groups]
counts = np.array([[len(block.hidden_units) for block in census.groups] for census in blocks.values()])
idle = [len(census.idle) for census in blocks.values()]
steps = np.array(list(blocks))
serving = figure.curves(
    [Series(f"frequency {label}", steps, counts[:, i]) for i, label in enumerate(labels)],
    x="epoch",
    y="hidden units",
    horizontal={"six": 6, "four": 4},
    title="Hidden units of each frequency",
)
free = figure.curves(
    [Series("serve no frequency", steps, idle)], x="epoch", y="hidden units", title="Hidden units that are idle"
)
figure.panels([serving, free], columns=2, title="A network learns addition mod 11 and tidies up")
