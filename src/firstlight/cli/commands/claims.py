"""`firstlight claims`: the statements of the papers."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.text import Text

from firstlight.cli import _exits as exits
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import JsonOption, Pattern

app = App(name="claims", help="List and show the statements, figures and tables that can be checked.", sort_key=6)


@app.command(name="list")
def list_claims(*patterns: Pattern, json: JsonOption = False) -> int:
    """List claims with their expected verdicts."""
    from firstlight.claims import find

    selected = find(patterns)
    if json:
        screen.print_json([_listed(claim) for claim in selected])
        return exits.OK
    rows = [(claim.id, claim.locator, claim.title, _expected(claim), ", ".join(claim.needs)) for claim in selected]
    screen.print_table(("id", "where", "what", "expected verdict", "needs"), rows, wrap=("what", "where"))
    return exits.OK


@app.command
def show(*patterns: Pattern, json: JsonOption = False) -> int:
    """Show the printed statement, the correction if there is one, and how it is checked."""
    from firstlight.claims import find

    selected = find(patterns)
    if json:
        screen.print_json([_shown(claim) for claim in selected])
        return exits.OK
    for number, claim in enumerate(selected):
        if number:
            print()
        for name, value in _shown(claim).items():
            if value not in (None, "", (), []):
                _print_named(name.replace("_", " "), _words(value))
        _print_named("check it", f"firstlight reproduce {claim.id}")
    return exits.OK


@app.command
def docs(
    *,
    folder: Annotated[Path, Parameter(help="Where the pages are.")] = Path("docs"),
    check: Annotated[bool, Parameter(negative="", help="Write nothing; exit with 1 if a page is out of date.")] = False,
) -> int:
    """Write docs/claims.md and docs/errata.md from the registry."""
    from firstlight._files import write_atomically
    from firstlight.claims import pages

    stale = [
        folder / name
        for name, text in pages().items()
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text
    ]
    if check:
        for path in stale:
            print(f"{path} is out of date; run `firstlight claims docs`")
        return exits.DIFFERS if stale else exits.OK
    for path in stale:
        print(write_atomically(path, pages()[path.name].encode()))
    return exits.OK


def _expected(claim) -> str:
    verdicts = {scale: claim.expects(scale) for scale in claim.scales}
    if len(set(verdicts.values())) == 1:
        return next(iter(verdicts.values()))
    return ", ".join(f"{verdict} ({scale})" for scale, verdict in verdicts.items())


def _listed(claim) -> dict:
    verdicts = {scale: claim.expects(scale) for scale in claim.scales}
    return {
        "id": claim.id,
        "paper": claim.paper,
        "title": claim.title,
        "locator": claim.locator,
        "scales": claim.scales,
        "expected_verdict": verdicts[claim.scales[0]],
        "expected_verdicts": verdicts,
        "needs": claim.needs,
    }


def _shown(claim) -> dict:
    tolerance = dict(claim.tolerance) if isinstance(claim.tolerance, dict) else claim.tolerance
    return _listed(claim) | {
        "statement": claim.statement,
        "corrected": claim.corrected,
        "counterexample": claim.counterexample,
        "tolerance": tolerance,
        "tolerance_reason": claim.tolerance_reason,
    }


def _print_named(name: str, text: str) -> None:
    screen.print_line(Text.assemble((name, "bold"), "  ", text))


def _words(value) -> str:
    return ", ".join(value) if isinstance(value, tuple) else screen.brief(value, limit=10_000)
