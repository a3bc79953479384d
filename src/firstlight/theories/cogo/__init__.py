"""Global optimizers crafted by algebra, and the dynamics of monomial potentials (CoGO).

>>> from firstlight.groups import parse
>>> from firstlight.theories import cogo
>>> optimizer = cogo.craft(parse("Z4xZ6"))
>>> optimizer.order, cogo.table_loss(*optimizer.weights, optimizer.group) < 1e-24
(66, True)

The loss is that of the paper as an expectation, E‖P⊥(o − e_{gh})‖² over all pairs. P⊥ removes the mean over outputs:
`firstlight.flow.Loss(projection="outputs", reduction="mean")`.

- `craft` and `craft_any` build zero-loss networks; a `Solution` is a network as an element of the semi-ring.
- `order_census` reads a trained network: which hidden units carry which frequency, and which crafted block they are.
- `table_loss`, `gram_loss` and `potential_loss` compute the loss exactly.
- `zero_loss_path` connects two optimizers.
- `lemmas` holds the paper's factors, monomial potentials and dynamics.
"""

from firstlight.theories.cogo import lemmas
from firstlight.theories.cogo._census import FrequencyBlock, OrderCensus, order_census
from firstlight.theories.cogo._craft import CRAFT_KINDS, craft, craft_any, fourier_four, fourier_six
from firstlight.theories.cogo._frequencies import Frequencies, frequencies
from firstlight.theories.cogo._lens import LENSES
from firstlight.theories.cogo._loss import gram_loss, potential_loss, table_loss
from firstlight.theories.cogo._path import ZeroLossPath, zero_loss_path
from firstlight.theories.cogo._solution import Solution, balanced

__all__ = [
    "CRAFT_KINDS",
    "LENSES",
    "Frequencies",
    "FrequencyBlock",
    "OrderCensus",
    "Solution",
    "ZeroLossPath",
    "balanced",
    "craft",
    "craft_any",
    "fourier_four",
    "fourier_six",
    "frequencies",
    "gram_loss",
    "lemmas",
    "order_census",
    "potential_loss",
    "table_loss",
    "zero_loss_path",
]
