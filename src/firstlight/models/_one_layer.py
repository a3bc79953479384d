"""What networks with one layer of hidden units share: the path from the inputs through the units to the outputs."""

from abc import abstractmethod
from typing import Any

from jaxtyping import Array, Num

from firstlight.models._model import HiddenUnits, Model
from firstlight.models._projection import Matrix, Projection, preactivations


class OneLayer(Model):
    """Ŷ = σ(XW + b)V + c, whose weights and biases a subclass gives as `hidden_units`."""

    @property
    @abstractmethod
    def hidden_units(self) -> HiddenUnits:
        """W, V, b, c and σ: the outputs are a sum over the hidden units."""

    def features(self, inputs: Projection | Matrix) -> Num[Array, "*n K"]:
        """Return F = σ(XW + b) (n, K) from X (n, d) or from the map W ↦ XW."""
        return _features(self.hidden_units, inputs)

    def apply(self, project: Projection) -> Num[Array, "*n M"]:
        """Return Ŷ from the map W ↦ XW, so that one-hot inputs need no dense X."""
        units = self.hidden_units
        Y = _features(units, project) @ units.V
        return Y if units.c is None else Y + units.c

    def __call__(self, X: Matrix) -> Num[Array, "*n M"]:
        """Return Ŷ = σ(XW + b)V + c for X (n, d)."""
        return self.apply(lambda W: preactivations(X, W))


def _features(units: HiddenUnits, inputs: Projection | Matrix) -> Any:
    H = preactivations(inputs, units.W)
    return units.activation(H if units.b is None else H + units.b)
