"""
Grokking on S4
==============

A network with 256 hidden units sees 70 % of the products of S4, the group of all permutations of four things. It
memorises what it sees within some twenty epochs, and for a while knows nothing about the other products. Then it
generalises. Li₂ explains the delay by three stages, which the recorded run marks by itself.
"""

from firstlight import runs
from firstlight.records import figure, spec_from_mapping
from firstlight.records.figure import Series
from firstlight.theories import li2

spec = spec_from_mapping(
    {
        "task": {"group": "S4", "split": {"fraction": 0.7}},
        "model": {"width": 256},
        "optimizer": {"learning_rate": 2e-3, "weight_decay": 1e-3},
        "steps": 240,
        "recording": {"every": 4},
        "lenses": ["li2"],
    }
)
record = runs.run(spec, progress="off")
print(record.summary["story"])

# %%
# The stages come from what the lens measures, not from the accuracies: while the stage is lazy only the output
# layer learns; then every hidden unit climbs its own energy; in the end the units react to each other.
marked = li2.stages(record).stages
for stage in marked:
    print(f"{stage.name}: epochs {stage.start} to {stage.end}")

# %%
# Training and held-out accuracy, with the stages shaded.
epochs = record.table.step
figure.curves(
    [
        Series("training pairs", epochs, record.table["train_accuracy"], style="dashed"),
        Series("held-out pairs", epochs, record.table["test_accuracy"]),
        Series("purity of hidden units", epochs, record.table["li2.purity"]),
    ],
    x="epoch",
    y="share",
    stages=[(stage.name, stage.start, stage.end) for stage in marked],
    title="A network learns S4: it memorises, waits, and generalises",
)
