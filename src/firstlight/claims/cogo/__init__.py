"""Claims of *Crafting Global Optimizers to Reasoning Tasks via Algebraic Objects in Neural Nets*."""

from firstlight.claims._claim import Claim
from firstlight.claims.cogo.checks import (
    characters,
    connecting,
    crafting,
    dynamics,
    loss,
    orders,
    potentials_in_training,
    ring,
    small_networks,
)

CLAIMS: tuple[Claim, ...] = (
    loss.THEOREM_1,
    loss.LEMMA_1,
    ring.THEOREM_2,
    ring.THEOREM_3,
    ring.OBSERVATION_2,
    ring.COROLLARY_1,
    crafting.LEMMA_2,
    crafting.COROLLARY_2,
    crafting.COROLLARY_3,
    crafting.COROLLARY_4,
    dynamics.THEOREM_4,
    connecting.THEOREM_5,
    dynamics.THEOREM_6,
    dynamics.EQUATION_12,
    characters.LEMMA_3,
    small_networks.FIGURE_2,
    small_networks.FIGURE_3,
    potentials_in_training.FIGURE_4,
    orders.FIGURE_5,
)

__all__ = ["CLAIMS"]
