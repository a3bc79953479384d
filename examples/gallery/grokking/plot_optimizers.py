"""
Four optimizers on one task
===========================

The same network, the same pairs, the same start, and Adam, AdamW, SGD and Muon, each at a rate that suits it. Three
of them generalise in the time given, at different speeds. For a fair duel with tuning and equal compute use
`firstlight duel`.
"""

from firstlight import runs
from firstlight.records import figure, spec_from_mapping
from firstlight.records.figure import Series

settings = {
    "Adam": {"name": "adam", "learning_rate": 2e-2, "weight_decay": 1e-3},
    "AdamW": {"name": "adamw", "learning_rate": 2e-2, "weight_decay": 1.0},
    "SGD": {"name": "sgd", "learning_rate": 1.0, "weight_decay": 1e-3},
    "Muon": {"name": "muon", "learning_rate": 0.2, "weight_decay": 1.0},
}
base = {
    "task": {"group": "Z17", "split": {"fraction": 0.6}},
    "model": {"width": 128},
    "steps": 250,
    "recording": {"every": 5},
}
records = {
    name: runs.run(spec_from_mapping({**base, "optimizer": optimizer}), progress="off")
    for name, optimizer in settings.items()
}
for name, record in records.items():
    memorised, generalised = (runs.first_step(record, column) for column in ("train_accuracy", "test_accuracy"))
    print(f"{name:>6}: memorised at epoch {memorised}, generalised at epoch {generalised}")

# %%
# Solid: held-out pairs. Dashed: training pairs.
held_out = [Series(name, record.table.step, record.table["test_accuracy"]) for name, record in records.items()]
training = [
    Series(f"{name}, training", record.table.step, record.table["train_accuracy"], style="dashed", like=name)
    for name, record in records.items()
]
figure.curves(held_out + training, x="epoch", y="accuracy", title="Addition mod 17, four optimizers")
