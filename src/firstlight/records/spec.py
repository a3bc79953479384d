"""A run as plain data: what is learned, what learns, under which loss and optimizer, what is written down.

The parts (`Loss`, `Optimizer`, …) are also the arguments of `firstlight.flow.train`, so a convention is
stated once, whether it comes from Python, a TOML file or the command line.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from firstlight.records._base import Frozen

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(gt=0)]
Fraction = Annotated[float, Field(gt=0, le=1)]


class Loss(Frozen):
    """ℓ = factor · reduce_i ‖P(o_i − y_i)‖² or cross-entropy, with every convention named.

    `projection` removes the mean over samples (Li₂'s P₁⊥), over outputs (its released code, CoGO) or nothing;
    `reduction` is over samples; outputs are always summed.
    """

    kind: Literal["mse", "cross_entropy"] = "mse"
    projection: Literal["samples", "outputs", "none"] = "outputs"
    reduction: Literal["mean", "sum"] = "mean"
    factor: Positive = 1.0


class Schedule(Frozen):
    """Multiplier of the learning rate over steps: linear warm-up, then `shape` down to `final`."""

    shape: Literal["constant", "cosine", "linear"] = "constant"
    warmup: Annotated[int, Field(ge=0)] = 0
    final: NonNegative = 0.0


class Optimizer(Frozen):
    """An optax optimizer. `decay="coupled"` adds wd·θ to the gradient (L2); `"decoupled"` to the update (AdamW).

    `layer_rates` multiplies the learning rate of a parameter named as in the model (`W`, `V`, …).
    """

    name: Literal["sgd", "adam", "adamw", "muon"] = "adam"
    learning_rate: Positive = 1e-3
    weight_decay: NonNegative = 0.0
    decay: Literal["auto", "coupled", "decoupled"] = "auto"
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    epsilon: Positive = 1e-8
    schedule: Schedule = Schedule()
    layer_rates: dict[str, NonNegative] = {}
    batch_size: Count | None = None


class Recording(Frozen):
    """At which steps observables are taken: every `every` steps, or `points` log-spaced steps. Ends included."""

    every: Count | None = 10
    points: Count | None = None

    @model_validator(mode="after")
    def _one_spacing(self) -> Self:
        if self.points is not None and "every" in self.model_fields_set and self.every is not None:
            raise ValueError("give either every (linear spacing) or points (log spacing), not both")
        return self

    def steps(self, last: int) -> tuple[int, ...]:
        """The recorded steps 0 = s₀ < … < s_r = last.

        >>> Recording(every=4).steps(10)
        (0, 4, 8, 10)
        >>> Recording(points=4).steps(100)
        (0, 1, 5, 22, 100)
        """
        if self.points is None:
            inner = range(0, last, self.every or 1)
        else:
            ratio = last ** (1 / max(self.points - 1, 1))
            inner = (round(ratio**i) for i in range(self.points))
        return tuple(sorted({0, last, *(s for s in inner if s <= last)}))


class Stop(Frozen):
    """Stop a run when an observable crosses a level at a recorded step."""

    observable: str
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _one_level(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give exactly one of at_least and at_most")
        return self

    def reached(self, value: float) -> bool:
        """Whether `value` is at or beyond the level.

        >>> Stop(observable="test_accuracy", at_least=0.99).reached(1.0)
        True
        """
        return value >= self.at_least if self.at_least is not None else value <= self.at_most  # type: ignore[operator]


class Split(Frozen):
    """Which rows train: a fraction or a count, drawn with the run's seed, optionally equally from each target."""

    fraction: Fraction | None = None
    count: Count | None = None
    stratified: bool = False

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        if self.fraction is not None and self.count is not None:
            raise ValueError("give either fraction or count, not both")
        return self


class GroupTask(Frozen):
    """Predict g₁ g₂ … g_k in a finite group, from concatenated one-hot, summed one-hot or template inputs."""

    kind: Literal["group"] = "group"
    group: str = "Z71"
    factors: Annotated[int, Field(ge=2)] = 2
    encoding: Literal["onehot", "summed", "template"] = "onehot"
    template: tuple[float, ...] | None = None
    label_noise: Annotated[float, Field(ge=0, lt=1)] = 0.0
    split: Split = Split(fraction=0.4)


class ParityTask(Frozen):
    """y = ∏_{i<k} x_i on random signs x ∈ {±1}^d."""

    kind: Literal["parity"] = "parity"
    dimension: Count = 50
    degree: Count = 2
    samples: Count = 1000
    split: Split = Split(fraction=0.5)


class ArraysTask(Frozen):
    """Arrays a user brings, in an `.npz` file with `X` and `y`; they enter the identity by digest."""

    kind: Literal["arrays"] = "arrays"
    path: str
    digest: str = ""
    split: Split = Split(fraction=0.8)


TaskSpec = Annotated[GroupTask | ParityTask | ArraysTask, Field(discriminator="kind")]


class TwoLayerModel(Frozen):
    """ŷ = σ(xW)V. `init` draws W and V; `scale` multiplies both."""

    kind: Literal["two_layer"] = "two_layer"
    width: Count = 2048
    activation: str = "quadratic"
    init: Literal["uniform_fan_in", "normal_fan_in", "normal"] = "uniform_fan_in"
    scale: Positive = 1.0
    bias: bool = False


class DeepModel(Frozen):
    """A deep perceptron; with `residual`, hidden layers of equal width compute x ← σ(x + xL)."""

    kind: Literal["deep"] = "deep"
    widths: Annotated[tuple[Count, ...], Field(min_length=1)] = (512, 512)
    activation: str = "relu"
    init: Literal["uniform_fan_in", "normal_fan_in", "normal"] = "uniform_fan_in"
    scale: Positive = 1.0
    residual: bool = False
    bias: bool = False


ModelSpec = Annotated[TwoLayerModel | DeepModel, Field(discriminator="kind")]


class RunSpec(Frozen):
    """One training run, from which it can be repeated bit for bit on one machine."""

    name: str = ""
    task: TaskSpec = GroupTask()
    model: ModelSpec = TwoLayerModel()
    loss: Loss = Loss()
    optimizer: Optimizer = Optimizer()
    steps: Count = 500
    recording: Recording = Recording()
    stop: tuple[Stop, ...] = ()
    snapshots: Annotated[int, Field(ge=0)] = 0
    lenses: tuple[str, ...] = ()
    seed: Annotated[int, Field(ge=0)] = 0
