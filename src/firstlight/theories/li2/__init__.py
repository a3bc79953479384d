"""Li₂: grokking in three stages, lazy, independent and interactive.

>>> from firstlight.theories import li2
>>> li2.LENSES[0].name
'li2'
"""

from firstlight.theories.li2._boundary import (
    BoundaryFit,
    critical_fraction,
    energy_boundary,
    fit_boundary,
    half_point,
    locate_boundary,
    released_boundary,
    survival,
)
from firstlight.theories.li2._deep import backward, forward, label_signal, relu_limit, shared_gates
from firstlight.theories.li2._interaction import (
    ascend_modulated,
    modulated_energy,
    modulated_gradient,
    modulation,
    reached_irreps,
    repulsion_coefficient,
    repulsion_matrix,
)
from firstlight.theories.li2._kernel import (
    Agreement,
    c1_equicorrelated,
    c1_group_table,
    dual_kernel,
    equicorrelated_inputs,
    hermite,
    hermite_coefficients,
    independent_gradient,
    lemma_1_agreement,
    sampled_table_cosine,
)
from firstlight.theories.li2._lazy import LazyFlow
from firstlight.theories.li2._lens import LENS
from firstlight.theories.li2._memorisation import Memory, memorise, memory_energy, memory_shape, phi
from firstlight.theories.li2._muon import (
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
from firstlight.theories.li2._observe import measure, observe_exactly, read
from firstlight.theories.li2._predict import MEASURED, Prediction, boundary_constant, measured_constant, predict
from firstlight.theories.li2._reconstruction import (
    nodes_needed,
    pairs_needed,
    printed_nodes,
    reconstructing_nodes,
    reconstruction_residual,
)
from firstlight.theories.li2._stages import Stage, Stages, decay_ridge, stages

LENSES = (LENS,)

__all__ = [
    "LENS",
    "LENSES",
    "MEASURED",
    "Agreement",
    "BoundaryFit",
    "LazyFlow",
    "Memory",
    "Prediction",
    "Stage",
    "Stages",
    "ascend_modulated",
    "backward",
    "boundary_constant",
    "c1_equicorrelated",
    "c1_group_table",
    "collect",
    "coupon_bound",
    "coupons",
    "critical_fraction",
    "decay_ridge",
    "dual_kernel",
    "energy_boundary",
    "equicorrelated_inputs",
    "fit_boundary",
    "forward",
    "guided_coupons",
    "half_point",
    "hermite",
    "hermite_coefficients",
    "independent_gradient",
    "label_signal",
    "lemma_1_agreement",
    "locate_boundary",
    "measure",
    "measured_constant",
    "memorise",
    "memory_energy",
    "memory_shape",
    "modes_flow",
    "modulated_energy",
    "modulated_gradient",
    "modulation",
    "new_column",
    "nodes_needed",
    "observe_exactly",
    "pairs_needed",
    "phi",
    "polar",
    "predict",
    "printed_nodes",
    "reached_irreps",
    "read",
    "reconstructing_nodes",
    "reconstruction_residual",
    "released_boundary",
    "relu_limit",
    "repulsion_coefficient",
    "repulsion_matrix",
    "sampled_table_cosine",
    "selection",
    "shared_gates",
    "stages",
    "survival",
    "winner",
]
