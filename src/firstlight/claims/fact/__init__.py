"""Claims of *FACT*."""

from firstlight.claims._claim import Claim
from firstlight.claims.fact.checks import (
    identity,
    linear,
    perceptrons,
    rfm_algorithm,
    rfm_identities,
    rfm_modular,
    rfm_parity,
    rfm_tabular,
    separation,
)

CLAIMS: tuple[Claim, ...] = (
    identity.THEOREM_3_1,
    identity.REMARK_3_3,
    perceptrons.TABLE_1,
    perceptrons.TABLE_2,
    perceptrons.FIGURE_3,
    separation.THEOREM_3_4,
    separation.FIGURE_4,
    rfm_parity.FIGURE_1,
    rfm_algorithm.ALGORITHM_1,
    rfm_tabular.TABLE_3,
    rfm_parity.FIGURE_5,
    rfm_modular.FIGURE_6,
    rfm_identities.PROPOSITION_5_1,
    rfm_modular.FIGURE_7,
    rfm_identities.ENVELOPE_IDENTITY,
    rfm_identities.SCALE_LAW,
    rfm_algorithm.APPENDIX_E,
    rfm_identities.LEMMA_F_1,
    rfm_identities.LEMMA_F_2,
    perceptrons.FIGURE_8,
    identity.THEOREM_A_1,
    perceptrons.FIGURE_9,
    perceptrons.FIGURE_10,
    linear.APPENDIX_C,
    linear.FIGURE_11,
    separation.LEMMA_D_2,
)

__all__ = ["CLAIMS"]
