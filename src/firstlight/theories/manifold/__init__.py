"""The geometry of grokking: after memorisation, down the norm along the zero-loss set.

>>> import numpy as np
>>> from firstlight.theories import manifold
>>> hyperbola = manifold.ZeroLossSet(lambda w: w[0] * w[1] - 1.0, np.zeros(2))
>>> round(manifold.project(hyperbola, np.array([2.0, 2.0])).distance ** 2, 6)
2.0

Losses are sums of squares plus λ‖θ‖², as in the paper. Projection, tangent space and flow work for any PyTree;
`isolate`, `velocity` and `simulate` are the first layer of a two-layer network on its own (eq. 21); `split` has the
same for any part of any model; `representation` and `figures` look at what an embedding has become.
"""

from firstlight.theories.manifold._assumptions import AssumptionFails
from firstlight.theories.manifold._constrained import (
    Penalised,
    constrained_flow,
    decay_flow,
    gradient_angle,
    predicted_distance,
    tangential_fraction,
)
from firstlight.theories.manifold._figures import embedding_circles, figure_4
from firstlight.theories.manifold._isolated import (
    Isolated,
    cost,
    dual,
    isolate,
    output_layer,
    predict,
    resolved_flow,
    velocity,
)
from firstlight.theories.manifold._lens import LENSES
from firstlight.theories.manifold._normal import Tangent
from firstlight.theories.manifold._projection import Projection, distance, project
from firstlight.theories.manifold._representation import (
    Features,
    Measures,
    aspect_ratio,
    cosines,
    features,
    fourier_features,
    measure,
    unit_similarity,
)
from firstlight.theories.manifold._simulation import Simulation, embedding, simulate
from firstlight.theories.manifold._split import (
    deep_features,
    descent_inner,
    isolated_flow,
    isolated_value_and_grad,
    ridge_inner,
)
from firstlight.theories.manifold._toys import (
    TOYS,
    Toy,
    addition,
    hyperbola,
    leaky_addition,
    toy_flow,
    toy_flows,
    train_floor,
)
from firstlight.theories.manifold._two_rate import best_layers, two_rate_flow
from firstlight.theories.manifold._zero_loss import ZeroLossSet

__all__ = [
    "LENSES",
    "TOYS",
    "AssumptionFails",
    "Features",
    "Isolated",
    "Measures",
    "Penalised",
    "Projection",
    "Simulation",
    "Tangent",
    "Toy",
    "ZeroLossSet",
    "addition",
    "aspect_ratio",
    "best_layers",
    "constrained_flow",
    "cosines",
    "cost",
    "decay_flow",
    "deep_features",
    "descent_inner",
    "distance",
    "dual",
    "embedding",
    "embedding_circles",
    "features",
    "figure_4",
    "fourier_features",
    "gradient_angle",
    "hyperbola",
    "isolate",
    "isolated_flow",
    "isolated_value_and_grad",
    "leaky_addition",
    "measure",
    "output_layer",
    "predict",
    "predicted_distance",
    "project",
    "resolved_flow",
    "ridge_inner",
    "simulate",
    "tangential_fraction",
    "toy_flow",
    "toy_flows",
    "train_floor",
    "two_rate_flow",
    "unit_similarity",
    "velocity",
]
