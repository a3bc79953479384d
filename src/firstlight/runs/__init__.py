"""From a spec to a record: build the objects that a spec names, train, and record the observations.

>>> from firstlight import runs
>>> from firstlight.records import spec_from_mapping
>>> spec = spec_from_mapping({"task": {"group": "Z5"}, "model": {"width": 16}, "steps": 20})
>>> runs.run(spec, progress="off").status
'finished'
"""

from firstlight.runs._checkpoints import OVER, clear_checkpoints, saved_step
from firstlight.runs._complete import complete
from firstlight.runs._compute import RunOutcome, batch_key, batches, compute, failure, train_apart
from firstlight.runs._curves import learning_curves, overlaid_curves
from firstlight.runs._estimate import Estimate, estimate, step_flops
from firstlight.runs._history import FeatureHistory, feature_history
from firstlight.runs._lenses import THEORY_LENSES, lenses, with_lenses
from firstlight.runs._limits import check_sizes, size
from firstlight.runs._models import load_model
from firstlight.runs._portraits import portraits
from firstlight.runs._resolve import Resolved, check, resolve, snapshot_steps
from firstlight.runs._run import keep, run, run_many, writing
from firstlight.runs._summary import advice, first_step, summarise

__all__ = [
    "OVER",
    "THEORY_LENSES",
    "Estimate",
    "FeatureHistory",
    "Resolved",
    "RunOutcome",
    "advice",
    "batch_key",
    "batches",
    "check",
    "check_sizes",
    "clear_checkpoints",
    "complete",
    "compute",
    "estimate",
    "failure",
    "feature_history",
    "first_step",
    "keep",
    "learning_curves",
    "lenses",
    "load_model",
    "overlaid_curves",
    "portraits",
    "resolve",
    "run",
    "run_many",
    "saved_step",
    "size",
    "snapshot_steps",
    "step_flops",
    "summarise",
    "train_apart",
    "with_lenses",
    "writing",
]
