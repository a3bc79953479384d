"""FACT: what the weights of a converged network satisfy, and where other ansätze part from it.

The matrices themselves are in `firstlight.features`, the same for PyTorch models in `firstlight.probes`.

>>> from firstlight.theories import fact
>>> best = fact.minimise(fact.Separation.of(tau=0.02, p=1e-6, weight_decay=1e-8))
>>> best.fact_cosine > 0.999, best.agop_cosine() < 0.06
(True, True)
"""

from firstlight.features import averaged_nfm, budget_to_align
from firstlight.theories.fact._lens import LENSES
from firstlight.theories.fact._linear import (
    LinearProblem,
    balanced_minimiser,
    imbalance,
    layer_agops,
    linear_init,
    train_linear,
)
from firstlight.theories.fact._networks import LayerFeatures, layer_features, output_cotangents, weight_matrices
from firstlight.theories.fact._quadratic import COST, minimum_norm_cost, minimum_norm_network
from firstlight.theories.fact._separation import Minimiser, Separation, minimise

__all__ = [
    "COST",
    "LENSES",
    "LayerFeatures",
    "LinearProblem",
    "Minimiser",
    "Separation",
    "averaged_nfm",
    "balanced_minimiser",
    "budget_to_align",
    "imbalance",
    "layer_agops",
    "layer_features",
    "linear_init",
    "minimise",
    "minimum_norm_cost",
    "minimum_norm_network",
    "output_cotangents",
    "train_linear",
    "weight_matrices",
]
