"""Claims that relate one theory to another."""

from firstlight.claims.cross.statements import CLAIMS

__all__ = ["CLAIMS"]
