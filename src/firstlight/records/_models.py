"""The networks that a spec can name."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from firstlight.records._base import Frozen
from firstlight.records._numbers import Count, Flag, Positive, Whole


class TwoLayerModel(Frozen):
    """ŷ = σ(xW)V. `init` draws W and V; `scale` multiplies both.

    **Attributes:**

    - `kind`: the kind of network.
    - `width`: number K of hidden units.
    - `activation`: the function σ: `quadratic`, `relu`, `silu`, `tanh`, …
    - `init`: distribution of the initial weights: uniform or normal with variance by fan-in, or standard normal.
    - `scale`: multiplier of all initial weights.
    - `bias`: whether hidden units and outputs have biases.
    """

    kind: Literal["two_layer"] = "two_layer"
    width: Count = 2048
    activation: str = "quadratic"
    init: Literal["uniform_fan_in", "normal_fan_in", "normal"] = "uniform_fan_in"
    scale: Positive = 1.0
    bias: Flag = False


class DeepModel(Frozen):
    """A deep perceptron; with `residual`, hidden layers of equal width compute x ← σ(x + xL).

    **Attributes:**

    - `kind`: the kind of network.
    - `widths`: hidden units of each layer.
    - `activation`: the function σ of every hidden layer.
    - `init`: distribution of the initial weights: uniform or normal with variance by fan-in, or standard normal.
    - `scale`: multiplier of all initial weights.
    - `residual`: add a layer's input to its output where the widths are equal.
    - `bias`: whether layers have biases.
    """

    kind: Literal["deep"] = "deep"
    widths: Annotated[tuple[Count, ...], Field(min_length=1)] = (512, 512)
    activation: str = "relu"
    init: Literal["uniform_fan_in", "normal_fan_in", "normal"] = "uniform_fan_in"
    scale: Positive = 1.0
    residual: Flag = False
    bias: Flag = False


class TransformerModel(Frozen):
    """One layer of softmax attention and an MLP, read out at the last position; the defaults are those of Nanda et al.

    **Attributes:**

    - `kind`: the kind of network.
    - `width`: width of the residual stream, a multiple of `heads`.
    - `heads`: attention heads.
    - `mlp`: hidden units; 0 for attention alone.
    - `activation`: the function of the hidden units.
    - `scale`: multiplier of all initial weights.
    - `bias`: whether hidden units have biases.
    """

    kind: Literal["transformer"] = "transformer"
    width: Count = 128
    heads: Count = 4
    mlp: Annotated[Whole, Field(ge=0)] = 512
    activation: str = "relu"
    scale: Positive = 1.0
    bias: Flag = True

    @model_validator(mode="after")
    def _equal_heads(self) -> "TransformerModel":
        if self.width % self.heads:
            raise ValueError(
                f"width must be divisible by heads, since each head has width / heads columns; "
                f"got width {self.width} and heads {self.heads}"
            )
        return self


class EmbeddingModel(Frozen):
    """A perceptron with one hidden layer on the sum or the concatenation of learned embeddings.

    The sum of tied embeddings does not see the order of the factors.

    **Attributes:**

    - `kind`: the kind of network.
    - `width`: hidden units.
    - `embedding`: width of an embedding.
    - `combine`: whether embeddings are added or concatenated.
    - `tied`: give all factors one embedding.
    - `activation`: the function of the hidden units.
    - `init`: distribution of the initial weights: uniform or normal with variance by fan-in, or standard normal.
    - `scale`: multiplier of all initial weights.
    - `bias`: whether hidden units have biases.
    """

    kind: Literal["embedding"] = "embedding"
    width: Count = 512
    embedding: Count = 128
    combine: Literal["sum", "concat"] = "concat"
    tied: Flag = True
    activation: str = "relu"
    init: Literal["uniform_fan_in", "normal_fan_in", "normal"] = "uniform_fan_in"
    scale: Positive = 1.0
    bias: Flag = False


ModelSpec = Annotated[TwoLayerModel | DeepModel | TransformerModel | EmbeddingModel, Field(discriminator="kind")]
