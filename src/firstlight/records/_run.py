"""`RunRecord`: the result of a run."""

from html import escape
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainSerializer, PlainValidator, model_validator

from firstlight.records._base import Digest, Record, utc_now
from firstlight.records._canonical import sha256
from firstlight.records._facts import machine_facts, software_versions
from firstlight.records._figures import Figures, figure_digests
from firstlight.records._identity import SPEC_VERSION, pin_arrays, run_id
from firstlight.records._notebook import html_figure, html_rows
from firstlight.records._spec import RunSpec
from firstlight.records._status import RunStatus
from firstlight.records._table import Table
from firstlight.records._theory_verdict import TheoryVerdict
from firstlight.records._titles import run_title
from firstlight.records._values import Value

BlobName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class RunRecord(Record):
    """A run's spec and identity, its outcome, its observations, and the figures and verdicts drawn from them.

    **Fields:**

    - `steps`: the number of optimizer steps done.
    - `message`: one line on how the run ended.
    - `traceback`: where a failed run raised; it names paths of the machine.
    - `table`: the recorded observations, one row per recorded step.
    - `summary`: plain values for lists of runs and for pages, among them `story`, a sentence.
    - `weights`: a name such as `final` → the digest of a `.safetensors` file in the store.
    - `figures`: the learning curves, then the figures of each lens.
    - `verdicts`: for each theory, the prediction beside the measurement.

    >>> table = Table([10], {"loss": [0.5]})
    >>> record = RunRecord(spec=RunSpec(seed=1), status="finished", steps=10, table=table)
    >>> RunRecord.from_json(record.to_json()) == record, record.id[:8]
    (True, '03781658')
    """

    spec: RunSpec
    id: Digest = ""
    spec_version: int = SPEC_VERSION
    status: RunStatus
    steps: Annotated[int, Field(ge=0)] = 0
    seconds: Annotated[float, Field(ge=0)] = 0.0
    created: str = Field(default_factory=utc_now)
    versions: dict[str, str] = Field(default_factory=software_versions)
    machine: dict[str, str | int] = Field(default_factory=machine_facts)
    message: str = ""
    traceback: str = ""
    table: Annotated[Table, PlainValidator(Table.parse), PlainSerializer(Table.to_json)] = Table()
    summary: dict[str, Value] = Field(default_factory=dict)
    weights: dict[BlobName, Digest] = Field(default_factory=dict)
    figures: Figures = ()
    verdicts: tuple[TheoryVerdict, ...] = ()

    ADDED_FIELDS: ClassVar[frozenset[str]] = frozenset({"traceback", "figures", "verdicts"})

    @model_validator(mode="before")
    @classmethod
    def _identify(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "spec" not in data:
            return data
        spec = pin_arrays(RunSpec.model_validate(data["spec"]))
        own, given = run_id(spec), data.get("id") or ""
        if given not in ("", own) and data.get("spec_version", SPEC_VERSION) == SPEC_VERSION:
            raise ValueError(f"id must be that of the spec, {own[:12]}…, or left out; got {given[:12]}…")
        return {**data, "spec": spec, "id": given or own}

    @property
    def result_digest(self) -> str:
        """SHA-256 of the numbers alone: equal for a run and its repetition, whatever time each took."""
        return sha256([self.id, self.status, self.steps, self.table.digest, self.weights])

    def _words(self) -> str:
        events = {name: self.summary.get(f"{name}_at") for name in ("memorised", "generalised")}
        known = [f", {name} at {self.spec.clock} {at}" for name, at in events.items() if at is not None]
        return f"{self.id[:12]} {run_title(self.spec)}, seed {self.spec.seed}: {self._ending()}{''.join(known)}"

    def _ending(self) -> str:
        return f"{self.status} after {self.steps} {self.spec.clock}{'s' * (self.steps != 1)}"

    def _repr_html_(self) -> str:
        title = f"{run_title(self.spec)}, seed {self.spec.seed}: {self._ending()}"
        story = str(self.summary.get("story") or self.message)
        rows = [(row.theory, row.predicted, row.measured, row.agrees, row.sentence) for row in self.verdicts]
        board = html_rows(("theory", "predicted", "measured", "agrees?", "in words"), rows) if rows else ""
        figures = "".join(map(html_figure, self.figures[:1]))
        more = f"<p>{len(self.figures) - 1} more in <code>.figures</code></p>" if len(self.figures) > 1 else ""
        return f"<p><b>{escape(title)}</b></p><p>{escape(story)}</p>{board}{figures}{more}"

    def _hashed(self, **replaced: Any) -> Any:
        return super()._hashed(table=self.table.digest, figures=figure_digests(self.figures), **replaced)
