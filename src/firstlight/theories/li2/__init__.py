"""Li₂: grokking in three stages, lazy, independent and interactive.

`predict` forecasts a run before training, the lens in `LENSES` measures it during training, `stages` marks its stages
afterwards. `lemmas` holds the paper's lemmas and theorems, one function per statement.

>>> from firstlight.theories import li2
>>> li2.LENSES[0].name
'li2'
"""

from firstlight.theories.li2 import lemmas
from firstlight.theories.li2._boundary import critical_fraction, energy_boundary
from firstlight.theories.li2._forecast import Epochs, Forecast, IrrepForecast
from firstlight.theories.li2._lazy import LazyFlow
from firstlight.theories.li2._lens import LENSES
from firstlight.theories.li2._observe import observe_exactly, read
from firstlight.theories.li2._own_boundary import OwnBoundary, own_boundary
from firstlight.theories.li2._predict import predict
from firstlight.theories.li2._reconstruction import nodes_needed
from firstlight.theories.li2._running import forecast
from firstlight.theories.li2._stages import Stage, Stages, decay_ridge, stages

__all__ = [
    "LENSES",
    "Epochs",
    "Forecast",
    "IrrepForecast",
    "LazyFlow",
    "OwnBoundary",
    "Stage",
    "Stages",
    "critical_fraction",
    "decay_ridge",
    "energy_boundary",
    "forecast",
    "lemmas",
    "nodes_needed",
    "observe_exactly",
    "own_boundary",
    "predict",
    "read",
    "stages",
]
