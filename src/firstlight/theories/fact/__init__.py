"""FACT: what the weights of a converged network satisfy, and where other ansätze differ from it.

The matrices themselves are in `firstlight.features`; `firstlight.probes` has the same matrices for PyTorch models.

>>> from firstlight.theories import fact
>>> best = fact.minimise(fact.Separation.of(tau=0.02, p=1e-6, weight_decay=1e-8))
>>> best.fact_cosine > 0.999, best.agop_cosine() < 0.06
(True, True)

- `layer_features` computes all matrices of every layer of a network.
- `Separation`, `minimise` and `train_separation` are the example in which AGOP differs from the features (Theorem 3.4).
- `LinearProblem` and `train_linear`, full-batch or `_in_batches`, are deep linear networks under weight decay.
- `lemmas` holds the exact statements about deep linear and quadratic networks.
"""

from firstlight.theories.fact import lemmas
from firstlight.theories.fact._adam import train_separation
from firstlight.theories.fact._lens import LENSES
from firstlight.theories.fact._linear import LinearProblem, train_linear, train_linear_in_batches
from firstlight.theories.fact._networks import LayerFeatures, layer_features
from firstlight.theories.fact._separation import Minimiser, Separation, minimise

__all__ = [
    "LENSES",
    "LayerFeatures",
    "LinearProblem",
    "Minimiser",
    "Separation",
    "layer_features",
    "lemmas",
    "minimise",
    "train_linear",
    "train_linear_in_batches",
    "train_separation",
]
