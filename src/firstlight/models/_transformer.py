"""The one-layer transformer of the grokking papers (Power et al. 2022, Nanda et al. 2023)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray

from firstlight.models._activation import Activation, Elementwise, activation
from firstlight.models._initialisation import check_sizes, draw_weights
from firstlight.models._model import Model
from firstlight.models._parameters import array_or_none
from firstlight.models._projection import Matrix, Projection, preactivations
from firstlight.models._tokens import TokenTask, look_up, task_factors


class Attention(NamedTuple):
    """What the last position reads.

    **Attributes:**

    - `pattern`: A (n, k+1, H), the weight of each position in each head; the weights of a head sum to 1.
    - `values`: z (n, H·e), the mean value of each head under these weights.
    """

    pattern: Array
    values: Array


class Transformer(Model):
    r"""One layer of softmax attention and an MLP on the tokens g₁ … g_k "=", read out at "=" alone.

    $$m = x_{k} + \sum_h \sum_{j \le k} A_{hj}\, x_j W_V^h W_O^h, \qquad
      A_h = \mathrm{softmax}_j\!\left(x_k W_Q^h (x_j W_K^h)^T / \sqrt e\right),$$
    $$\hat Y = (m + \sigma(m W_{in} + b_{in}) W_{out} + b_{out}) W_U,$$

    with $x_j = W_E[g_j] + W_{pos}[j]$ (Nanda et al. 2023, Section 3: no LayerNorm, no tied weights). The query is that
    of "=", the same for every row, so attention costs one table of M entries per position instead of a product per row.

    **Attributes:**

    - `W_E`: token embedding (M+1, d); the last row is that of "=".
    - `W_pos`: positional embedding (k+1, d).
    - `W_Q`, `W_K`, `W_V`: queries, keys and values (d, H·e); head h owns the columns he … (h+1)e−1.
    - `W_O`: output of the heads (H·e, d).
    - `W_U`: unembedding (d, M).
    - `W_in`, `W_out`: MLP (d, K) and (K, d), or None.
    - `b_in`, `b_out`: its biases (K,) and (d,), or None.
    - `heads`: H.
    - `activation`: σ of the MLP.

    >>> import jax
    >>> from firstlight import tasks
    >>> task = tasks.group_task("S3")
    >>> model = Transformer.for_task(task, jax.random.key(0), width=16, heads=2, mlp=32)
    >>> model(task.inputs.dense()).shape, model.attention(task.inputs.project).pattern.shape
    ((36, 6), (36, 3, 2))
    """

    W_E: Float[Array, "tokens d"] = eqx.field(converter=jnp.asarray)
    W_pos: Float[Array, "positions d"] = eqx.field(converter=jnp.asarray)
    W_Q: Float[Array, "d He"] = eqx.field(converter=jnp.asarray)
    W_K: Float[Array, "d He"] = eqx.field(converter=jnp.asarray)
    W_V: Float[Array, "d He"] = eqx.field(converter=jnp.asarray)
    W_O: Float[Array, "He d"] = eqx.field(converter=jnp.asarray)
    W_U: Float[Array, "d M"] = eqx.field(converter=jnp.asarray)
    W_in: Float[Array, "d K"] | None = eqx.field(converter=array_or_none, default=None)
    W_out: Float[Array, "K d"] | None = eqx.field(converter=array_or_none, default=None)
    b_in: Float[Array, " K"] | None = eqx.field(converter=array_or_none, default=None)
    b_out: Float[Array, " d"] | None = eqx.field(converter=array_or_none, default=None)
    heads: int = eqx.field(static=True, default=1)
    activation: Activation = eqx.field(converter=activation, static=True, default="relu")

    def __check_init__(self) -> None:
        d, read = self.W_E.shape[1], self.W_Q.shape[1]
        if read % self.heads:
            raise ValueError(f"W_Q must have as many columns for each of {self.heads} heads, got {read} columns")
        expected = {
            "W_pos": (self.W_pos.shape[0], d),
            **dict.fromkeys(("W_Q", "W_K", "W_V"), (d, read)),
            "W_O": (read, d),
            "W_U": (d, self.W_E.shape[0] - 1),
        }
        if self.W_in is not None:
            K = self.W_in.shape[1]
            expected |= {"W_in": (d, K), "W_out": (K, d), "b_in": (K,), "b_out": (d,)}
        for name, shape in expected.items():
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise ValueError(f"{name} must have shape {shape}, got {array.shape}; weights are stored (in, out)")
        if (self.W_in is None) != (self.W_out is None) or (self.W_in is None and self.b_in is not None):
            raise ValueError("an MLP needs W_in and W_out, and only an MLP has biases; give both or neither")

    @classmethod
    def init(
        cls,
        key: PRNGKeyArray,
        inputs: int,
        outputs: int,
        width: int = 128,
        heads: int = 4,
        mlp: int = 512,
        activation: str | Elementwise | Activation = "relu",
        scale: float = 1.0,
        bias: bool = True,
    ) -> "Transformer":
        """Draw all weights from N(0, 1/d), the unembedding from N(0, 1/(M+1)), as Nanda et al. do; biases are 0.

        **Arguments:**

        - `key`: a JAX random key.
        - `inputs`: dimension kM of the one-hot inputs of k factors.
        - `outputs`: number of classes M.
        - `width`: d, the width of the residual stream.
        - `heads`: H, the number of attention heads, each of width d/H.
        - `mlp`: K, the number of hidden units; 0 for attention alone.
        - `activation`: σ of the hidden units.
        - `scale`: factor of every drawn number.
        - `bias`: whether the MLP has biases.
        """
        check_sizes(inputs=inputs, outputs=outputs, width=width, heads=heads, **({"mlp": mlp} if mlp else {}))
        if width % heads:
            fits = [h for h in range(1, width + 1) if width % h == 0]
            near = min(fits, key=lambda h: (abs(h - heads), h))
            raise ValueError(
                f"width must be divisible by heads, since each head has width / heads columns, got width={width} and "
                f"heads={heads}; use heads={near} or width={heads * max(1, round(width / heads))}"
            )
        if inputs % outputs or inputs // outputs < 2:
            raise ValueError(
                f"inputs must be a multiple of outputs, {outputs}, one block per factor and at least two, got {inputs}"
            )
        factors = inputs // outputs
        shapes = {
            "W_E": (outputs + 1, width),
            "W_pos": (factors + 1, width),
            **dict.fromkeys(("W_Q", "W_K", "W_V", "W_O"), (width, width)),
            "W_U": (width, outputs),
            **({"W_in": (width, mlp), "W_out": (mlp, width)} if mlp else {}),
        }
        keys = dict(zip(shapes, jax.random.split(key, len(shapes)), strict=True))
        fan_in = {name: outputs + 1 if name == "W_U" else width for name in shapes}
        drawn = {n: draw_weights(keys[n], shapes[n], fan_in[n], "normal_fan_in", scale) for n in shapes}
        biases = {"b_in": jnp.zeros(mlp), "b_out": jnp.zeros(width)} if mlp and bias else {}
        return cls(**drawn, **biases, heads=heads, activation=activation)  # type: ignore[arg-type]

    @classmethod
    def for_task(
        cls,
        task: TokenTask,
        key: PRNGKeyArray,
        width: int = 128,
        heads: int = 4,
        mlp: int = 512,
        activation: str | Elementwise | Activation = "relu",
        scale: float = 1.0,
        bias: bool = True,
    ) -> "Transformer":
        """Draw a network for a group task in onehot encoding; the defaults are the sizes of Nanda et al.

        **Arguments:**

        - `task`: a `firstlight.tasks.Task`, or any object with its `inputs.dim`, `outputs` and `encoding`.
        - `key`: a JAX random key; `functools.partial(Transformer.for_task, task)` is a function of it.

        The other arguments are those of `Transformer.init`.
        """
        inputs = task_factors(task, "transformer") * task.outputs
        return cls.init(key, inputs, task.outputs, width, heads, mlp, activation, scale, bias)

    @property
    def factors(self) -> int:
        """k, the number of tokens before "="."""
        return self.W_pos.shape[0] - 1

    @property
    def embedding(self) -> Any:
        """Embedding (M, d) of the group elements."""
        return self.W_E[:-1]

    @property
    def first(self) -> Any:
        """Block-diagonal matrix (kM, kd) with rows W_E[g] + W_pos[j] in block j: X times it is (x₀, …, x_{k−1})."""
        return jax.scipy.linalg.block_diag(*self._positions)

    @property
    def last(self) -> Any:
        """W_U (d, M)."""
        return self.W_U

    @property
    def readout(self) -> Any:
        """W_out W_U (K, M), what each hidden unit adds to the outputs; W_U without an MLP."""
        return self.W_U if self.W_out is None else self.W_out @ self.W_U

    @property
    def reads_tokens(self) -> bool:
        """True: `apply_tokens` is faster than `apply`."""
        return True

    def attention(self, inputs: Projection | Matrix) -> Attention:
        """Return the attention pattern and the values read at "=", from X (n, kM) or from the map W ↦ XW."""
        rows = preactivations(inputs, self.first).reshape((-1, self.factors, self.W_E.shape[1]))
        scores, values = self._read(rows)
        return self._attend([*jnp.moveaxis(scores, -2, 0)], [*jnp.moveaxis(values, -2, 0)])

    def features(self, inputs: Projection | Matrix) -> Num[Array, "*n d"]:
        """Return the residual stream (n, d) of "=" after the MLP, from X (n, kM) or from the map W ↦ XW."""
        m = self._end + self.attention(inputs).values @ self.W_O
        if self.W_in is None or self.W_out is None:
            return m
        out = self.hidden(m) @ self.W_out
        return m + (out if self.b_out is None else out + self.b_out)

    def hidden(self, m: Num[Array, "*n d"]) -> Num[Array, "*n K"]:
        """Return the activations σ(mW_in + b_in) of the MLP from the residual stream m."""
        if self.W_in is None:
            raise ValueError("this transformer has no MLP, so it has no hidden units; build it with mlp > 0")
        H = m @ self.W_in
        return self.activation(H if self.b_in is None else H + self.b_in)

    def apply(self, project: Projection) -> Num[Array, "*n M"]:
        """Return Ŷ from the map W ↦ XW."""
        return self.features(project) @ self.W_U

    def __call__(self, X: Matrix) -> Num[Array, "*n M"]:
        """Return Ŷ for X (n, kM)."""
        return self.apply(lambda W: preactivations(X, W))

    def apply_tokens(self, tokens: Int[Array, "n k"]) -> Float[Array, "n M"]:
        """Return Ŷ from the elements (g₁, …, g_k) of each row.

        Scores and values are computed once per element and position. Products of weight matrices are formed first if
        that saves work: z(W_O W_in) instead of (zW_O)W_in.
        """
        scores, values = self._read(jnp.stack(self._positions))
        tables = jnp.concatenate([scores, values], axis=-1)
        rows = [look_up(table, tokens[:, j]) for j, table in enumerate(tables)]
        z = self._attend([r[:, : self.heads] for r in rows], [r[:, self.heads :] for r in rows]).values
        if self.W_in is None or self.W_out is None:
            return self._end @ self.W_U + z @ (self.W_O @ self.W_U)
        constant = self._end @ self.W_in
        F = self.activation(z @ (self.W_O @ self.W_in) + (constant if self.b_in is None else constant + self.b_in))
        end = self._end if self.b_out is None else self._end + self.b_out
        joined = jnp.concatenate([self.W_O, self.W_out]) @ self.W_U
        return end @ self.W_U + jnp.concatenate([z, F], axis=1) @ joined

    @property
    def has_layers(self) -> bool:
        """False: a matrix acts at several positions."""
        return False

    def shifted(self, shifts: Sequence[Any]) -> "Transformer":
        """Raise ValueError: a matrix that acts at several positions has no single output to shift."""
        raise ValueError("a transformer has no single output per matrix to shift; its keys and values act everywhere")

    @property
    def _positions(self) -> list[Array]:
        """x_j of every element at each position j < k: k arrays (M, d)."""
        return [self.W_E[:-1] + self.W_pos[j] for j in range(self.factors)]

    @property
    def _end(self) -> Array:
        """x_k (d,), the residual stream of "=" before attention."""
        return self.W_E[-1] + self.W_pos[-1]

    def _read(self, x: Float[Array, "*n d"]) -> tuple[Float[Array, "*n H"], Float[Array, "*n He"]]:
        """Return the scores and values of positions that hold x, as seen from "="."""
        return x @ self._query, x @ self.W_V

    @property
    def _query(self) -> Float[Array, "d H"]:
        """W_K^h(W_Q^h)ᵀx_k/√e, one column per head: the score of x is its product with this."""
        width, read = self.W_K.shape
        e = read // self.heads
        q = (self._end @ self.W_Q).reshape(self.heads, e) / jnp.sqrt(jnp.asarray(e, self.W_Q.dtype))
        return jnp.einsum("dhe,he->dh", self.W_K.reshape(width, self.heads, e), q)

    def _attend(self, scores: list[Array], values: list[Array]) -> Attention:
        """Return pattern and mean values from scores (n, H) and values (n, He) of the positions before "="."""
        end_scores, end_values = self._read(self._end)
        stacked = jnp.stack([*scores, jnp.broadcast_to(end_scores, scores[0].shape)], axis=-2)
        A = jax.nn.softmax(stacked, axis=-2)
        e = end_values.shape[0] // self.heads
        spread = lambda a: jnp.repeat(a, e, axis=-1)  # noqa: E731
        z = spread(A[..., -1, :]) * end_values
        for j, v in enumerate(values):
            z = z + spread(A[..., j, :]) * v
        return Attention(A, z)
