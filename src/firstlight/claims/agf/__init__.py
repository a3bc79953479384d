"""Claims of *Alternating Gradient Flows: A Theory of Feature Learning in Two-layer Neural Networks*."""

from firstlight.claims.agf.statements import CLAIMS

__all__ = ["CLAIMS"]
