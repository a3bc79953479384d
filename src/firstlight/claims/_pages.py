"""Documentation pages generated from the registry of claims."""

from collections.abc import Sequence

from firstlight.claims._claim import Claim
from firstlight.claims._registry import PAPERS, all_claims

_GENERATED = "<!-- Written by `firstlight claims docs` from the registry of claims; do not edit. -->"


def pages(claims: Sequence[Claim] | None = None) -> dict[str, str]:
    """Return the content of each generated page by file name.

    >>> sorted(pages())
    ['claims.md', 'errata.md']
    """
    chosen = all_claims() if claims is None else tuple(claims)
    return {"claims.md": claims_page(chosen), "errata.md": errata_page(chosen)}


def claims_page(claims: Sequence[Claim]) -> str:
    """Return the page of all claims: a table per paper with the expected verdict at each scale."""
    parts = [
        "# Claims",
        _GENERATED,
        "Every statement, figure and table below is data plus a check. `firstlight reproduce <id>` runs it; "
        "`--scale paper` runs it at the paper's own sizes. A verdict is one of",
        "* `holds`: the check confirmed the printed statement;\n"
        "* `holds-as-corrected`: the printed statement is false, the check confirmed the corrected statement (see "
        "[errata](errata.md));\n"
        "* `fails`: the printed statement is false, and no corrected form is known;\n"
        "* `inconclusive`: the check could not decide, for the reason given (such as a missing data set).",
    ]
    for paper in PAPERS:
        own = [claim for claim in claims if claim.paper == paper.key]
        if own:
            parts += [f"## {paper.title}", _table(own)]
    return "\n\n".join(parts) + "\n"


def errata_page(claims: Sequence[Claim]) -> str:
    """Return the page of corrections: printed statement, true statement and the numbers that separate them."""
    parts = [
        "# Errata",
        _GENERATED,
        "Where a printed statement is false, the package implements the corrected one. Each entry names a "
        "case and the numbers that separate the two; the command measures them again.",
    ]
    for paper in PAPERS:
        own = [claim for claim in claims if claim.paper == paper.key and claim.corrected is not None]
        if own:
            parts += [f"## {paper.title}", *(_erratum(claim) for claim in own)]
    return "\n\n".join(parts) + "\n"


def _table(claims: Sequence[Claim]) -> str:
    head = "| id | where | what | expected verdict | needs |\n|---|---|---|---|---|"
    return "\n".join([head, *(_row(claim) for claim in claims)])


def _row(claim: Claim) -> str:
    needs = ", ".join(claim.needs)
    cells = (f"`{claim.id}`", claim.locator, claim.title, _verdicts(claim), needs)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _verdicts(claim: Claim) -> str:
    verdicts = {scale: claim.expects(scale) for scale in claim.scales}
    if len(set(verdicts.values())) == 1 and len(verdicts) == 2:
        return f"`{next(iter(verdicts.values()))}`"
    return ", ".join(f"`{verdict}` at {scale} scale" for scale, verdict in verdicts.items())


def _erratum(claim: Claim) -> str:
    lines = [
        f"### {claim.id}: {claim.title}",
        f"{claim.locator}. Verdict: {_verdicts(claim)}.",
        f"**Printed.** {claim.statement}",
        f"**True.** {claim.corrected}",
        f"**Evidence.** {claim.counterexample}",
        f"```sh\nfirstlight reproduce {claim.id}\n```",
    ]
    return "\n\n".join(lines)
