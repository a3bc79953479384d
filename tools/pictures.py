"""Draw the pictures of the README, and write down the numbers that its text repeats.

Run `python -m tools.pictures` in the root of the repository; names (demo, phase, table) draw a part. It trains the demo
and a sweep of 126 small runs, and fits a table: about three minutes on two cores. The lab's pictures are screenshots.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from firstlight import plots, runs
from firstlight._files import write_atomically
from firstlight.cli.commands.demo import demo_spec, shown_record
from firstlight.cli.commands.predict import forecast_spec
from firstlight.records import FigureData, figure, run_id, spec_from_mapping
from firstlight.runs import portraits

IMAGES = Path("docs/images")
NUMBERS = IMAGES / "numbers.json"

ORDERS, FRACTIONS, SEEDS = (7, 11, 15, 19, 23, 27), (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), 3


def demo() -> dict[str, Any]:
    """Draw the demo's forecast and run, and its learned circles."""
    spec = runs.with_lenses(demo_spec())
    forecast, outcome = forecast_spec(spec), runs.compute([spec])[0]
    record = shown_record(outcome, forecast)
    _write("grokking", record.figures[0])
    _write("circles", portraits(outcome)[1])
    return {
        "spec": run_id(record.spec),
        "memorised": record.summary["memorised_at"],
        "generalised": record.summary["generalised_at"],
        "forecast": [round(forecast.generalises.low), round(forecast.generalises.high)],
        "irreps": record.summary["li2"]["learned_irreps"],
    }


def phase() -> dict[str, Any]:
    """Draw the share of seeds that generalise, over the group's order and the share of pairs seen in training."""
    rates, boundaries = np.zeros((len(FRACTIONS), len(ORDERS))), []
    for column, order in enumerate(ORDERS):
        specs = [_small(order, fraction, seed) for fraction in FRACTIONS for seed in range(SEEDS)]
        records = runs.run_many(specs)
        success = [record.summary["generalised_at"] is not None for record in records]
        rates[:, column] = np.reshape(success, (len(FRACTIONS), SEEDS)).mean(axis=1)
        forecast = forecast_spec(specs[0])
        boundaries.append(forecast.boundary / forecast.pairs)
    theory = [figure.Series("boundary forecast by Li₂", ORDERS, boundaries)]
    axes = {"x": "order of the group", "y": "share of pairs in training", "value": "share of seeds"}
    drawn = figure.phase(ORDERS, FRACTIONS, rates, **axes, title="Which runs generalise?", theory=theory)
    _write("phase-orders", drawn)
    return {"runs": len(ORDERS) * len(FRACTIONS) * SEEDS, "rates": rates.round(3).tolist()}


def _small(order: int, fraction: float, seed: int) -> Any:
    return spec_from_mapping(
        {
            "task": {"group": f"Z{order}", "split": {"fraction": fraction}},
            "model": {"width": 128},
            "optimizer": {"learning_rate": 2e-3, "weight_decay": 1e-3},
            "steps": 1200,
            "stop": [{"observable": "test_accuracy", "at_least": 1.0}],
            "seed": seed,
        }
    )


def table() -> dict[str, Any]:
    """Draw the importances of Friedman's table, in which five of ten columns matter."""
    from sklearn.datasets import make_friedman1

    from firstlight.rfm import RFMRegressor

    X, y = make_friedman1(500, n_features=10, noise=1.0, random_state=0)
    model = RFMRegressor().fit(X, y)
    shares, matter = model.feature_importances_, [1] * 5 + [0] * 5
    heights = {"matters": shares * matter, "has no effect": shares * np.subtract(1, matter)}
    names = [f"x{i}" for i in range(10)]
    drawn = figure.bars(names, heights, x="column", y="importance", title="Which columns matter?")
    _write("importances", drawn)
    return {"smallest that matters": float(shares[:5].min()), "largest that does not": float(shares[5:].max())}


def _write(name: str, drawn: FigureData) -> None:
    write_atomically(IMAGES / f"{name}.svg", plots.svg(drawn).encode())


def main() -> None:
    """Draw all pictures, or those that are named."""
    parts = {"demo": demo, "phase": phase, "table": table}
    numbers = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}
    for name in sys.argv[1:] or parts:
        numbers[name] = parts[name]()
        write_atomically(NUMBERS, (json.dumps(numbers, indent=1, ensure_ascii=False) + "\n").encode())


if __name__ == "__main__":
    main()
