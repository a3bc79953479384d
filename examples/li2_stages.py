"""Train a small network on the symmetric group S4, watch it grok, and locate the three stages of grokking.

Run `python examples/li2_stages.py`. It takes about ten seconds.
"""

from firstlight import groups, plots, runs
from firstlight.records import RunSpec
from firstlight.theories import li2

spec = RunSpec.model_validate(
    {
        "task": {"group": "S4", "split": {"fraction": 0.7}},
        "model": {"width": 256},
        "optimizer": {"learning_rate": 2e-3, "weight_decay": 1e-3},
        "steps": 240,
        "recording": {"every": 4},
        "lenses": ["li2"],
    }
)

n = int(0.7 * groups.parse("S4").order ** 2)
eta = li2.decay_ridge(n, spec.optimizer.weight_decay, spec.loss)
print("Before:", li2.predict("S4", n=n, K=256, eta=eta).story)

record = runs.run(spec, progress="off")
print("After: ", record.summary["li2"]["story"])

for stage in li2.stages(record).stages:
    span = f"{stage.name:>12}, {spec.clock}s {stage.start} to {stage.end} (confidence {stage.confidence:.2f})"
    print(f"{span}: {stage.evidence}")

if __name__ == "__main__":
    for number, shown in enumerate(li2.LENSES[0].figure_data(record)):
        print("wrote", plots.save(shown, f"li2_stages_{number}.svg"))
