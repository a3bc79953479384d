"""
No weight decay, no grokking
============================

Two networks start from the same weights and see the same pairs. Both memorise. Only the one with weight decay goes
on to generalise: without it the output layer fits the training pairs, and then nothing that carries the labels
flows back to the hidden layer.
"""

from firstlight import runs
from firstlight.records import figure, spec_from_mapping
from firstlight.records.figure import Series

base = {
    "task": {"group": "Z23", "split": {"fraction": 0.5}},
    "model": {"width": 512},
    "optimizer": {"learning_rate": 2e-3},
    "steps": 500,
    "recording": {"every": 5},
    "lenses": ["li2"],
}
specs = [
    spec_from_mapping({**base, "optimizer": {"learning_rate": 2e-3, "weight_decay": decay}}) for decay in (1e-3, 0.0)
]
records = runs.run_many(specs, progress="off")
names = ("with weight decay", "without")

# %%
# Left: accuracy on pairs that were held out. Right: how far the signal G_F, which the output layer sends back to
# the hidden layer, still carries the labels: 1 is entirely, 0 not at all.
accuracy = figure.curves(
    [Series(name, r.table.step, r.table["test_accuracy"]) for name, r in zip(names, records, strict=True)]
    + [
        Series(f"{name}, training pairs", r.table.step, r.table["train_accuracy"], style="dashed", like=name)
        for name, r in zip(names, records, strict=True)
    ],
    x="epoch",
    y="accuracy",
    title="Both memorise, one generalises",
)
signal = figure.curves(
    [Series(name, r.table.step[1:], r.table["li2.alignment"][1:]) for name, r in zip(names, records, strict=True)],
    x="epoch",
    y="cosine of G_F with the labels",
    horizontal={"": 0.0},
    title="What flows back to the hidden layer",
)
figure.panels([accuracy, signal], columns=2, title="Addition mod 23, half of the pairs")
