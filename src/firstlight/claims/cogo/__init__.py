"""Claims of *Crafting Global Optimizers to Reasoning Tasks via Algebraic Objects in Neural Nets*."""

from firstlight.claims.claim import Claim
from firstlight.claims.cogo import characters, loss

CLAIMS: tuple[Claim, ...] = (
    loss.THEOREM_1,
    characters.LEMMA_3,
)

__all__ = ["CLAIMS"]
