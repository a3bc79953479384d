"""`RunRecord`: what came of a run."""

from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, model_validator

from firstlight.records._base import Digest, Record, utc_now
from firstlight.records._canonical import sha256
from firstlight.records._facts import machine_facts, software_versions
from firstlight.records._identity import SPEC_VERSION, pin_arrays, run_id
from firstlight.records._spec import RunSpec
from firstlight.records._status import RunStatus
from firstlight.records._table import Table
from firstlight.records._values import Value

BlobName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class RunRecord(Record):
    """A run's spec and identity, how it ended, and what was observed.

    `steps` counts the optimizer steps done; `summary` holds scalars worth showing in a list of runs;
    `weights` maps a name such as `final` to the digest of a `.safetensors` file in the store; `message` is one
    line on how it ended, and `traceback`, which names paths of the machine, says where a run that failed did.

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
        """SHA-256 of the numbers alone: equal for a run and its repetition, however long each took."""
        return sha256([self.id, self.status, self.steps, self.table.digest, self.weights])

    def _hashed(self) -> Any:
        # A record without a traceback keeps the digest it had before there was such a field.
        left_out = {"table"} if self.traceback else {"table", "traceback"}
        return {**self.model_dump(exclude=left_out), "table": self.table.digest}
