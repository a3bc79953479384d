"""The perceptron on learned embeddings, whose first layer is a product of two matrices."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from firstlight._suggest import did_you_mean
from firstlight.models._activation import Activation, Elementwise, activation
from firstlight.models._initialisation import check_sizes, draw_bias, draw_weights
from firstlight.models._model import HiddenUnits
from firstlight.models._one_layer import OneLayer
from firstlight.models._parameters import array_or_none
from firstlight.models._tokens import ENCODINGS, TokenTask, task_factors

COMBINATIONS = ("sum", "concat")
"""How embeddings of the factors are combined."""


class EmbeddingMLP(OneLayer):
    r"""Ŷ = σ(xW_in + b)V + c on the sum or the concatenation x of learned embeddings of the factors.

    $$x = \sum_j W_E[g_j] \quad\text{or}\quad x = (W_E[g_1], \dots, W_E[g_k])$$

    The map from the one-hot inputs to the hidden units is one matrix W = W_E W_in (kM, K), so the network is a
    `TwoLayer` network whose first weights are a product. Training evaluates it as such.

    **Attributes:**

    - `W_E`: embedding (M, e), the same for every factor, or (kM, e), one per factor.
    - `W_in`: (e, K) for a sum, (ke, K) for a concatenation.
    - `V`: output weights (K, M).
    - `b`: hidden biases (K,), or None.
    - `c`: output biases (M,), or None.
    - `factors`: k; 1 if the inputs are summed one-hot vectors.
    - `combine`: "sum" or "concat".
    - `activation`: σ, a name or an `Activation`.

    >>> import jax
    >>> from firstlight import tasks
    >>> task = tasks.group_task("S3")
    >>> model = EmbeddingMLP.for_task(task, jax.random.key(0), width=32, embedding=8)
    >>> model.W_E.shape, model.W_in.shape, model(task.inputs.dense()).shape
    ((6, 8), (16, 32), (36, 6))
    """

    W_E: Float[Array, "tokens e"] = eqx.field(converter=jnp.asarray)
    W_in: Float[Array, "_ K"] = eqx.field(converter=jnp.asarray)
    V: Float[Array, "K M"] = eqx.field(converter=jnp.asarray)
    b: Float[Array, " K"] | None = eqx.field(converter=array_or_none, default=None)
    c: Float[Array, " M"] | None = eqx.field(converter=array_or_none, default=None)
    factors: int = eqx.field(static=True, default=2)
    combine: str = eqx.field(static=True, default="concat")
    activation: Activation = eqx.field(converter=activation, static=True, default="relu")

    def __check_init__(self) -> None:
        _check_combine(self.combine)
        (tokens, e), M = self.W_E.shape, self.V.shape[1]
        if tokens not in (M, self.factors * M):
            raise ValueError(
                f"W_E must have {M} rows, one per element, or {self.factors * M}, one per element and factor, "
                f"got {tokens}"
            )
        rows = e * (self.factors if self.combine == "concat" else 1)
        if self.W_in.shape != (rows, self.V.shape[0]):
            raise ValueError(
                f"W_in must have shape {(rows, self.V.shape[0])} for the {self.combine} of {self.factors} embeddings "
                f"of width {e}, got {self.W_in.shape}"
            )
        for name, bias, width in (("b", self.b, self.V.shape[0]), ("c", self.c, M)):
            if bias is not None and bias.shape != (width,):
                raise ValueError(f"bias {name} must have shape ({width},), one entry per unit, got {bias.shape}")

    @classmethod
    def init(
        cls,
        key: PRNGKeyArray,
        inputs: int,
        outputs: int,
        width: int = 512,
        embedding: int = 128,
        combine: str = "concat",
        tied: bool = True,
        activation: str | Elementwise | Activation = "relu",
        init: str = "uniform_fan_in",
        scale: float = 1.0,
        bias: bool = False,
    ) -> "EmbeddingMLP":
        """Draw W_E from N(0, 1/e), the other weights and, with `bias`, the biases as `init` says.

        **Arguments:**

        - `key`: a JAX random key.
        - `inputs`: input dimension, kM for one-hot and M for summed inputs.
        - `outputs`: number of classes M.
        - `width`: number of hidden units K.
        - `embedding`: width e of an embedding.
        - `combine`: "sum" or "concat".
        - `tied`: whether all factors share one embedding. The sum of tied embeddings does not see the order of factors.
        - `activation`: σ, a name, an elementwise callable or an `Activation`.
        - `init`: name of the initialisation, see `firstlight.models.draw_weights`.
        - `scale`: factor of every drawn number.
        - `bias`: whether layers have biases.
        """
        _check_combine(combine)
        check_sizes(inputs=inputs, outputs=outputs, width=width, embedding=embedding)
        if inputs % outputs:
            raise ValueError(f"inputs must be a multiple of outputs, {outputs}, one block per factor, got {inputs}")
        factors = inputs // outputs
        keys = jax.random.split(key, 5)
        rows = embedding * (factors if combine == "concat" else 1)
        return cls(
            W_E=draw_weights(keys[0], (outputs if tied else inputs, embedding), embedding, "normal_fan_in", scale),
            W_in=draw_weights(keys[1], (rows, width), rows, init, scale),
            V=draw_weights(keys[2], (width, outputs), width, init, scale),
            b=draw_bias(keys[3], width, rows, init, scale) if bias else None,
            c=draw_bias(keys[4], outputs, width, init, scale) if bias else None,
            factors=factors,
            combine=combine,
            activation=activation,
        )

    @classmethod
    def for_task(
        cls,
        task: TokenTask,
        key: PRNGKeyArray,
        width: int = 512,
        embedding: int = 128,
        combine: str = "concat",
        tied: bool = True,
        activation: str | Elementwise | Activation = "relu",
        init: str = "uniform_fan_in",
        scale: float = 1.0,
        bias: bool = False,
    ) -> "EmbeddingMLP":
        """Draw a network for a group task in onehot or summed encoding.

        **Arguments:**

        - `task`: a `firstlight.tasks.Task`, or any object with its `inputs.dim`, `outputs` and `encoding`.
        - `key`: a JAX random key; `functools.partial(EmbeddingMLP.for_task, task)` is a function of it.

        The other arguments are those of `EmbeddingMLP.init`.
        """
        inputs = task_factors(task, "embedding MLP", ENCODINGS) * task.outputs
        return cls.init(key, inputs, task.outputs, width, embedding, combine, tied, activation, init, scale, bias)

    @property
    def embedding(self) -> Any:
        """W_E."""
        return self.W_E

    @property
    def first(self) -> Any:
        """W_E W_in (kM, K): the weights from the one-hot inputs to the hidden units."""
        M, e = self.V.shape[1], self.W_E.shape[1]
        tied, joined = len(self.W_E) == M, self.combine == "concat"
        blocks = []
        for j in range(self.factors):
            E = self.W_E if tied else self.W_E[j * M : (j + 1) * M]
            blocks.append(E @ (self.W_in[j * e : (j + 1) * e] if joined else self.W_in))
            if tied and not joined:
                return jnp.tile(blocks[0], (self.factors, 1))
        return jnp.concatenate(blocks)

    @property
    def last(self) -> Any:
        """V (K, M)."""
        return self.V

    @property
    def hidden_units(self) -> HiddenUnits:
        """The hidden units with W = W_E W_in."""
        return HiddenUnits(self.first, self.V, self.b, self.c, self.activation)

    @property
    def has_layers(self) -> bool:
        """False: an embedding acts once per factor."""
        return False

    def shifted(self, shifts: Sequence[Any]) -> "EmbeddingMLP":
        """Raise ValueError: an embedding acts once per factor, so it has no single output to shift."""
        raise ValueError("an embedding has one output per factor, so there is no single output per matrix to shift")


def _check_combine(combine: str) -> None:
    if combine not in COMBINATIONS:
        hint = did_you_mean(str(combine), COMBINATIONS)
        raise ValueError(f"combine must be 'sum' or 'concat', got {combine!r}; {hint}".rstrip("; "))
