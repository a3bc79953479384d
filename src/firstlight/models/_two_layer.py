"""The two-layer network of all five papers."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from firstlight.models._activation import Activation, Elementwise, activation
from firstlight.models._initialisation import check_sizes, draw_bias, draw_weights
from firstlight.models._model import HiddenUnits, TaskSizes
from firstlight.models._one_layer import OneLayer
from firstlight.models._parameters import array_or_none


class TwoLayer(OneLayer):
    """Ŷ = σ(XW + b)V + c, with features in rows (Li₂, Section 3).

    **Attributes:**

    - `W`: first-layer weights (d, K).
    - `V`: second-layer weights (K, M).
    - `b`: hidden biases (K,), or None.
    - `c`: output biases (M,), or None.
    - `activation`: σ, a name or an `Activation`.

    >>> import jax, jax.numpy as jnp
    >>> model = TwoLayer.init(jax.random.key(0), inputs=4, width=5, outputs=3)
    >>> model(jnp.ones((9, 4))).shape
    (9, 3)

    Draw many networks at once, one per key:

    >>> import equinox as eqx
    >>> keys = jax.random.split(jax.random.key(0), 8)
    >>> models = eqx.filter_vmap(lambda key: TwoLayer.init(key, 4, 5, 3))(keys)
    >>> models.W.shape
    (8, 4, 5)
    """

    W: Float[Array, "d K"] = eqx.field(converter=jnp.asarray)
    V: Float[Array, "K M"] = eqx.field(converter=jnp.asarray)
    b: Float[Array, " K"] | None = eqx.field(converter=array_or_none, default=None)
    c: Float[Array, " M"] | None = eqx.field(converter=array_or_none, default=None)
    activation: Activation = eqx.field(converter=activation, static=True, default="quadratic")

    def __check_init__(self) -> None:
        if self.W.ndim != 2 or self.V.ndim != 2 or self.W.shape[1] != self.V.shape[0]:
            raise ValueError(
                f"W must be (d, K) and V (K, M) with the same K, got {self.W.shape} and {self.V.shape}; "
                "weights are stored (inputs, outputs): transpose the weights of a torch Linear"
            )
        for name, bias, width in (("b", self.b, self.W.shape[1]), ("c", self.c, self.V.shape[1])):
            if bias is not None and bias.shape != (width,):
                raise ValueError(f"bias {name} must have shape ({width},), one entry per unit, got {bias.shape}")

    @classmethod
    def init(
        cls,
        key: PRNGKeyArray,
        inputs: int,
        width: int,
        outputs: int,
        activation: str | Elementwise | Activation = "quadratic",
        init: str = "uniform_fan_in",
        scale: float = 1.0,
        bias: bool = False,
    ) -> "TwoLayer":
        """Draw W, V and, with `bias`, b and c.

        **Arguments:**

        - `key`: a JAX random key.
        - `inputs`: input dimension d.
        - `width`: number of hidden units K.
        - `outputs`: number of outputs M.
        - `activation`: σ, a name, an elementwise callable or an `Activation`.
        - `init`: name of the initialisation, see `firstlight.models.draw_weights`.
        - `scale`: factor of every drawn number.
        - `bias`: whether layers have biases.
        """
        check_sizes(inputs=inputs, width=width, outputs=outputs)
        keys = jax.random.split(key, 4)
        return cls(
            W=draw_weights(keys[0], (inputs, width), inputs, init, scale),
            V=draw_weights(keys[1], (width, outputs), width, init, scale),
            b=draw_bias(keys[2], width, inputs, init, scale) if bias else None,
            c=draw_bias(keys[3], outputs, width, init, scale) if bias else None,
            activation=activation,
        )

    @classmethod
    def for_task(
        cls,
        task: TaskSizes,
        key: PRNGKeyArray,
        width: int,
        activation: str | Elementwise | Activation = "quadratic",
        init: str = "uniform_fan_in",
        scale: float = 1.0,
        bias: bool = False,
    ) -> "TwoLayer":
        """Draw a network with the inputs and outputs of a task.

        **Arguments:**

        - `task`: a `firstlight.tasks.Task`, or any object with its `inputs.dim` and `outputs`.
        - `key`: a JAX random key; `functools.partial(TwoLayer.for_task, task, width=64)` is a function of it.
        - `width`: number of hidden units K.

        The other arguments are those of `TwoLayer.init`.
        """
        return cls.init(key, task.inputs.dim, width, task.outputs, activation, init, scale, bias)

    @property
    def first(self) -> Any:
        """W (d, K)."""
        return self.W

    @property
    def last(self) -> Any:
        """V (K, M)."""
        return self.V

    @property
    def hidden_units(self) -> HiddenUnits:
        """All weights and biases, since the outputs are a sum over the hidden units."""
        return HiddenUnits(self.first, self.V, self.b, self.c, self.activation)

    def shifted(self, shifts: Sequence[Any]) -> "TwoLayer":
        """Return the network with the two `shifts` added to b and c, each of shape (width,) or (n, width)."""
        biases = [shift if b is None else b + shift for b, shift in zip((self.b, self.c), shifts, strict=True)]
        return eqx.tree_at(lambda m: [m.b, m.c], self, biases, is_leaf=lambda x: x is None)
