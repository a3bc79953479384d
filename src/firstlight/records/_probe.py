"""`ProbeRecord`: the feature matrices of a PyTorch model compared with its weights, layer by layer."""

from collections import Counter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from firstlight.records._base import Digest, Frozen, Record, utc_now
from firstlight.records._canonical import sha256
from firstlight.records._facts import machine_facts, software_versions
from firstlight.records._figures import Figures, figure_digests
from firstlight.records._values import Value

State = Literal["converged", "learning", "lazy", "undecided"]


class ProbedLayer(Frozen):
    """One layer of a probed model.

    **Fields:**

    - `name`, `kind`: the parameter's name in the model, and the kind of its layer.
    - `inputs`, `outputs`: the sizes of the layer.
    - `weight_decay`: the decay that the optimizer applies to the layer.
    - `alignments`: measure → its alignment with the layer's feature matrix; NaN if undefined.
    - `size`: ⟨FACT, NFM⟩/⟨NFM, NFM⟩, which is 1 at convergence.
    - `budget`: the sum of learning rate times weight decay over training; NaN if unknown.
    - `state`, `evidence`: the verdict on the layer, and the reason for it.
    """

    name: str
    kind: str
    inputs: Annotated[int, Field(ge=0)]
    outputs: Annotated[int, Field(ge=0)]
    weight_decay: Value = 0.0
    alignments: dict[str, Value] = Field(default_factory=dict)
    size: Value = None
    budget: Value = None
    state: State
    evidence: str = ""


class ProbedCheckpoint(Frozen):
    """One checkpoint of a training run.

    **Fields:**

    - `name`: the name of its file or folder.
    - `step`, `clock`: when it was saved, and what that counts.
    - `digest`: SHA-256 of its weights.
    - `same_as`: an earlier checkpoint with the same weights, or "".
    """

    name: str
    step: int
    clock: str = "step"
    digest: Digest
    same_as: str = ""


class LayerCourse(Frozen):
    """One layer over the checkpoints; every list has one entry per checkpoint, and unknown numbers are NaN.

    **Fields:**

    - `name`, `kind`, `inputs`, `outputs`: as in `ProbedLayer`.
    - `alignments`: measure → its alignments with the layer's feature matrix.
    - `errors`: standard errors of FACT's alignments.
    - `averaged`: alignments of FACT averaged along the last checkpoints.
    - `effective_rank`: (Σσ²)²/Σσ⁴ over the singular values σ of the weights.
    - `spectrum`: shares of the leading eigenvalues of the feature matrix in its trace.
    - `moved`, `since_previous`: relative distance from the start and from the checkpoint before.
    - `states`, `evidence`: the verdicts and the reasons for them.
    """

    name: str
    kind: str
    inputs: Annotated[int, Field(ge=0)]
    outputs: Annotated[int, Field(ge=0)]
    alignments: dict[str, Value] = Field(default_factory=dict)
    errors: Value = ()
    averaged: Value = ()
    effective_rank: Value = ()
    spectrum: Value = ()
    moved: Value = ()
    since_previous: Value = ()
    states: tuple[State, ...] = ()
    evidence: tuple[str, ...] = ()


class UpdateCourse(Frozen):
    """What a LoRA adapter adds to a frozen weight, over the checkpoints.

    **Fields:**

    - `name`: the adapted module.
    - `rank`: the largest possible rank of the update.
    - `size`: norm of the update relative to that of the frozen weight.
    - `effective_rank`: of the update.
    """

    name: str
    rank: Annotated[int, Field(ge=0)]
    size: Value = ()
    effective_rank: Value = ()


class ProbeRecord(Record):
    """The verdict of a feature probe on each layer of a model, or of its checkpoints; plain data, without torch.

    **Fields:**

    - `name`: a name for the model, used as title.
    - `layers`: the layers, in the order of the model.
    - `untreated`: parameter → the reason why it could not be treated.
    - `samples`: the number of samples that the probe saw.
    - `alignment`: how alignments are measured, `pearson` or `cosine`.
    - `figures`: the alignments of all layers.
    - `checkpoints`: the checkpoints in training order, if there were several; `layers` are then those of the last.
    - `courses`: the layers over the checkpoints.
    - `updates`: the LoRA updates over the checkpoints.
    - `story`: what happened, in sentences.
    - `left_out`: checkpoint → the reason why it was not probed.

    >>> layer = ProbedLayer(name="0.weight", kind="Linear", inputs=3, outputs=8, state="learning")
    >>> record = ProbeRecord(name="my model", layers=(layer,), samples=64, alignment="pearson")
    >>> ProbeRecord.from_json(record.to_json()) == record
    True
    """

    name: str = ""
    layers: tuple[ProbedLayer, ...] = ()
    untreated: dict[str, str] = Field(default_factory=dict)
    samples: Annotated[int, Field(ge=0)] = 0
    alignment: str = "pearson"
    created: str = Field(default_factory=utc_now)
    versions: dict[str, str] = Field(default_factory=software_versions)
    machine: dict[str, str | int] = Field(default_factory=machine_facts)
    figures: Figures = ()
    checkpoints: tuple[ProbedCheckpoint, ...] = ()
    courses: tuple[LayerCourse, ...] = ()
    updates: tuple[UpdateCourse, ...] = ()
    story: tuple[str, ...] = ()
    left_out: dict[str, str] = Field(default_factory=dict)

    ADDED_FIELDS: ClassVar[frozenset[str]] = frozenset({"checkpoints", "courses", "updates", "story", "left_out"})

    @property
    def id(self) -> str:
        """SHA-256 of the measurements; time, versions and machine do not count."""
        empty = {name for name in self.ADDED_FIELDS if not getattr(self, name)}
        return sha256(self.model_dump(exclude={"created", "versions", "machine", "figures", *empty}))

    def _words(self) -> str:
        states = Counter(layer.state for layer in self.layers)
        counts = ", ".join(f"{count} {state}" for state, count in states.items())
        return f"{self.id[:12]} {self.name or 'model'}: {len(self.layers)} layer{'s' * (len(self.layers) != 1)}" + (
            f", {counts}" if counts else ""
        )

    def _hashed(self, **replaced: Any) -> Any:
        return super()._hashed(figures=figure_digests(self.figures), **replaced)
