"""Many runs at once: a grid or a list of points × seeds, on all cores or on a Dask cluster; boundaries by bisection.

>>> from firstlight.sweeps import Sweep
>>> sweep = Sweep(grid={"task.group": ["Z5", "Z7"], "model.width": [16, 64]}, seeds=5)
>>> len(sweep.expand()), sweep.fields
(20, ('task.group', 'model.width'))

`run_sweep(sweep, "runs.sqlite").frame` is a table with one row per point.
`boundary(base, field, (low, high))` finds the value at which half of the seeds succeed.
"""

from firstlight.sweeps._boundary import (
    GENERALISED,
    BoundaryError,
    BoundaryResult,
    boundary,
    default_stall,
    estimate_boundary,
)
from firstlight.sweeps._cluster import ClusterError
from firstlight.sweeps._estimate import SweepEstimate, estimate_sweep
from firstlight.sweeps._pool import WorkerDied
from firstlight.sweeps._progress import SweepProgress
from firstlight.sweeps._spec import Sweep, load_sweep, sweep_from_mapping
from firstlight.sweeps._sweep import SweepInterrupted, SweepResult, collect_sweep, preview_sweep, run_sweep

__all__ = [
    "GENERALISED",
    "BoundaryError",
    "BoundaryResult",
    "ClusterError",
    "Sweep",
    "SweepEstimate",
    "SweepInterrupted",
    "SweepProgress",
    "SweepResult",
    "WorkerDied",
    "boundary",
    "collect_sweep",
    "default_stall",
    "estimate_boundary",
    "estimate_sweep",
    "load_sweep",
    "preview_sweep",
    "run_sweep",
    "sweep_from_mapping",
]
