"""A run as plain data: task, model, loss, optimizer, and what to record.

The parts (`Loss`, `Optimizer`, …) are also the arguments of `firstlight.flow.train`, so a convention has the same
name in Python, in a TOML file and on the command line.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_serializer, model_validator

from firstlight.records._base import Frozen
from firstlight.records._models import ModelSpec, TwoLayerModel
from firstlight.records._numbers import Count, Flag, Fraction, NonNegative, Positive, Real, Whole
from firstlight.records._presets import expand_preset
from firstlight.records._steps import EverySteps, LogSteps, RecordedSteps

LEARNED = 0.99
"""The accuracy at which a data set counts as learned."""


class Loss(Frozen):
    """ℓ = factor · reduce_i ‖P(o_i − y_i)‖² or cross-entropy, with every convention named.

    **Attributes:**

    - `kind`: squared error, or cross-entropy of the softmax of the outputs.
    - `projection`: what P removes: the mean over samples (Li₂'s P₁⊥), the mean over outputs (Li₂'s released code, CoGO)
      or nothing.
    - `reduction`: mean or sum over samples; outputs are always summed.
    - `factor`: multiplier of the loss, such as ½.
    """

    kind: Literal["mse", "cross_entropy"] = "mse"
    projection: Literal["samples", "outputs", "none"] = "outputs"
    reduction: Literal["mean", "sum"] = "mean"
    factor: Positive = 1.0


class Schedule(Frozen):
    """Multiplier of the learning rate over steps: linear warm-up, then `shape` down to `final`.

    **Attributes:**

    - `shape`: the course after the warm-up.
    - `warmup`: steps over which the multiplier rises from 0 to 1.
    - `final`: the multiplier at the last step (linear, cosine).
    """

    shape: Literal["constant", "cosine", "linear"] = "constant"
    warmup: Annotated[Whole, Field(ge=0)] = 0
    final: NonNegative = 0.0

    @model_validator(mode="after")
    def _effective(self) -> "Schedule":
        if self.shape == "constant" and self.final:
            raise ValueError('final belongs to shape = "linear" or "cosine"; a constant schedule has none')
        return self


class Optimizer(Frozen):
    """An optax optimizer and its schedule.

    **Attributes:**

    - `name`: the optimizer.
    - `learning_rate`: the rate before the schedule.
    - `weight_decay`: the coefficient wd.
    - `decay`: `"coupled"` adds wd·θ to the gradient (L2); `"decoupled"` adds wd·θ to the update; `"auto"` couples for
      SGD and Adam and decouples for AdamW and Muon.
    - `momentum`: momentum of SGD (default 0) or Muon (default 0.95).
    - `beta1`: decay of the mean of gradients (Adam, AdamW, Muon).
    - `beta2`: decay of the mean of squared gradients (Adam, AdamW, Muon).
    - `epsilon`: constant in the denominator of the update (Adam, AdamW, Muon).
    - `schedule`: multiplier of the learning rate over steps.
    - `layer_rates`: multipliers of the learning rate by parameter name (`W`, `V`, `weights.0`, …).
    - `batch_size`: rows per mini-batch; None for all rows. Each epoch visits the rows in a new order and leaves out the
      last n mod `batch_size` of them.
    """

    name: Literal["sgd", "adam", "adamw", "muon"] = "adam"
    learning_rate: Positive = 1e-3
    weight_decay: NonNegative = 0.0
    decay: Literal["auto", "coupled", "decoupled"] = "auto"
    momentum: Annotated[Real, Field(ge=0, lt=1)] | None = None
    beta1: Annotated[Real, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[Real, Field(ge=0, lt=1)] = 0.999
    epsilon: Positive = 1e-8
    schedule: Schedule = Schedule()
    layer_rates: dict[str, NonNegative] = Field(default_factory=dict)
    batch_size: Count | None = None

    @property
    def title(self) -> str:
        """The optimizer's name in sentences.

        >>> Optimizer(name="adamw").title
        'AdamW'
        """
        return {"adam": "Adam", "adamw": "AdamW", "sgd": "SGD", "muon": "Muon"}[self.name]

    @property
    def clock(self) -> Literal["epoch", "step"]:
        """The word for time: `epoch` if each step uses all training rows, else `step`."""
        return "step" if self.batch_size else "epoch"

    @model_validator(mode="after")
    def _effective(self) -> "Optimizer":
        if self.momentum is not None and self.name not in ("sgd", "muon"):
            raise ValueError(f'momentum belongs to name = "sgd" or "muon"; {self.name} has beta1')
        fields = type(self).model_fields
        unused = [f for f in ("beta1", "beta2", "epsilon") if getattr(self, f) != fields[f].default]
        if self.name == "sgd" and unused:
            raise ValueError(f'{", ".join(unused)} belong to name = "adam", "adamw" or "muon"; sgd has momentum')
        return self


class Recording(Frozen):
    """The recorded steps: every `every` steps, or `points` log-spaced steps, both with first and last step.

    **Attributes:**

    - `every`: steps between two recorded rows.
    - `points`: number of recorded rows, spaced evenly on a log axis; replaces `every`.
    """

    every: Count | None = 10
    points: Count | None = None

    @model_validator(mode="before")
    @classmethod
    def _points_replace_every(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("points") is not None:
            return {"every": None, **data}
        return data

    @model_validator(mode="after")
    def _one_spacing(self) -> "Recording":
        if (self.every is None) == (self.points is None):
            raise ValueError("give either every (linear spacing) or points (log spacing), not both")
        return self

    def steps(self, last: int) -> RecordedSteps:
        """Return the recorded steps 0 = s₀ < … < s_r = last as a lazy sequence.

        >>> tuple(Recording(every=4).steps(10))
        (0, 4, 8, 10)
        >>> tuple(Recording(points=4).steps(100))
        (0, 1, 5, 22, 100)
        """
        return EverySteps(last, self.every or 1) if self.points is None else LogSteps(last, self.points)


class Stop(Frozen):
    """Stop a run at a recorded step where an observable crosses a level or has stalled.

    **Attributes:**

    - `observable`: a recorded number.
    - `at_least`: stop when the observable is at or above this level.
    - `at_most`: stop when the observable is at or below this level.
    - `stalled`: stop when the observable has stopped falling, see `met`. The value is the smallest fall that counts,
      as a share of the observable.
    - `after`: the first step at which a stall can stop the run.
    """

    observable: str
    at_least: Real | None = None
    at_most: Real | None = None
    stalled: Annotated[Real, Field(ge=0, lt=1)] | None = None
    after: Annotated[Whole, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _one_level(self) -> "Stop":
        if sum(level is not None for level in (self.at_least, self.at_most, self.stalled)) != 1:
            raise ValueError("give exactly one of at_least, at_most and stalled")
        if self.after and self.stalled is None:
            raise ValueError("after belongs to stalled; a level stops the run at any step")
        return self

    def reached(self, value: float) -> bool:
        """Return whether `value` is at or beyond the level.

        >>> Stop(observable="test_accuracy", at_least=0.99).reached(1.0)
        True
        """
        if self.at_least is not None:
            return value >= self.at_least
        return self.at_most is not None and value <= self.at_most

    def met(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether the run stops at the last of its recorded rows.

        An observable has stalled at step t if it is nowhere in [t/2, t] more than the share `stalled` above its value
        at t. A run that records its training accuracy must also have memorised the training rows by step t/2.

        >>> rule = Stop(observable="test_loss", stalled=0.01)
        >>> rule.met([{"step": t, "test_loss": 2 - t / 100} for t in range(0, 90, 10)])
        False
        >>> rule.met([{"step": t, "test_loss": 2 + t / 100} for t in range(0, 90, 10)])
        True
        """
        now = rows[-1]
        if self.stalled is None:
            return self.reached(now[self.observable])
        if now["step"] < max(self.after, 1):
            return False
        oldest = now
        for row in reversed(rows):
            if 2 * row["step"] < now["step"]:
                break
            if now[self.observable] < (1 - self.stalled) * row[self.observable]:
                return False
            oldest = row
        return oldest.get("train_accuracy", 1.0) >= LEARNED

    @property
    def words(self) -> str:
        """The rule in words.

        >>> Stop(observable="test_accuracy", at_least=0.99).words
        'test_accuracy ≥ 0.99'
        """
        if self.stalled is not None:
            return f"{self.observable} stalled"
        sign, level = ("≥", self.at_least) if self.at_least is not None else ("≤", self.at_most)
        return f"{self.observable} {sign} {level}"


