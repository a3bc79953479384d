"""What networks with one layer of hidden units share: the path from the units to the outputs."""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Num

from firstlight.models._activation import Activation
from firstlight.models._model import HiddenUnits, Model
from firstlight.models._projection import Matrix, Projection, preactivations


class OneLayer(Model):
    """Ŷ = σ(XW + b)V + c, where a subclass says what W = `first` is."""

    V: eqx.AbstractVar[Any]
    b: eqx.AbstractVar[Any]
    c: eqx.AbstractVar[Any]
    activation: eqx.AbstractVar[Activation]

    @property
    def last(self) -> Any:
        """V (K, M)."""
        return self.V

    @property
    def hidden_units(self) -> HiddenUnits:
        """All weights and biases, since the outputs are a sum over the hidden units."""
        return HiddenUnits(self.first, self.V, self.b, self.c, self.activation)

    def features(self, inputs: Projection | Matrix) -> Num[Array, "*n K"]:
        """Return F = σ(XW + b) (n, K) from X (n, d) or from the map W ↦ XW."""
        H = preactivations(inputs, self.first)
        return self.activation(H if self.b is None else H + self.b)

    def apply(self, project: Projection) -> Num[Array, "*n M"]:
        """Return Ŷ from the map W ↦ XW, so that one-hot inputs need no dense X."""
        Y = self.features(project) @ self.V
        return Y if self.c is None else Y + self.c

    def __call__(self, X: Matrix) -> Num[Array, "*n M"]:
        """Return Ŷ = σ(XW + b)V + c for X (n, d)."""
        return self.apply(lambda W: preactivations(X, W))
