"""The view of a claim: both statements, its numbers row by row, the verdict."""

from collections.abc import Mapping
from dataclasses import dataclass

from firstlight.records import ClaimRecord, ClaimVerdict, Criterion, FigureData
from firstlight.report._format import Quantity, machine_text, quantities, text_of


@dataclass(frozen=True)
class CriterionRow:
    """A criterion as shown: `result` is pass, fail or not tested."""

    clause: str
    quantity: str
    measured: str
    required: str
    reason: str
    form: str
    result: str
    seeds: str


@dataclass(frozen=True)
class ClaimView:
    """A claim as shown; `missing` are the digests of figures that were not given."""

    id: str
    paper: str
    title: str
    status: ClaimVerdict
    expected_verdict: ClaimVerdict | None
    statement: str
    corrected: str = ""
    locator: str = ""
    scale: str = "quick"
    criteria: tuple[CriterionRow, ...] = ()
    untested: tuple[str, ...] = ()
    quantities: tuple[Quantity, ...] = ()
    tolerance_reason: str = ""
    evidence: str = ""
    seeds: tuple[int, ...] = ()
    seconds: float = 0.0
    figures: tuple[FigureData, ...] = ()
    missing: tuple[str, ...] = ()
    command: str = ""
    created: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    machine: str = ""
    anchor: str = ""
    raised: bool = False
    as_expected: bool = True


def claim_view(record: ClaimRecord, figures: Mapping[str, FigureData] | None = None) -> ClaimView:
    """Return the view of a claim's record; `figures` maps the digests that the record names to figures.

    >>> row = Criterion(clause="E* = M/4", quantity="error", measured=0.125, required="≤ 1e-09", passed=False)
    >>> record = ClaimRecord(
    ...     id="li2.theorem-2", paper="li2", title="Maxima of the energy", scale="quick", statement="…",
    ...     status="fails", criteria=(row,),
    ... )
    >>> shown = claim_view(record).criteria[0]
    >>> shown.measured, shown.required, shown.result
    ('0.125', '≤ 1e-09', 'fail')
    """
    known = figures or {}
    return ClaimView(
        id=record.id,
        paper=record.paper,
        title=record.title,
        status=record.status,
        expected_verdict=record.expected_verdict,
        statement=record.statement,
        corrected=record.corrected,
        locator=record.locator,
        scale=record.scale,
        criteria=tuple(criterion_row(row) for row in record.criteria if row.passed is not None),
        untested=record.untested,
        quantities=() if record.criteria else quantities(record.measured, record.expected, record.tolerance),
        tolerance_reason=record.tolerance_reason,
        evidence=record.evidence,
        seeds=record.seeds,
        seconds=record.seconds,
        figures=tuple(known[digest] for digest in record.figures if digest in known),
        missing=tuple(digest for digest in record.figures if digest not in known),
        command=record.command,
        created=record.created,
        versions=tuple(record.versions.items()),
        machine=machine_text(record.machine),
        raised=record.raised,
        as_expected=record.as_expected,
    )


def criterion_row(row: Criterion) -> CriterionRow:
    """Return the texts of a criterion; a spread over seeds follows the deciding number."""
    measured = text_of(row.measured)
    if row.spread and row.spread[0] != row.spread[1]:
        measured += f" (from {text_of(row.spread[0])} to {text_of(row.spread[1])})"
    result = {True: "pass", False: "fail", None: "not tested"}[row.passed]
    seeds = text_of(list(row.seeds)) if row.seeds else ""
    return CriterionRow(row.clause, row.quantity, measured, row.required, row.reason, row.form, result, seeds)
