"""Documentation pages generated from the registry of claims and the recorded evidence."""

from collections.abc import Sequence

from firstlight.claims._check import SCALES
from firstlight.claims._claim import Claim
from firstlight.claims._evidence import Evidence, is_stale, recorded
from firstlight.claims._graph import NOT_RUN
from firstlight.claims._registry import PAPERS, all_claims
from firstlight.records import ClaimScale, Criterion

_GENERATED = (
    "<!-- Written by `firstlight claims docs` from the registry of claims and the recorded evidence; do not edit. -->"
)


def pages(claims: Sequence[Claim] | None = None) -> dict[str, str]:
    """Return the content of each generated page by file name; claims of installed packs are left out.

    >>> sorted(pages())
    ['beyond.md', 'claims.md', 'errata.md']
    """
    own = {paper.key for paper in PAPERS}
    chosen = tuple(claim for claim in (all_claims() if claims is None else claims) if claim.paper in own)
    return {"claims.md": claims_page(chosen), "errata.md": errata_page(chosen), "beyond.md": beyond_page(chosen)}


def claims_page(claims: Sequence[Claim]) -> str:
    """Return the page of all claims: a table per paper with the recorded verdict at each scale."""
    parts = [
        "# Claims",
        _GENERATED,
        "Every statement, figure and table below is data plus a check. `firstlight reproduce <id>` runs it. A check "
        "measures, then compares each number with its bound; the verdict follows from these criteria:",
        "* `holds`: every clause of the printed statement passed;\n"
        "* `holds-as-corrected`: a printed clause failed, and every clause of the corrected statement passed (see "
        "[errata](errata.md));\n"
        "* `partial`: what was tested passed, but a clause, a size or a data set of the paper was not tested;\n"
        "* `fails`: a clause failed, and no corrected form passed;\n"
        "* `inconclusive`: a number is missing, or a training run did not converge;\n"
        "* `not run`: nothing is recorded;\n"
        "* (stale): the check or the printed setting has changed since the verdict was recorded.",
        "`quick` takes seconds. `paper` has every size that the paper prints, seeds included. `reduced` is smaller, "
        "and its record says in what. `firstlight claims show <id>` prints the recorded criteria row by row.",
    ]
    for paper in PAPERS:
        own = [claim for claim in claims if claim.paper == paper.key]
        if own:
            parts += [f"## {paper.title}", _table(own)]
    return "\n\n".join(parts) + "\n"


def errata_page(claims: Sequence[Claim]) -> str:
    """Return the page of corrections: printed statement, true statement and the criteria that separate them."""
    parts = [
        "# Errata",
        _GENERATED,
        "Where a printed statement is false, the package implements the corrected one. Each entry lists the criteria "
        "of the printed statement that failed, with the recorded numbers; the command measures them again.",
    ]
    for paper in PAPERS:
        own = [text for claim in claims if claim.paper == paper.key and (text := _erratum(claim))]
        if own:
            parts += [f"## {paper.title}", *own]
    return "\n\n".join(parts) + "\n"


def beyond_page(claims: Sequence[Claim]) -> str:
    """Return the page of what was found beyond the papers: proved, measured, and what would refute it."""
    parts = [
        "# Beyond the papers",
        _GENERATED,
        "What was found while the papers were made executable. Each entry says what is proved, what was measured, and "
        "what would refute it.",
    ]
    for claim in claims:
        if claim.paper == "beyond":
            parts += [
                f"## {claim.title}",
                f"`{claim.id}`. {claim.statement}",
                f"**Proved.** {claim.proved or 'Nothing.'}",
                f"**Measured.** {_verdicts(claim)}.",
                _criteria(_last(claim)),
                f"**Would refute it.** {claim.refuted_by}",
                f"```sh\nfirstlight reproduce {claim.id}\n```",
            ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(claims: Sequence[Claim]) -> str:
    head = f"| id | where | what | {' | '.join(SCALES)} |\n|---|---|---|{'---|' * len(SCALES)}"
    return "\n".join([head, *(_row(claim) for claim in claims)])


def _row(claim: Claim) -> str:
    cells = (f"`{claim.id}`", claim.locator, claim.title, *(_verdict(claim, scale) for scale in SCALES))
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _verdict(claim: Claim, scale: ClaimScale) -> str:
    evidence = recorded(claim.id).get(scale)
    if evidence is None:
        return NOT_RUN if scale in claim.scales else ""
    return f"`{evidence.status}`{' (stale)' if is_stale(evidence, claim) else ''}"


def _verdicts(claim: Claim) -> str:
    return ", ".join(f"{_verdict(claim, scale)} at {scale} scale" for scale in claim.scales)


def _last(claim: Claim) -> Evidence | None:
    """Return the evidence of the largest recorded scale."""
    return next(reversed(recorded(claim.id).values()), None)


def _erratum(claim: Claim) -> str:
    """Return the entry of a claim; '' if no recorded criterion of its printed form failed."""
    evidence = _last(claim)
    failed = [row for row in (evidence.criteria if evidence else ()) if row.form == "printed" and row.passed is False]
    if evidence is None or not failed or evidence.status == "inconclusive":
        return ""
    lines = [
        f"### {claim.id}: {claim.title}",
        f"{claim.locator}. Verdict: {_verdicts(claim)}.",
        f"**Printed{'' if claim.verbatim else ' (paraphrased)'}.** {claim.statement}",
        f"**True.** {claim.corrected}" if claim.corrected else "**True.** No corrected form is known.",
        f"**Failed at {evidence.scale} scale.**",
        _rows(failed),
        f"```sh\nfirstlight reproduce {claim.id}\n```",
    ]
    return "\n\n".join(lines)


def _criteria(evidence: Evidence | None) -> str:
    return "" if evidence is None else _rows([row for row in evidence.criteria if row.passed is not None])


def _rows(criteria: Sequence[Criterion]) -> str:
    head = "| clause | quantity | measured | required | result |\n|---|---|---|---|---|"
    lines = [
        f"| {_cell(row.clause)} | {_cell(row.quantity)} | {_number(row.measured)} | {_cell(row.required)} | "
        f"{'pass' if row.passed else 'fail'} |"
        for row in criteria
    ]
    return "\n".join([head, *lines])


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(_number(item) for item in value)
    return _cell(str(value))
