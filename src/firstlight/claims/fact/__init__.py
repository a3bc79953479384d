"""Claims of *FACT: the Features At Convergence Theorem for neural networks*."""

from firstlight.claims.fact.statements import CLAIMS

__all__ = ["CLAIMS"]
