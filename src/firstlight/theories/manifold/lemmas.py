"""The theorems, equations and toy models of the geometry of grokking, one name per statement.

- eq. 2, loss with weight decay: `Penalised`.
- Theorem 4.9, distance to the zero-loss set: `predicted_distance`.
- Section 4, share of a step along the zero-loss set: `tangential_fraction`.
- Theorem 4.13, angle between gradient and zero-loss set: `gradient_angle`.
- Theorem 5.1, gradient of an isolated part: `isolated_value_and_grad`, `ridge_inner`, `descent_inner`,
  `deep_features`.
- eq. 16, dual coefficients of the output layer: `dual`.
- eq. 21, solved adaptively, and as a limit of two learning rates: `resolved_flow`, `two_rate_flow`, `best_layers`.
- Figures 1 to 3, toy models: `TOYS`, `Toy`, `toy_flow`, `toy_flows`, `addition`, `leaky_addition`, `hyperbola`,
  `train_floor`.
- Section 7.4.2 and Figure 4, features of an embedding: `fourier_features`, `embedding_features`, `EmbeddingFeatures`,
  `aspect_ratio`, `cosines`, `unit_similarity`, `figure_4`.

>>> from firstlight.theories import manifold
>>> sorted(manifold.lemmas.TOYS)
['addition', 'cross', 'hyperbola', 'leaky addition', 'three numbers']
"""

from firstlight.theories.manifold._constrained import (
    Penalised,
    gradient_angle,
    predicted_distance,
    tangential_fraction,
)
from firstlight.theories.manifold._figures import figure_4
from firstlight.theories.manifold._isolated import dual, resolved_flow
from firstlight.theories.manifold._representation import (
    EmbeddingFeatures,
    aspect_ratio,
    cosines,
    embedding_features,
    fourier_features,
    unit_similarity,
)
from firstlight.theories.manifold._split import deep_features, descent_inner, isolated_value_and_grad, ridge_inner
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

__all__ = [
    "TOYS",
    "EmbeddingFeatures",
    "Penalised",
    "Toy",
    "addition",
    "aspect_ratio",
    "best_layers",
    "cosines",
    "deep_features",
    "descent_inner",
    "dual",
    "embedding_features",
    "figure_4",
    "fourier_features",
    "gradient_angle",
    "hyperbola",
    "isolated_value_and_grad",
    "leaky_addition",
    "predicted_distance",
    "resolved_flow",
    "ridge_inner",
    "tangential_fraction",
    "toy_flow",
    "toy_flows",
    "train_floor",
    "two_rate_flow",
    "unit_similarity",
]
