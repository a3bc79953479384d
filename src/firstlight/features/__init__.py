"""What was learned: the energy whose maxima are features, ridge solutions, the irreps in weights.

>>> from firstlight import features, groups
>>> [round(m.energy, 3) for m in features.maxima(groups.symmetric(4))]
[12.0, 6.0, 4.0, 4.0]
"""

from firstlight.features.ascent import Ascent, ascend, random_starts
from firstlight.features.census import census, curvature, energy_hessian, signature
from firstlight.features.content import irrep_content, purity
from firstlight.features.energy import GroupEnergy, energy, energy_gradient, numpy_activation
from firstlight.features.maxima import Maximum, maxima
from firstlight.features.ridge import centred, feature_gradient, ridge, ridge_gradient, ridge_residual

__all__ = [
    "Ascent",
    "GroupEnergy",
    "Maximum",
    "ascend",
    "census",
    "centred",
    "curvature",
    "energy",
    "energy_gradient",
    "energy_hessian",
    "feature_gradient",
    "irrep_content",
    "maxima",
    "numpy_activation",
    "purity",
    "random_starts",
    "ridge",
    "ridge_gradient",
    "ridge_residual",
    "signature",
]
