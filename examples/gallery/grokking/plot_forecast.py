"""
A forecast, and the run
=======================

Will this run generalise, and when? The forecast below is made before the first step, from the setting alone. The
run that follows shows how good it was.
"""

import numpy as np

from firstlight import runs
from firstlight.records import figure, spec_from_mapping
from firstlight.records.figure import Series
from firstlight.theories import li2

spec = spec_from_mapping(
    {
        "task": {"group": "Z23", "split": {"fraction": 0.6}},
        "model": {"width": 256},
        "optimizer": {"learning_rate": 2e-3, "weight_decay": 1e-3},
        "steps": 300,
        "recording": {"every": 5},
    }
)
forecast = li2.predict(spec)
print(forecast.story)

# %%
# The same setting, trained with four seeds.
records = runs.run_many([spec.model_copy(update={"seed": seed}) for seed in range(4)], progress="off")
reached = [runs.first_step(record, "test_accuracy") for record in records]
print("generalised at epochs", reached)

# %%
# The band is the forecast's 80 % interval: four of five runs should cross 0.99 inside it.
epochs = records[0].table.step
test = np.stack([record.table["test_accuracy"] for record in records])
expected = forecast.generalises
figure.curves(
    [Series(f"held-out pairs, seed {seed}", epochs, row) for seed, row in enumerate(test)],
    x="epoch",
    y="accuracy on held-out pairs",
    stages=[("80 % interval of the forecast", expected.low, expected.high)],
    vertical={"forecast": expected.median},
    title="Addition mod 23: the forecast and four runs",
)
