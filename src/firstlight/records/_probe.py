"""`ProbeRecord`: the feature matrices of a PyTorch model compared with its weights, layer by layer."""

from typing import Annotated, Any, Literal

from pydantic import Field

from firstlight.records._base import Frozen, Record, utc_now
from firstlight.records._canonical import sha256
from firstlight.records._facts import machine_facts, software_versions
from firstlight.records._figures import Figures, figure_digests
from firstlight.records._values import Value


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
    state: Literal["converged", "learning", "lazy", "undecided"]
    evidence: str = ""


class ProbeRecord(Record):
    """The verdict of a feature probe on each layer of a model; plain data, without torch.

    **Fields:**

    - `name`: a name for the model, used as title.
    - `layers`: the layers, in the order of the model.
    - `untreated`: parameter → the reason why it could not be treated.
    - `samples`: the number of samples that the probe saw.
    - `alignment`: how alignments are measured, `pearson` or `cosine`.
    - `figures`: the alignments of all layers.

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

    @property
    def id(self) -> str:
        """SHA-256 of the measurements; time, versions and machine do not count."""
        return sha256(self.model_dump(exclude={"created", "versions", "machine", "figures"}))

    def _hashed(self, **replaced: Any) -> Any:
        return super()._hashed(figures=figure_digests(self.figures), **replaced)
