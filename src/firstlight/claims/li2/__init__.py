"""Claims of *Li₂: A Framework on Dynamics of Feature Emergence and Delayed Generalization*."""

from firstlight.claims._claim import Claim
from firstlight.claims.li2.checks import (
    boundaries,
    boundary,
    deep,
    energy,
    figures,
    grokking,
    interaction,
    lazy,
    maxima,
    memorisation,
    muon,
)

CLAIMS: tuple[Claim, ...] = (
    lazy.EQUATION_5,
    lazy.LEMMA_1,
    energy.THEOREM_1,
    maxima.THEOREM_2,
    maxima.COROLLARY_1,
    energy.COROLLARY_2,
    maxima.THEOREM_3,
    boundary.THEOREM_4,
    memorisation.THEOREM_5,
    interaction.THEOREM_6,
    interaction.THEOREM_7,
    muon.LEMMA_2,
    muon.THEOREM_8,
    deep.SECTION_7,
    lazy.LEMMA_3,
    memorisation.LEMMA_5,
    memorisation.LEMMA_6,
    muon.LEMMA_7,
    muon.LEMMA_8,
    muon.LEMMA_9,
    muon.LEMMA_10,
    grokking.FIGURE_2,
    boundaries.FIGURE_3,
    boundaries.FIGURE_4,
    figures.FIGURE_5,
    figures.FIGURE_6,
    figures.FIGURE_7,
    boundaries.FIGURE_8,
)

__all__ = ["CLAIMS"]
