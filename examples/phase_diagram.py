"""Sweep training fraction and weight decay on Z13, and draw the phase diagram with the forecast over it.

Run `python examples/phase_diagram.py`. It takes about half a minute.
"""

from firstlight import plots
from firstlight.sweeps import run_sweep, sweep_from_mapping

sweep = sweep_from_mapping(
    {
        "name": "Z13: how much data, and how much weight decay?",
        "seeds": 3,
        "base": {
            "task": {"group": "Z13"},
            "model": {"width": 128},
            "optimizer": {"learning_rate": 0.002},
            "steps": 1500,
            "recording": {"every": 25},
            "stop": [{"observable": "test_accuracy", "at_least": 0.99}],
        },
        "grid": {
            "task.split.fraction": [0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
            "optimizer.weight_decay": [0.0, 1e-4, 1e-3, 1e-2],
        },
    }
)

if __name__ == "__main__":
    result = run_sweep(sweep)
    (diagram,) = result.phases()
    print(plots.terminal(diagram.figures[0]))
    print(diagram.story)
    print("wrote", plots.save(diagram.figures[0], "phase.svg"))
