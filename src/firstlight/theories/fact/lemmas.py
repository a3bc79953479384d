"""The lemmas of the FACT paper, one function each.

| statement | names |
|---|---|
| minimiser of a deep linear network (Appendix C) | `balanced_minimiser` |
| balance of adjacent layers (Appendix C) | `imbalance`, `linear_init` |
| AGOP of each linear layer (Appendix C) | `layer_agops` |
| cheapest quadratic network (Lemma D.2) | `minimum_norm_cost`, `minimum_norm_network`, `COST` |
| gradients at the outputs of each layer (Theorem 3.1) | `output_cotangents`, `weight_matrices` |

>>> import numpy as np
>>> from firstlight.theories import fact
>>> round(fact.lemmas.minimum_norm_cost(np.diag([2.0, 0.0])), 9)
3.0
"""

from firstlight.theories.fact._linear import balanced_minimiser, imbalance, layer_agops, linear_init
from firstlight.theories.fact._networks import output_cotangents, weight_matrices
from firstlight.theories.fact._quadratic import COST, minimum_norm_cost, minimum_norm_network

__all__ = [
    "COST",
    "balanced_minimiser",
    "imbalance",
    "layer_agops",
    "linear_init",
    "minimum_norm_cost",
    "minimum_norm_network",
    "output_cotangents",
    "weight_matrices",
]
