"""Claims of *Alternating Gradient Flows*."""

from firstlight.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()

__all__ = ["CLAIMS"]
