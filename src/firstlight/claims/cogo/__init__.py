"""Claims of *Crafting Global Optimizers to Reasoning Tasks via Algebraic Objects in Neural Nets*."""

from firstlight.claims.cogo.statements import CLAIMS

__all__ = ["CLAIMS"]
