"""What was learned: feature matrices and their alignments, the energy whose maxima are features, irreps in weights.

There are two kinds of functions. The array types in a signature show which kind it is:

- `Any` arrays: NumPy, JAX and torch. The result is an array of the same library; JAX arrays may be traced by `jit`,
  except where a `float` is returned. These are the feature matrices, their powers and alignments, ridge solutions,
  and the irrep content of weights.
- `np.ndarray`: NumPy only. These are the energy, its gradient, Hessian, curvature and maxima, ascents, the census,
  points of an embedding, and the values expected by chance. They rest on group Fourier transforms, which are NumPy's.

Importing this package imports neither JAX nor torch.

>>> from firstlight import features, groups
>>> [round(m.energy, 3) for m in features.maxima(groups.symmetric(4))]
[12.0, 6.0, 4.0, 4.0]
"""

from firstlight.features._circuits.embedding import component_norms, irrep_gini, orbit_shares
from firstlight.features._circuits.logits import (
    KEY_SHARE,
    Formula,
    component_part,
    excluded_logits,
    key_components,
    logit_formula,
    product_mean,
    product_shares,
    restricted_logits,
)
from firstlight.features._circuits.points import component_points, widest_plane
from firstlight.features._energy.ascent import Ascent, ascend, random_starts
from firstlight.features._energy.census import census, curvature, energy_hessian, signature
from firstlight.features._energy.content import (
    chance_content,
    chance_dominance,
    chance_purity,
    dominates,
    irrep_content,
    node_shares,
    purity,
)
from firstlight.features._energy.energy import GroupEnergy, energy, energy_gradient, numpy_activation
from firstlight.features._energy.maxima import Maximum, maxima, require_features
from firstlight.features._energy.ridge import centred, feature_gradient, ridge, ridge_gradient, ridge_residual
from firstlight.features._matrices.alignment import cosine, decay_budget, pearson
from firstlight.features._matrices.feature_matrices import (
    agop,
    average_outer_product,
    bagop,
    benfa,
    bfact,
    bnfm,
    enfa,
    fact,
    nfm,
    pulled_back,
    weight_gradient,
)
from firstlight.features._matrices.kernel_matrices import kernel_agop, kernel_fact
from firstlight.features._matrices.moving_average import averaged_nfm, budget_to_align
from firstlight.features._matrices.powers import (
    matrix_power,
    pulled_back_power,
    symmetric_part,
    symmetrised,
    symmetrised_product,
)

__all__ = [
    "KEY_SHARE",
    "Ascent",
    "Formula",
    "GroupEnergy",
    "Maximum",
    "agop",
    "ascend",
    "average_outer_product",
    "averaged_nfm",
    "bagop",
    "benfa",
    "bfact",
    "bnfm",
    "budget_to_align",
    "census",
    "centred",
    "chance_content",
    "chance_dominance",
    "chance_purity",
    "component_norms",
    "component_part",
    "component_points",
    "cosine",
    "curvature",
    "decay_budget",
    "dominates",
    "energy",
    "energy_gradient",
    "energy_hessian",
    "enfa",
    "excluded_logits",
    "fact",
    "feature_gradient",
    "irrep_content",
    "irrep_gini",
    "kernel_agop",
    "kernel_fact",
    "key_components",
    "logit_formula",
    "matrix_power",
    "maxima",
    "nfm",
    "node_shares",
    "numpy_activation",
    "orbit_shares",
    "pearson",
    "product_mean",
    "product_shares",
    "pulled_back",
    "pulled_back_power",
    "purity",
    "random_starts",
    "require_features",
    "restricted_logits",
    "ridge",
    "ridge_gradient",
    "ridge_residual",
    "signature",
    "symmetric_part",
    "symmetrised",
    "symmetrised_product",
    "weight_gradient",
    "widest_plane",
]
