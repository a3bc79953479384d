"""The geometry of grokking: after memorisation, weight decay lowers the norm along the zero-loss set.

>>> import numpy as np
>>> from firstlight.theories import manifold
>>> hyperbola = manifold.ZeroLossSet(lambda w: w[0] * w[1] - 1.0, np.zeros(2))
>>> round(manifold.project(hyperbola, np.array([2.0, 2.0])).distance ** 2, 6)
2.0

Losses are sums of squares plus λ‖θ‖², as in the paper. Projection, tangent space and flow work for any PyTree.
`isolate`, `velocity` and `simulate` describe the first layer of a two-layer network alone (eq. 21); `isolated_flow`
does the same for any part of any model. `measure_embedding` and `embedding_circles` describe a trained embedding.
`lemmas` holds the paper's theorems, inner solvers and toy models.
"""

from firstlight.theories.manifold import lemmas
from firstlight.theories.manifold._assumptions import AssumptionFails
from firstlight.theories.manifold._constrained import constrained_flow, decay_flow
from firstlight.theories.manifold._figures import embedding_circles
from firstlight.theories.manifold._isolated import Isolated, cost, isolate, network_outputs, output_layer, velocity
from firstlight.theories.manifold._lens import LENSES
from firstlight.theories.manifold._normal import Tangent
from firstlight.theories.manifold._projection import NearestPoint, distance, project
from firstlight.theories.manifold._representation import EmbeddingMeasures, measure_embedding
from firstlight.theories.manifold._simulation import Simulation, embedding, simulate
from firstlight.theories.manifold._split import isolated_flow
from firstlight.theories.manifold._zero_loss import ZeroLossSet

__all__ = [
    "LENSES",
    "AssumptionFails",
    "EmbeddingMeasures",
    "Isolated",
    "NearestPoint",
    "Simulation",
    "Tangent",
    "ZeroLossSet",
    "constrained_flow",
    "cost",
    "decay_flow",
    "distance",
    "embedding",
    "embedding_circles",
    "isolate",
    "isolated_flow",
    "lemmas",
    "measure_embedding",
    "network_outputs",
    "output_layer",
    "project",
    "simulate",
    "velocity",
]
