"""Li₂: grokking in three stages, lazy, independent and interactive.

>>> from firstlight.theories import li2
>>> li2.LENSES[0].name
'li2'
"""

from firstlight.theories.li2.deep import backward, forward, label_signal, relu_limit, shared_gates
from firstlight.theories.li2.interaction import (
    ascend_modulated,
    modulated_energy,
    modulated_gradient,
    modulation,
    reached_irreps,
    repulsion_coefficient,
    repulsion_matrix,
)
from firstlight.theories.li2.lens import measure, observe_exactly, read
from firstlight.theories.li2.muon import (
    collect,
    coupon_bound,
    coupons,
    guided_coupons,
    modes_flow,
    new_column,
    polar,
    selection,
    winner,
)
from firstlight.theories.li2.stages import Stage, Stages, decay_ridge, stages
from firstlight.theories.li2.view import LENS

LENSES = (LENS,)

__all__ = [
    "LENS",
    "LENSES",
    "Stage",
    "Stages",
    "ascend_modulated",
    "backward",
    "collect",
    "coupon_bound",
    "coupons",
    "decay_ridge",
    "forward",
    "guided_coupons",
    "label_signal",
    "measure",
    "modes_flow",
    "modulated_energy",
    "modulated_gradient",
    "modulation",
    "new_column",
    "observe_exactly",
    "polar",
    "reached_irreps",
    "read",
    "relu_limit",
    "repulsion_coefficient",
    "repulsion_matrix",
    "selection",
    "shared_gates",
    "stages",
    "winner",
]
