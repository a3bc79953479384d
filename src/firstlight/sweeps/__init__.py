"""Many runs at once: a grid or a list of points × seeds, on all cores or on a Dask cluster.

>>> from firstlight.sweeps import Sweep
>>> sweep = Sweep(grid={"task.group": ["Z5", "Z7"], "model.width": [16, 64]}, seeds=5)
>>> len(sweep.expand()), sweep.fields
(20, ('task.group', 'model.width'))

`run_sweep(sweep, "runs.sqlite").frame` is a table with one row per point.
"""

from firstlight.sweeps._cluster import ClusterError
from firstlight.sweeps._estimate import SweepEstimate, estimate_sweep
from firstlight.sweeps._folder import SweepFolder, SweepPlan, SweepStatus, sweep_status
from firstlight.sweeps._gather import GatherReport, gather, scatter
from firstlight.sweeps._pool import WorkerDied
from firstlight.sweeps._progress import SweepProgress
from firstlight.sweeps._slurm import SlurmError, SlurmOptions, submit, write_script
from firstlight.sweeps._slurm import cancel as cancel_sweep
from firstlight.sweeps._spec import Sweep, load_sweep, sweep_from_mapping
from firstlight.sweeps._sweep import SweepInterrupted, SweepResult, collect_sweep, preview_sweep, run_sweep
from firstlight.sweeps._task import TaskInterrupted, run_task, sweep_folder

__all__ = [
    "ClusterError",
    "GatherReport",
    "SlurmError",
    "SlurmOptions",
    "Sweep",
    "SweepEstimate",
    "SweepFolder",
    "SweepInterrupted",
    "SweepPlan",
    "SweepProgress",
    "SweepResult",
    "SweepStatus",
    "TaskInterrupted",
    "WorkerDied",
    "cancel_sweep",
    "collect_sweep",
    "estimate_sweep",
    "gather",
    "load_sweep",
    "preview_sweep",
    "run_sweep",
    "run_task",
    "scatter",
    "submit",
    "sweep_folder",
    "sweep_from_mapping",
    "sweep_status",
    "write_script",
]
