"""Claims of *The Geometry of Grokking*."""

from firstlight.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()

__all__ = ["CLAIMS"]
