"""Claims that relate one theory to another."""

from firstlight.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()

__all__ = ["CLAIMS"]
