"""The view of a claim: both statements, its numbers row by row, the verdict."""

from collections.abc import Mapping
from dataclasses import dataclass

from firstlight.records import ClaimRecord, ClaimVerdict, FigureData
from firstlight.report._format import Quantity, machine_text, quantities


@dataclass(frozen=True)
class ClaimView:
    """A claim as shown; `missing` are the digests of figures that were not given."""

    id: str
    paper: str
    title: str
    status: ClaimVerdict
    expected_verdict: ClaimVerdict
    statement: str
    corrected: str = ""
    locator: str = ""
    scale: str = "quick"
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

    >>> record = ClaimRecord(
    ...     id="li2.theorem-2", paper="li2", title="Maxima of the energy", scale="quick", statement="…",
    ...     status="holds", expected_verdict="holds", measured=0.125, expected=0.125, tolerance=1e-6,
    ... )
    >>> claim_view(record).quantities[0]
    Quantity(name='', measured='0.125', expected='0.125', tolerance='10⁻⁶')
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
        quantities=quantities(record.measured, record.expected, record.tolerance),
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
