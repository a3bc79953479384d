"""The lemmas and theorems of Li₂, each as a function that computes or checks its statement.

- Lemma 1, gradient of wide random features: `independent_gradient`, `lemma_1_agreement`, `GradientAgreement`,
  `c1_equicorrelated`, `c1_group_table`, `dual_kernel`, `equicorrelated_inputs`, `sampled_table_cosine`.
- Lemma 2, Muon's direction: `polar`.
- Lemma 3, Hermite expansion of an activation: `hermite`, `hermite_coefficients`.
- Theorem 3, hidden units that reconstruct the table: `pairs_needed`, `printed_nodes`, `reconstructing_nodes`,
  `reconstruction_residual`.
- Theorem 4, number of pairs that preserves the maxima: `survival`, `half_point`, `locate_boundary`, `fit_boundary`,
  `BoundaryFit`, `released_boundary`, `measured_constant`, `MEASURED_CONSTANTS`.
- Theorem 5, Lemmas 5 and 6, memorisation of one target: `memorise`, `Memory`, `memory_energy`, `memory_shape`, `phi`.
- Theorem 6, repulsion of similar hidden units: `repulsion_matrix`, `repulsion_coefficient`.
- Theorem 7, energy of the missing irreps: `modulation`, `modulated_energy`, `modulated_gradient`, `ascend_modulated`,
  `reached_irreps`.
- Lemmas 7 and 8, which mode a hidden unit selects: `selection`, `winner`, `modes_flow`.
- Lemma 9, Muon beside settled hidden units: `new_column`.
- Lemma 10 and Theorem 8, hidden units until every mode is selected: `coupons`, `coupon_bound`, `guided_coupons`,
  `collect_modes`.
- Section 7, deeper networks: `forward`, `backward`, `shared_gates`, `relu_limit`, `label_signal`.

>>> from firstlight.theories import li2
>>> li2.lemmas.memory_shape("relu")
'spreading'
"""

from firstlight.theories.li2._boundary import (
    BoundaryFit,
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
    GradientAgreement,
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
from firstlight.theories.li2._memorisation import Memory, memorise, memory_energy, memory_shape, phi
from firstlight.theories.li2._muon import (
    collect_modes,
    coupon_bound,
    coupons,
    guided_coupons,
    modes_flow,
    new_column,
    polar,
    selection,
    winner,
)
from firstlight.theories.li2._predict import MEASURED_CONSTANTS, measured_constant
from firstlight.theories.li2._reconstruction import (
    pairs_needed,
    printed_nodes,
    reconstructing_nodes,
    reconstruction_residual,
)

__all__ = [
    "MEASURED_CONSTANTS",
    "BoundaryFit",
    "GradientAgreement",
    "Memory",
    "ascend_modulated",
    "backward",
    "c1_equicorrelated",
    "c1_group_table",
    "collect_modes",
    "coupon_bound",
    "coupons",
    "dual_kernel",
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
    "measured_constant",
    "memorise",
    "memory_energy",
    "memory_shape",
    "modes_flow",
    "modulated_energy",
    "modulated_gradient",
    "modulation",
    "new_column",
    "pairs_needed",
    "phi",
    "polar",
    "printed_nodes",
    "reached_irreps",
    "reconstructing_nodes",
    "reconstruction_residual",
    "released_boundary",
    "relu_limit",
    "repulsion_coefficient",
    "repulsion_matrix",
    "sampled_table_cosine",
    "selection",
    "shared_gates",
    "survival",
    "winner",
]
