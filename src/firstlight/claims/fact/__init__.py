"""Claims of *FACT*."""

from firstlight.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()

__all__ = ["CLAIMS"]
