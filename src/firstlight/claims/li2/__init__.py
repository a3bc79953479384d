"""Claims of *Li₂: A Framework on Dynamics of Feature Emergence and Delayed Generalization*."""

from firstlight.claims.claim import Claim
from firstlight.claims.li2 import energy, grokking

CLAIMS: tuple[Claim, ...] = (
    energy.THEOREM_1,
    energy.COROLLARY_2,
    grokking.FIGURE_2,
)

__all__ = ["CLAIMS"]
