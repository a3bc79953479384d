"""The definitions, lemmas and theorems of the CoGO paper, one function each.

| statement | names |
|---|---|
| monomial potentials (Definition 4) | `potential`, `diagonal`, `cubic`, `quadratic`, `convolved` |
| all potentials of the loss as a vector | `potentials`, `Potentials` |
| constraint sets (Definition 6, Lemma 1) | `residuals`, `Residuals` |
| loss by monomial potentials (Theorem 1, eq. 3) | `loss_terms`, `LossTerms`, `residual_coefficients` |
| partial solutions of order 1, 2 and 3 (Lemma 2, Corollary 2) | `unit`, `order_two`, `order_pair`, `order_three` |
| factors of order-4 blocks (Corollary 3) | `four_factors` |
| solutions at one frequency | `at_frequency`, `real_block` |
| perfect memorisation (Corollary 4) | `memorising_factors` |
| bias left by order 4, and its repair | `bias`, `bias_repair` |
| zero-loss networks from irreps, any finite group | `craft_from_irreps` |
| units for zero-loss paths (Theorem 5) | `random_unit` |
| dynamics of potentials (Theorem 4) | `jj_star`, `loss_gradient`, `potential_velocity` |
| decoupling with width (Theorem 6) | `coupling`, `gaussian_solution`, `decoupled_diagonal` |
| ripples (eq. 12) | `ripple`, `Ripple`, `ripple_energy` |
| potentials recorded along a run (Figure 4) | `observe_potentials` |

>>> from firstlight.groups import cyclic
>>> from firstlight.theories import cogo
>>> cogo.lemmas.residuals(cogo.craft(cyclic(7))).holding(1e-12)
('R_plus', 'R_c', 'R_n', 'R_conv')
"""

from firstlight.theories.cogo._craft import bias, bias_repair
from firstlight.theories.cogo._dynamics import (
    Potentials,
    Ripple,
    coupling,
    decoupled_diagonal,
    gaussian_solution,
    jj_star,
    loss_gradient,
    potential_velocity,
    potentials,
    ripple,
    ripple_energy,
)
from firstlight.theories.cogo._factors import (
    at_frequency,
    four_factors,
    memorising_factors,
    order_pair,
    order_three,
    order_two,
    real_block,
    unit,
)
from firstlight.theories.cogo._loss import LossTerms, loss_terms, residual_coefficients
from firstlight.theories.cogo._nonabelian import craft_from_irreps
from firstlight.theories.cogo._observe import observe_potentials
from firstlight.theories.cogo._path import random_unit
from firstlight.theories.cogo._potentials import Residuals, convolved, cubic, diagonal, potential, quadratic, residuals

__all__ = [
    "LossTerms",
    "Potentials",
    "Residuals",
    "Ripple",
    "at_frequency",
    "bias",
    "bias_repair",
    "convolved",
    "coupling",
    "craft_from_irreps",
    "cubic",
    "decoupled_diagonal",
    "diagonal",
    "four_factors",
    "gaussian_solution",
    "jj_star",
    "loss_gradient",
    "loss_terms",
    "memorising_factors",
    "observe_potentials",
    "order_pair",
    "order_three",
    "order_two",
    "potential",
    "potential_velocity",
    "potentials",
    "quadratic",
    "random_unit",
    "real_block",
    "residual_coefficients",
    "residuals",
    "ripple",
    "ripple_energy",
    "unit",
]
