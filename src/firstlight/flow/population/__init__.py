"""Exact loss, gradient and feature moments over all M² pairs of a finite group, without a sum over pairs.

Every function takes σ as the coefficients (c₀, c₁, c₂) of σ(x) = c₀ + c₁x + c₂x² and W as the two embedding
tables stacked, W = [A; B], so that a hidden unit sees A[g₁] + B[g₂].
"""

from firstlight.flow.population._cost import population_is_cheaper
from firstlight.flow.population._features import feature_gram, feature_target
from firstlight.flow.population._loss import population_loss, population_value_and_grad

__all__ = [
    "feature_gram",
    "feature_target",
    "population_is_cheaper",
    "population_loss",
    "population_value_and_grad",
]