class SplitSpec(Frozen):
    """The training rows: a fraction or a count of all rows, drawn with the run's seed.

    Without fraction and count, all rows are training rows:

    >>> SplitSpec()
    SplitSpec(fraction=1.0, count=None, stratified=False)

    **Attributes:**

    - `fraction`: share of all rows that trains; the others are held out.
    - `count`: number of rows that train; replaces `fraction`.
    - `stratified`: draw equally from each target.
    """

    fraction: Fraction | None = None
    count: Count | None = None
    stratified: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _all_rows(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("fraction") is None and data.get("count") is None:
            return {**data, "fraction": 1.0}
        return data

    @model_validator(mode="after")
    def _one_size(self) -> "SplitSpec":
        if self.fraction is not None and self.count is not None:
            raise ValueError("give either fraction or count, not both")
        return self


# A spec holds at most one field of each tuple, so overriding a field clears the others.
ALTERNATIVES = (
    ("every", "points"),
    ("fraction", "count"),
    ("at_least", "at_most", "stalled"),
    ("group", "table"),
)

# A digest belongs to the file that the spec named when it was pinned, so overriding the file clears it.
DEPENDENT = {"table": "digest", "group": "digest", "path": "digest"}


class _Task(Frozen):
    """Base class of the tasks: `{stratified: true}` alone keeps the size of the task's default split."""

    @field_validator("split", mode="before", check_fields=False)
    @classmethod
    def _keep_the_size(cls, split: Any) -> Any:
        if isinstance(split, dict) and split.get("fraction") is None and split.get("count") is None:
            return {**split, "fraction": cls.model_fields["split"].default.fraction}
        return split


class GroupTask(_Task):
    """Predict the product g₁ g₂ … g_k in a finite group from one-hot, summed one-hot or template inputs.

    With a table, `group` is the name in titles, by default that of the file:

    >>> GroupTask(table="folder/mine.csv").group
    'mine'

    **Attributes:**

    - `kind`: the kind of task.
    - `group`: name of the group, such as `"Z23"`, `"S4"`, `"D7"` or `"Z5xZ6"`.
    - `table`: file of your own Cayley table (`.csv`, `.txt` or `.npy`); replaces `group`.
    - `digest`: SHA-256 of the table, part of the run's identity; filled in when the run starts.
    - `factors`: number k of elements that are multiplied.
    - `encoding`: one block of inputs per factor (`onehot`), their sum (`summed`), or a template moved by each factor.
    - `template`: the vector x of a template task, one number per group element.
    - `label_noise`: share of training labels that are replaced by another, uniformly drawn element; held-out rows have
      the true product.
    - `split`: which rows train.
    """

    kind: Literal["group"] = "group"
    group: str = "Z71"
    table: str | None = None
    digest: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    factors: Annotated[Whole, Field(ge=2)] = 2
    encoding: Literal["onehot", "summed", "template"] = "onehot"
    template: tuple[Real, ...] | None = None
    label_noise: Annotated[Real, Field(ge=0, lt=1)] = 0.0
    split: SplitSpec = SplitSpec(fraction=0.4)

    @model_validator(mode="before")
    @classmethod
    def _named_by_its_file(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("table"), str) and "group" not in data:
            return {**data, "group": PurePath(data["table"]).stem or "table"}
        return data

    @model_validator(mode="after")
    def _digest_of_a_table(self) -> "GroupTask":
        if self.digest and self.table is None:
            raise ValueError("digest belongs to table; a group with a name has none")
        return self

    @model_serializer(mode="wrap")
    def _without_absent_table(self, serialise: Any) -> dict[str, Any]:
        # The digests of records that were stored before these fields existed must not change.
        absent = ("table", "digest") if self.table is None else ()
        return {name: value for name, value in serialise(self).items() if name not in absent}


class ParityTask(_Task):
    """y = ∏_{i<k} x_i on random signs x ∈ {±1}^d.

    **Attributes:**

    - `kind`: the kind of task.
    - `dimension`: number d of signs.
    - `degree`: number k of signs that are multiplied.
    - `samples`: number of rows.
    - `split`: which rows train.
    """

    kind: Literal["parity"] = "parity"
    dimension: Count = 50
    degree: Count = 2
    samples: Count = 1000
    split: SplitSpec = SplitSpec(fraction=0.5)

    @model_validator(mode="after")
    def _possible(self) -> "ParityTask":
        if self.degree > self.dimension:
            raise ValueError(f"degree must be at most dimension = {self.dimension}")
        if self.split.count is not None and self.split.count > self.samples:
            raise ValueError(f"split.count must be at most samples = {self.samples}")
        return self


class ArraysTask(_Task):
    """The user's arrays `X` and `y` in an `.npz` file; their digest is part of the run's identity.

    **Attributes:**

    - `kind`: the kind of task.
    - `path`: the `.npz` file.
    - `digest`: SHA-256 of the arrays; filled in when the run starts.
    - `split`: which rows train.
    """

    kind: Literal["arrays"] = "arrays"
    path: str
    digest: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    split: SplitSpec = SplitSpec(fraction=0.8)


TaskSpec = Annotated[GroupTask | ParityTask | ArraysTask, Field(discriminator="kind")]


class RunSpec(Frozen):
    """The specification of one training run, repeatable bit for bit on one machine.

    In a mapping, a task or a model without `kind` has the default kind:

    >>> RunSpec.model_validate({"task": {"group": "Z23"}}).task.kind
    'group'

    `preset` names published settings, which the other fields change:

    >>> RunSpec.model_validate({"preset": "nanda", "task": {"group": "Z59"}}).optimizer.weight_decay
    1.0

    **Attributes:**

    - `name`: a title of your own; it does not change the run.
    - `task`: what is to be learned.
    - `model`: the network.
    - `loss`: what is minimised.
    - `optimizer`: how it is minimised.
    - `steps`: number of updates. Without mini-batches one step is one epoch.
    - `recording`: which steps are recorded as rows of the result.
    - `stop`: rules that end the run early; the first that is met ends it.
    - `snapshots`: number of recorded steps at which the weights are stored too, spread evenly over the rows.
    - `lenses`: theories that observe the run: `li2`, `cogo`, `agf`, `fact`, `manifold`, `progress`, `norms`.
    - `seed`: the number from which the initial weights and the training rows are drawn.
    """

    name: str = ""
    task: TaskSpec = GroupTask()
    model: ModelSpec = TwoLayerModel()
    loss: Loss = Loss()
    optimizer: Optimizer = Optimizer()
    steps: Count = 500
    recording: Recording = Recording()
    stop: tuple[Stop, ...] = ()
    snapshots: Annotated[Whole, Field(ge=0)] = 0
    lenses: tuple[str, ...] = ()
    seed: Annotated[Whole, Field(ge=0, lt=2**32)] = 0

    @property
    def clock(self) -> Literal["epoch", "step"]:
        """The word for time in every message and on every page of the run, that of the optimizer.

        >>> RunSpec().clock
        'epoch'
        """
        return self.optimizer.clock

    @model_validator(mode="before")
    @classmethod
    def _default_kinds(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: cls._with_kind(name, part) for name, part in expand_preset(data, ALTERNATIVES).items()}

    @classmethod
    def _with_kind(cls, name: Any, part: Any) -> Any:
        if name in ("task", "model") and isinstance(part, dict) and "kind" not in part:
            return {"kind": cls.model_fields[name].default.kind, **part}
        return part
