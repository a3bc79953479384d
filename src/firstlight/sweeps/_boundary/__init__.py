"""Boundaries: the value of a field at which half of the seeds succeed, by bisection on a lattice of values."""

from firstlight.sweeps._boundary._boundary import boundary
from firstlight.sweeps._boundary._estimate import estimate_boundary
from firstlight.sweeps._boundary._plan import GENERALISED, default_stall
from firstlight.sweeps._boundary._result import BoundaryResult
from firstlight.sweeps._boundary._rounds import BoundaryError, Executor

__all__ = [
    "GENERALISED",
    "BoundaryError",
    "BoundaryResult",
    "Executor",
    "boundary",
    "default_stall",
    "estimate_boundary",
]
