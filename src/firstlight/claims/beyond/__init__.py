"""Claims beyond the papers: what was found while they were made executable."""

from firstlight.claims.beyond.statements import CLAIMS

__all__ = ["CLAIMS"]
