"""
A phase diagram
===============

How much data does addition mod 11 need, and how strong may the weight decay be? Each cell is the share of three
seeds that generalise within 400 epochs. Below a certain share of the pairs no decay helps; with too strong a decay
nothing is learned at all.
"""

import numpy as np

from firstlight.records import figure
from firstlight.records.figure import Axis
from firstlight.sweeps import run_sweep, sweep_from_mapping

fractions = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
decays = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2]
sweep = sweep_from_mapping(
    {
        "seeds": 3,
        "base": {
            "task": {"group": "Z11"},
            "model": {"width": 64},
            "optimizer": {"learning_rate": 1e-2},
            "steps": 400,
            "recording": {"every": 25},
        },
        "grid": {"task.split.fraction": fractions, "optimizer.weight_decay": decays},
    }
)
table = run_sweep(sweep, jobs=2, progress="off").frame
print(len(table), "runs, of which", int(table["generalised_at"].notna().sum()), "generalised")

# %%
# One row of the table is one run; the diagram averages over seeds.
rate = table.assign(success=table["generalised_at"].notna()).pivot_table(
    index="optimizer.weight_decay", columns="task.split.fraction", values="success", aggfunc="mean"
)
figure.phase(
    np.array(fractions),
    np.array(decays),
    rate.to_numpy(dtype=float),
    x="share of the pairs that trains",
    y=Axis("weight decay", scale="log"),
    value="share of seeds that generalise",
    title="Where addition mod 11 is learned",
)
