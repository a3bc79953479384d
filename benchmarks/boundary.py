"""A boundary by bisection against the grid of the same precision."""

import time

from benchmarks._timing import result

__all__ = ["boundary_vs_grid"]

GROUP, FIELD, ENDS, PRECISION, SEEDS = "Z23", "task.split.fraction", (0.1, 0.8), 0.01, 3
BASE = {
    "task": {"group": GROUP},
    "model": {"width": 128},
    "optimizer": {"learning_rate": 0.01, "weight_decay": 1e-3},
    "steps": 2000,
    "recording": {"every": 25},
}


def boundary_vs_grid() -> dict:
    """Training steps to find p₅₀ of Z23 to 0.01 with three seeds; runs of the grid also end when they generalise."""
    import numpy as np

    from firstlight import runs
    from firstlight.records import RunSpec, first_row
    from firstlight.sweeps import GENERALISED, Sweep, boundary

    start = time.perf_counter()
    search = boundary(BASE, FIELD, ENDS, seeds=SEEDS, precision=PRECISION, progress="off")
    seconds = time.perf_counter() - start
    p50 = float(search.boundaries["p50"].iloc[0])

    values = np.linspace(*ENDS, round((ENDS[1] - ENDS[0]) / PRECISION) + 1).round(6).tolist()
    spec = RunSpec.model_validate(BASE).model_copy(update={"stop": (GENERALISED,)})
    grid = Sweep(base=spec, grid={FIELD: tuple(values)}, seeds=tuple(range(SEEDS))).expand()
    start = time.perf_counter()
    records = [outcome.record for outcome in runs.compute(grid, progress="off", keep_weights=False)]
    grid_seconds = time.perf_counter() - start
    steps = sum(record.steps for record in records)

    def crossing(seed: int) -> float:
        """Return the middle of the first cell of the grid beyond the last failure of a seed."""
        failed = [
            record.spec.task.split.fraction  # type: ignore[union-attr]
            for record in records
            if record.spec.seed == seed and first_row(record.table, "test_accuracy") is None
        ]
        return max(failed) + PRECISION / 2  # type: ignore[type-var]

    return result(
        steps / search.steps,
        "× fewer steps",
        "higher",
        8.0,
        (f"grid of {len(values)} fractions × {SEEDS} seeds, training steps", steps),
        steps=search.steps,
        runs=len(search.records),
        grid_runs=len(records),
        seconds=seconds,
        grid_seconds=grid_seconds,
        p50=p50,
        grid_p50=float(np.median([crossing(seed) for seed in range(SEEDS)])),
    )
