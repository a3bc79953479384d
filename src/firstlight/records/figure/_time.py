"""The axis of time in the figures of a run."""

from firstlight.records._spec import RunSpec
from firstlight.records.figure._data import Axis


def time_axis(spec: RunSpec) -> Axis:
    """Return the axis of time for figures of a run, labelled with `RunSpec.clock`.

    The scale is logarithmic with a linear start if the spec records logarithmically spaced points, else linear.

    >>> time_axis(RunSpec()).label
    'epoch'
    """
    return Axis(spec.clock, scale="linear" if spec.recording.points is None else "symlog")
