"""
Wrong labels
============

Some of the products that the network sees are wrong. It is judged on pairs that it does not see, by the true
product. Up to a tenth of wrong labels only delay the moment at which it finds the rule; with a fifth it no longer
finds all of it in the time given.
"""

from firstlight import runs
from firstlight.records import figure, spec_from_mapping
from firstlight.records.figure import Series

noises = (0.0, 0.05, 0.1, 0.2)
specs = [
    spec_from_mapping(
        {
            "task": {"group": "Z17", "label_noise": noise, "split": {"fraction": 0.75}},
            "model": {"width": 192},
            "optimizer": {"learning_rate": 5e-3, "weight_decay": 2e-3},
            "steps": 300,
            "recording": {"every": 5},
        }
    )
    for noise in noises
]
records = runs.run_many(specs, progress="off")

# %%
# The accuracy on the pairs that were seen includes the wrong labels: whoever reaches 1 there has memorised the
# errors.
held_out = figure.curves(
    [
        Series(f"{noise:.0%} wrong", r.table.step, r.table["test_accuracy"])
        for noise, r in zip(noises, records, strict=True)
    ],
    x="epoch",
    y="accuracy",
    title="Held-out pairs, true products",
)
seen = figure.curves(
    [
        Series(f"{noise:.0%} wrong", r.table.step, r.table["train_accuracy"])
        for noise, r in zip(noises, records, strict=True)
    ],
    x="epoch",
    y="accuracy",
    title="Training pairs, with wrong labels",
)
figure.panels([held_out, seen], columns=2, title="Addition mod 17 with wrong labels")
