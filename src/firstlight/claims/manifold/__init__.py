"""Claims of *The Geometry of Grokking*."""

from firstlight.claims._claim import Claim
from firstlight.claims.manifold.checks import isolated, section_7, stability, toys, training

CLAIMS: tuple[Claim, ...] = (
    toys.FIGURE_1,
    toys.FIGURE_2,
    toys.FIGURE_3,
    stability.THEOREM_4_9,
    stability.THEOREM_4_13,
    isolated.THEOREM_5_1,
    isolated.EQUATION_16,
    isolated.EQUATION_17,
    isolated.EQUATION_20,
    isolated.EQUATION_21,
    training.TWO_RATE_LIMIT,
    training.MINIMUM_NORM,
    section_7.SECTION_7,
    section_7.FIGURE_4,
    stability.LEMMA_A_1,
    stability.LEMMA_B_1,
    stability.PROPOSITION_B_4,
    isolated.APPENDIX_C,
)

__all__ = ["CLAIMS"]
