"""From a spec to a record: build the objects that a spec names, train, and record the observations.

>>> from firstlight import runs
>>> from firstlight.records import spec_from_mapping
>>> spec = spec_from_mapping({"task": {"group": "Z5"}, "model": {"width": 16}, "steps": 20})
>>> runs.run(spec, progress="off").status
'finished'
"""

from firstlight.runs._checkpoints import OVER, clear_checkpoints, saved_step
from firstlight.runs._complete import complete, learning_curves
from firstlight.runs._compute import RunOutcome, batch_key, batches, compute, failure
from firstlight.runs._estimate import Estimate, estimate
from firstlight.runs._lenses import lenses
from firstlight.runs._limits import check_sizes, size
from firstlight.runs._models import load_model
from firstlight.runs._resolve import Resolved, check, resolve, snapshot_steps
from firstlight.runs._run import keep, run, run_many, writing
from firstlight.runs._summary import first_step, summarise

__all__ = [
    "OVER",
    "Estimate",
    "Resolved",
    "RunOutcome",
    "batch_key",
    "batches",
    "check",
    "check_sizes",
    "clear_checkpoints",
    "complete",
    "compute",
    "estimate",
    "failure",
    "first_step",
    "keep",
    "learning_curves",
    "lenses",
    "load_model",
    "resolve",
    "run",
    "run_many",
    "saved_step",
    "size",
    "snapshot_steps",
    "summarise",
    "writing",
]
