"""Claims of *Alternating Gradient Flows*."""

from firstlight.claims._claim import Claim
from firstlight.claims.agf.checks import attention, diagonal, framework, images, linear, modular, modular_staircase

CLAIMS: tuple[Claim, ...] = (
    framework.EQUATION_2,
    framework.EQUATION_3,
    framework.ALGORITHM_1,
    diagonal.THEOREM_3_1,
    diagonal.FIGURE_3,
    linear.CONJECTURE_4_1,
    linear.FIGURE_4,
    attention.FIGURE_5,
    modular.THEOREM_5_1,
    modular.THEOREM_5_2,
    modular_staircase.EQUATION_9,
    modular_staircase.FIGURE_6,
    images.FIGURE_7,
    framework.EQUATION_14,
    framework.EQUATION_17,
    framework.LEMMA_B_1,
    framework.THEOREM_B_2,
    framework.EQUATION_22,
    framework.EQUATION_23,
    diagonal.LEMMA_C_1,
    diagonal.LEMMA_C_2,
    diagonal.LEMMA_C_3,
    diagonal.THEOREM_C_4,
    diagonal.COROLLARY_C_5,
    diagonal.FIGURE_8,
    linear.LEMMA_D_1,
    linear.EQUATION_47,
    linear.ALGORITHM_3,
    attention.LEMMA_E_1,
    attention.EQUATION_53,
    attention.LEMMA_E_2,
    attention.EQUATION_57,
    attention.EQUATION_58,
    modular.LEMMA_F_1,
    modular.LEMMA_F_2,
    modular.THEOREM_F_5,
    modular.LEMMA_F_6,
    modular.LEMMA_F_8,
    modular.THEOREM_F_9,
)

__all__ = ["CLAIMS"]
