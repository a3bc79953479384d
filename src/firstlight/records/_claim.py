"""`ClaimRecord`: the result of checking one statement of a paper."""

from html import escape
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from firstlight.records._base import Digest, Record, utc_now
from firstlight.records._criterion import Criterion
from firstlight.records._facts import machine_facts, software_versions
from firstlight.records._notebook import html_facts, html_rows
from firstlight.records._status import ClaimVerdict
from firstlight.records._values import Value

ClaimScale = Literal["quick", "reduced", "paper"]

RAISED = "the check raised "
"""Prefix of the evidence of a check that raised; older records have no field `raised`, only this prefix."""


class ClaimRecord(Record):
    """A statement as printed and as corrected, the criteria that were judged, and the verdict.

    **Fields:**

    - `criteria`: one row per clause: measured, required, passed.
    - `expected_verdict`: the recorded verdict at this scale; None if none was recorded.
    - `scale`: quick, reduced or paper.
    - `setting`, `paper_setting`: the sizes that were used, and those that the paper prints.
    - `untested`: clauses, sizes and data sets that were not tested.
    - `evidence`: a remark, or the traceback of a check that raised.
    - `figures`: digests of `FigureData` in the store.
    - `command`: the command that runs the check again.
    - `seeds`: the seeds that the check used.
    - `requested_seeds`: the seeds that the caller asked for; empty if the check chose its own.
    - `raised`: whether the check itself raised; its traceback is then the evidence.
    - `check_digest`: digest of the check's source.
    - `measured`, `expected`, `tolerance`, `tolerance_reason`: numbers of records written before criteria existed.

    >>> record = ClaimRecord(
    ...     id="li2.theorem-2", paper="li2", title="Maxima of the energy", scale="quick", statement="…",
    ...     status="holds", expected_verdict="holds",
    ...     criteria=(Criterion(clause="E*", quantity="error", measured=0.0, required="≤ 1e-09", passed=True),),
    ... )
    >>> record.as_expected, ClaimRecord.from_json(record.to_json()) == record
    (True, True)
    """

    id: Annotated[str, Field(min_length=1)]
    paper: str
    title: str
    locator: str = ""
    status: ClaimVerdict
    expected_verdict: ClaimVerdict | None = None
    scale: ClaimScale
    statement: str
    corrected: str = ""
    criteria: tuple[Criterion, ...] = ()
    setting: Value = Field(default_factory=dict)
    paper_setting: Value = Field(default_factory=dict)
    untested: tuple[str, ...] = ()
    measured: Value = None
    expected: Value = None
    tolerance: Value = None
    tolerance_reason: str = ""
    evidence: str = ""
    seeds: tuple[int, ...] = ()
    requested_seeds: tuple[int, ...] = ()
    seconds: Annotated[float, Field(ge=0)] = 0.0
    created: str = Field(default_factory=utc_now)
    versions: dict[str, str] = Field(default_factory=software_versions)
    machine: dict[str, str | int] = Field(default_factory=machine_facts)
    figures: tuple[Digest, ...] = ()
    command: str = ""
    raised: bool = False
    check_digest: str = ""

    ADDED_FIELDS: ClassVar[frozenset[str]] = frozenset(
        {"requested_seeds", "criteria", "setting", "paper_setting", "untested", "check_digest"}
    )

    @model_validator(mode="before")
    @classmethod
    def _read_raised(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "raised" in data:
            return data
        return {**data, "raised": _says_raised(data.get("status"), data.get("evidence"))}

    @property
    def as_expected(self) -> bool:
        """Whether the check completed and reached the recorded verdict, if there is one."""
        return not self.raised and self.expected_verdict in (None, self.status)

    def _words(self) -> str:
        passed = sum(row.passed is True for row in self.criteria)
        judged = f", {passed} of {len(self.criteria)} criteria pass" if self.criteria else ""
        surprise = "" if self.as_expected else f" (recorded: {self.expected_verdict or 'none'})"
        return f"{self.id} at {self.scale} scale: {self.status}{surprise}{judged}"

    def _repr_html_(self) -> str:
        statement = html_facts({"as printed": self.statement, "as corrected": self.corrected}, self.title)
        rows = [(row.clause, row.quantity, row.measured, row.required, _result(row.passed)) for row in self.criteria]
        criteria = html_rows(("clause", "quantity", "measured", "required", "result"), rows) if rows else ""
        return f"<p><b>{escape(self._words())}</b></p>{statement}{criteria}"

    def _hashed(self, **replaced: Any) -> Any:
        values = super()._hashed(**replaced)
        # Records written before the field `raised` have its value in their evidence, and keep their digests.
        if self.raised == _says_raised(self.status, self.evidence):
            values.pop("raised")
        return values


def _result(passed: bool | None) -> str:
    return "not decided" if passed is None else "pass" if passed else "fail"


def _says_raised(status: Any, evidence: Any) -> bool:
    return status == "inconclusive" and str(evidence or "").startswith(RAISED)
