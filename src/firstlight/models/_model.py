"""The interface that every network on rows of inputs shares."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
from jaxtyping import Array, Int, Num

from firstlight.models._activation import Activation
from firstlight.models._parameters import named_parameters
from firstlight.models._projection import Matrix, Projection


@runtime_checkable
class HasDimension(Protocol):
    """Inputs X (n, d) that state their dimension d, as those of a `firstlight.tasks.Task` do."""

    @property
    def dim(self) -> int:
        """Number of columns of X."""
        ...


@runtime_checkable
class TaskSizes(Protocol):
    """The part of a `firstlight.tasks.Task` that fixes the sizes of a network."""

    @property
    def inputs(self) -> HasDimension:
        """Inputs X (n, d) of the task."""
        ...

    @property
    def outputs(self) -> int:
        """Number of classes or of regressed values, M."""
        ...


class HiddenUnits(NamedTuple):
    """One layer of hidden units whose contributions add up: Ŷ = Σ_j σ(Xw_j + b_j)v_jᵀ + c.

    **Attributes:**

    - `W`: weights (d, K) from the inputs, one column w_j per unit.
    - `V`: weights (K, M) to the outputs, one row v_j per unit.
    - `b`: biases (K,) of the units, or None.
    - `c`: biases (M,) of the outputs, or None.
    - `activation`: σ.
    """

    W: Any
    V: Any
    b: Any
    c: Any
    activation: Activation


class Model(eqx.Module):
    """A network that maps rows of inputs X (n, d) to outputs Ŷ (n, M).

    A subclass also offers `for_task(task, key, ...)`, which builds a network of the sizes a task needs. Its other
    arguments are those of the subclass's `init`.

    >>> import jax, jax.numpy as jnp
    >>> from firstlight.models import Deep
    >>> model: Model = Deep.init(jax.random.key(0), inputs=4, widths=(6, 5), outputs=3)
    >>> model.first.shape, model.last.shape, model.features(jnp.ones((9, 4))).shape
    ((4, 6), (5, 3), (9, 5))
    """

    @property
    @abstractmethod
    def first(self) -> Any:
        """Weights (d, K₁) that see the input."""

    @property
    @abstractmethod
    def last(self) -> Any:
        """Weights (K, M) that make the output."""

    @abstractmethod
    def features(self, inputs: Projection | Matrix) -> Num[Array, "*n K"]:
        """Return F (n, K), the activations of the last hidden layer, from X (n, d) or from the map W ↦ XW."""

    @abstractmethod
    def apply(self, project: Projection) -> Num[Array, "*n M"]:
        """Return Ŷ from the map W ↦ XW of the first layer, so that one-hot inputs need no dense X."""

    @abstractmethod
    def __call__(self, X: Matrix) -> Num[Array, "*n M"]:
        """Return Ŷ for X (n, d)."""

    @property
    def hidden_units(self) -> HiddenUnits | None:
        """The hidden units if they may be evaluated in blocks, because the outputs are a sum over them; else None."""
        return None

    @property
    def embedding(self) -> Any:
        """Weights (M, e) or (kM, e) of the group elements, by factor: `first`, unless the network embeds its tokens."""
        return self.first

    @property
    def readout(self) -> Any:
        """Weights (K, M) from the hidden units to the outputs: `last`, unless another matrix lies between them."""
        return self.last

    @property
    def has_layers(self) -> bool:
        """Whether every weight matrix has one output for each sample, so that `shifted` can add to it."""
        return True

    @property
    def reads_tokens(self) -> bool:
        """Whether `apply_tokens` evaluates the network from the elements of each row, faster than `apply`."""
        return False

    def apply_tokens(self, tokens: Int[Array, "n k"]) -> Num[Array, "n M"]:
        """Return Ŷ from the elements (g₁, …, g_k) of each row; only networks that read tokens offer it."""
        raise ValueError(f"{type(self).__name__} does not read tokens; call apply with the map W ↦ XW")

    @abstractmethod
    def shifted(self, shifts: Sequence[Any]) -> "Model":
        """Return the network with `shifts[l]` added to the biases of layer l.

        A shift of shape (n, K_l) gives each of n samples a bias of its own: the derivative in that shift is the
        gradient at the layer's own outputs.
        """

    def named_parameters(self) -> dict[str, Array]:
        """Return the arrays of the network under dotted names; see `firstlight.models.named_parameters`."""
        return named_parameters(self)
