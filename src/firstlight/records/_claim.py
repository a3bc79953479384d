"""`ClaimRecord`: what came of checking one statement of a paper."""

from typing import Annotated, Any, Literal

from pydantic import Field

from firstlight.records._base import Digest, Record, utc_now
from firstlight.records._facts import machine_facts, software_versions
from firstlight.records._status import ClaimVerdict
from firstlight.records._values import Value

ClaimScale = Literal["quick", "paper"]

RAISED = "the check raised "
"""How the evidence begins when a check broke instead of deciding."""


class ClaimRecord(Record):
    """A statement as printed and as corrected, what was measured and expected, and the verdict.

    `figures` are digests of `FigureData` in the store; `command` runs the check again; `seeds` are those that
    were used, `requested_seeds` those that were asked for, which is none where the check chose its own.

    >>> record = ClaimRecord(
    ...     id="li2.theorem-2", paper="li2", title="Maxima of the energy", scale="quick", statement="…",
    ...     status="holds", expected_verdict="holds", measured=0.12, expected=0.12, tolerance=1e-6,
    ...     tolerance_reason="rounding in float64",
    ... )
    >>> record.as_expected, ClaimRecord.from_json(record.to_json()) == record
    (True, True)
    """

    id: Annotated[str, Field(min_length=1)]
    paper: str
    title: str
    locator: str = ""
    status: ClaimVerdict
    expected_verdict: ClaimVerdict
    scale: ClaimScale
    statement: str
    corrected: str = ""
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

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one the registry expects, and was reached by the check, not by its breaking."""
        return self.status == self.expected_verdict and not self.raised

    @property
    def raised(self) -> bool:
        """Whether the check itself broke; its traceback is then the evidence."""
        return self.status == "inconclusive" and self.evidence.startswith(RAISED)

    def _hashed(self) -> Any:
        # A record of a check with its own seeds keeps the digest it had before there was such a field.
        return self.model_dump(exclude=None if self.requested_seeds else {"requested_seeds"})
