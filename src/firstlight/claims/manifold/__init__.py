"""Claims of *The Geometry of Grokking: Norm Minimization on the Zero-Loss Manifold*."""

from firstlight.claims.manifold.statements import CLAIMS

__all__ = ["CLAIMS"]
