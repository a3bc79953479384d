"""Claims of *FACT*."""

from firstlight.claims.claim import Claim
from firstlight.claims.fact import rfm_algorithm, rfm_identities, rfm_modular, rfm_parity, rfm_tabular

CLAIMS: tuple[Claim, ...] = (
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
)

__all__ = ["CLAIMS"]
