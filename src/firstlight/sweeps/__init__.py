"""Many runs at once: a grid or a list of points × seeds, on all cores or on a Dask cluster; boundaries by bisection.

>>> from firstlight.sweeps import Sweep
>>> sweep = Sweep(grid={"task.group": ["Z5", "Z7"], "model.width": [16, 64]}, seeds=5)
>>> len(sweep.expand()), sweep.fields
(20, ('task.group', 'model.width'))

`run_sweep(sweep, "runs.sqlite").frame` is a table with one row per point.
`boundary(base, field, (low, high))` finds the value at which half of the seeds succeed, and `phase_diagram` the border
in the plane of two fields. `SweepFolder` holds a sweep on a shared filesystem; `gather` merges it into a store.
`draw_phase` draws the runs of a store or a sweep over two of their fields; `families` finds runs that belong together.
`run_duel(Duel(base, ("adam", "muon")))` compares optimizers at equal compute.
"""

from firstlight.sweeps._atlas import AXES, Family, Outcome, draw_all, draw_phase, families, outcome_of
from firstlight.sweeps._atlas._source import (
    family_of,
    points_of_family,
    points_of_folder,
    points_of_sweep,
    stored_outcomes,
)
from firstlight.sweeps._boundary import (
    GENERALISED,
    BoundaryError,
    BoundaryResult,
    boundary,
    default_stall,
    estimate_boundary,
)
from firstlight.sweeps._cluster import ClusterError, cancel_on_cluster, cluster_progress
from firstlight.sweeps._duel import OPTIMIZERS, Duel, DuelInterrupted, DuelProgress, run_duel
from firstlight.sweeps._estimate import SweepEstimate, estimate_sweep
from firstlight.sweeps._executors import PoolExecutor, SlurmExecutor
from firstlight.sweeps._folder import FolderError, SweepFolder, SweepPlan, open_folder
from firstlight.sweeps._gather import GatherReport, gather, scatter_bundles
from firstlight.sweeps._phase import PhaseDiagram, phase_diagram
from firstlight.sweeps._pool import WorkerDied
from firstlight.sweeps._progress import SweepProgress
from firstlight.sweeps._slurm import SlurmError, SlurmOptions, submit, write_script
from firstlight.sweeps._slurm import cancel as cancel_sweep
from firstlight.sweeps._spec import Sweep, load_sweep, sweep_from_mapping
from firstlight.sweeps._status import SweepStatus, sweep_status
from firstlight.sweeps._sweep import (
    SweepCancelled,
    SweepInterrupted,
    SweepResult,
    collect_sweep,
    preview_sweep,
    run_sweep,
)
from firstlight.sweeps._task import TaskInterrupted, run_task

__all__ = [
    "AXES",
    "GENERALISED",
    "OPTIMIZERS",
    "BoundaryError",
    "BoundaryResult",
    "ClusterError",
    "Duel",
    "DuelInterrupted",
    "DuelProgress",
    "Family",
    "FolderError",
    "GatherReport",
    "Outcome",
    "PhaseDiagram",
    "PoolExecutor",
    "SlurmError",
    "SlurmExecutor",
    "SlurmOptions",
    "Sweep",
    "SweepCancelled",
    "SweepEstimate",
    "SweepFolder",
    "SweepInterrupted",
    "SweepPlan",
    "SweepProgress",
    "SweepResult",
    "SweepStatus",
    "TaskInterrupted",
    "WorkerDied",
    "boundary",
    "cancel_on_cluster",
    "cancel_sweep",
    "cluster_progress",
    "collect_sweep",
    "default_stall",
    "draw_all",
    "draw_phase",
    "estimate_boundary",
    "estimate_sweep",
    "families",
    "family_of",
    "gather",
    "load_sweep",
    "open_folder",
    "outcome_of",
    "phase_diagram",
    "points_of_family",
    "points_of_folder",
    "points_of_sweep",
    "preview_sweep",
    "run_duel",
    "run_sweep",
    "run_task",
    "scatter_bundles",
    "stored_outcomes",
    "submit",
    "sweep_from_mapping",
    "sweep_status",
    "write_script",
]
