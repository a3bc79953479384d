"""The deep perceptron, plain or residual (Li₂, Section 7; FACT, Section 3)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Num, PRNGKeyArray

from firstlight.models._activation import Activation, Elementwise, activation
from firstlight.models._initialisation import check_sizes, draw_bias, draw_weights
from firstlight.models._model import Model, TaskSizes
from firstlight.models._projection import Matrix, Projection, preactivations


def _arrays(values: Sequence[ArrayLike]) -> tuple[Array, ...]:
    return tuple(jnp.asarray(value) for value in values)


def _arrays_or_none(values: Sequence[ArrayLike] | None) -> tuple[Array, ...] | None:
    return None if values is None else _arrays(values)


class Deep(Model):
    """x₁ = σ(xL₀ + b₀), x_{l+1} = σ([x_l] + x_l L_l + b_l), Ŷ = x_D L_D + b_D; [x_l] only with `residual`.

    A skip connection needs equal widths on both sides. With `residual`, only hidden layers between equal widths
    have a skip connection.

    **Attributes:**

    - `weights`: (L₀, …, L_D), D hidden layers, each (in, out).
    - `biases`: (b₀, …, b_D), or None.
    - `activation`: σ, a name or an `Activation`.
    - `residual`: whether hidden layers of equal width compute x ← σ(x + xL).

    >>> import jax, jax.numpy as jnp
    >>> model = Deep.init(jax.random.key(0), inputs=4, widths=(5, 5), outputs=3, residual=True)
    >>> model(jnp.ones((9, 4))).shape
    (9, 3)
    >>> [x.shape for x in model.hidden_states(jnp.ones((9, 4)))]
    [(9, 5), (9, 5)]
    """

    weights: tuple[Float[Array, "_ _"], ...] = eqx.field(converter=_arrays)
    biases: tuple[Float[Array, " _"], ...] | None = eqx.field(converter=_arrays_or_none, default=None)
    activation: Activation = eqx.field(converter=activation, static=True, default="relu")
    residual: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        shapes = [L.shape for L in self.weights]
        matrices = all(len(shape) == 2 for shape in shapes)
        if len(shapes) < 2 or not matrices or any(a[1] != b[0] for a, b in pairwise(shapes)):
            raise ValueError(
                "weights must be at least two matrices (in, out), each with as many rows as the matrix before it "
                f"has columns, got shapes {shapes}"
            )
        if self.biases is not None and [b.shape for b in self.biases] != [(shape[1],) for shape in shapes]:
            raise ValueError(
                f"biases must have shapes {[(shape[1],) for shape in shapes]}, one per weight matrix, "
                f"got {[b.shape for b in self.biases]}"
            )

    @classmethod
    def init(
        cls,
        key: PRNGKeyArray,
        inputs: int,
        widths: Sequence[int],
        outputs: int,
        activation: str | Elementwise | Activation = "relu",
        init: str = "uniform_fan_in",
        scale: float = 1.0,
        residual: bool = False,
        bias: bool = False,
    ) -> "Deep":
        """Draw all weights and, with `bias`, all biases.

        **Arguments:**

        - `key`: a JAX random key.
        - `inputs`: input dimension d.
        - `widths`: numbers of units of the hidden layers.
        - `outputs`: number of outputs M.
        - `activation`: σ, a name, an elementwise callable or an `Activation`.
        - `init`: name of the initialisation, see `firstlight.models.draw_weights`.
        - `scale`: factor of every drawn number.
        - `residual`: whether hidden layers of equal width have a skip connection.
        - `bias`: whether layers have biases.
        """
        if not widths:
            raise ValueError("widths must name at least one hidden layer, got none; write e.g. (512, 512)")
        check_sizes(inputs=inputs, outputs=outputs, **{f"widths[{i}]": w for i, w in enumerate(widths)})
        sizes = list(pairwise((inputs, *widths, outputs)))
        weight_keys, bias_keys = jax.random.split(key, (2, len(sizes)))
        weights = [draw_weights(k, (m, n), m, init, scale) for k, (m, n) in zip(weight_keys, sizes, strict=True)]
        biases = None
        if bias:
            biases = [draw_bias(k, n, m, init, scale) for k, (m, n) in zip(bias_keys, sizes, strict=True)]
        return cls(weights, biases, activation, residual)

    @classmethod
    def for_task(
        cls,
        task: TaskSizes,
        key: PRNGKeyArray,
        widths: Sequence[int],
        activation: str | Elementwise | Activation = "relu",
        init: str = "uniform_fan_in",
        scale: float = 1.0,
        residual: bool = False,
        bias: bool = False,
    ) -> "Deep":
        """Draw a network with the inputs and outputs of a task.

        **Arguments:**

        - `task`: a `firstlight.tasks.Task`, or any object with its `inputs.dim` and `outputs`.
        - `key`: a JAX random key; `functools.partial(Deep.for_task, task, widths=(64, 64))` is a function of it.
        - `widths`: numbers of units of the hidden layers.

        The other arguments are those of `Deep.init`.
        """
        return cls.init(key, task.inputs.dim, widths, task.outputs, activation, init, scale, residual, bias)

    @property
    def first(self) -> Any:
        """L₀ (d, K₁)."""
        return self.weights[0]

    @property
    def last(self) -> Any:
        """L_D (K_D, M)."""
        return self.weights[-1]

    def hidden_states(self, inputs: Projection | Matrix) -> tuple[Num[Array, "*n _"], ...]:
        """Return (x₁, …, x_D), the outputs of the hidden layers, from X (n, d) or from the map W ↦ XW."""
        x = self.activation(self._add_bias(preactivations(inputs, self.weights[0]), 0))
        states = [x]
        for layer, L in enumerate(self.weights[1:-1], start=1):
            H = self._add_bias(x @ L, layer)
            skips = self.residual and L.shape[0] == L.shape[1]
            x = self.activation(x + H if skips else H)
            states.append(x)
        return tuple(states)

    def features(self, inputs: Projection | Matrix) -> Num[Array, "*n _"]:
        """Return x_D (n, K_D), the last of the `hidden_states`."""
        return self.hidden_states(inputs)[-1]

    def apply(self, project: Projection) -> Num[Array, "*n M"]:
        """Return Ŷ from the map W ↦ XW of the first layer, so that one-hot inputs need no dense X."""
        return self._add_bias(self.features(project) @ self.weights[-1], -1)

    def __call__(self, X: Matrix) -> Num[Array, "*n M"]:
        """Return Ŷ for X (n, d)."""
        return self.apply(lambda W: preactivations(X, W))

    def shifted(self, shifts: Sequence[Any]) -> "Deep":
        """Return the network with `shifts[l]` added to b_l, each of shape (width,) or (n, width)."""
        old = self.biases if self.biases is not None else [None] * len(self.weights)
        biases = tuple(shift if b is None else b + shift for b, shift in zip(old, shifts, strict=True))
        return eqx.tree_at(lambda m: m.biases, self, biases, is_leaf=lambda x: x is None)

    def _add_bias(self, H: Array, layer: int) -> Array:
        return H if self.biases is None else H + self.biases[layer]
