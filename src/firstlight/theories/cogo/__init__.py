"""Global optimizers crafted by algebra, and the dynamics of monomial potentials (CoGO).

>>> from firstlight.groups import parse
>>> from firstlight.theories import cogo
>>> optimizer = cogo.craft(parse("Z4xZ6"))
>>> optimizer.order, cogo.table_loss(*optimizer.weights, optimizer.group) < 1e-24
(66, True)

The loss is that of the paper as an expectation: E‖P⊥(o − e_{gh})‖² over all pairs, with P⊥ removing the mean over
outputs, `firstlight.flow.Loss(projection="outputs", reduction="mean")`.
"""

from firstlight.theories.cogo._census import Census, NodeGroup, census
from firstlight.theories.cogo._craft import KINDS, bias, bias_repair, craft, craft_any, fourier_four, fourier_six
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
from firstlight.theories.cogo._frequencies import Frequencies, frequencies
from firstlight.theories.cogo._lens import LENSES
from firstlight.theories.cogo._loss import (
    LossTerms,
    gram_loss,
    loss_terms,
    potential_loss,
    residual_coefficients,
    table_loss,
)
from firstlight.theories.cogo._nonabelian import craft_from_irreps
from firstlight.theories.cogo._observe import observe_potentials
from firstlight.theories.cogo._path import Path, random_unit, zero_loss_path
from firstlight.theories.cogo._potentials import Residuals, convolved, cubic, diagonal, potential, quadratic, residuals
from firstlight.theories.cogo._solution import Solution, balanced

__all__ = [
    "KINDS",
    "LENSES",
    "Census",
    "Frequencies",
    "LossTerms",
    "NodeGroup",
    "Path",
    "Potentials",
    "Residuals",
    "Ripple",
    "Solution",
    "at_frequency",
    "balanced",
    "bias",
    "bias_repair",
    "census",
    "convolved",
    "coupling",
    "craft",
    "craft_any",
    "craft_from_irreps",
    "cubic",
    "decoupled_diagonal",
    "diagonal",
    "four_factors",
    "fourier_four",
    "fourier_six",
    "frequencies",
    "gaussian_solution",
    "gram_loss",
    "jj_star",
    "loss_gradient",
    "loss_terms",
    "memorising_factors",
    "observe_potentials",
    "order_pair",
    "order_three",
    "order_two",
    "potential",
    "potential_loss",
    "potential_velocity",
    "potentials",
    "quadratic",
    "random_unit",
    "real_block",
    "residual_coefficients",
    "residuals",
    "ripple",
    "ripple_energy",
    "table_loss",
    "unit",
    "zero_loss_path",
]
