"""`firstlight claims`: the statements of the papers, their recorded verdicts, and how they rest on each other."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.text import Text

from firstlight.cli import _exits as exits
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import JsonOption, Pattern

app = App(
    name="claims", help="List, show and compare the statements, figures and tables that can be checked.", sort_key=6
)


@app.command(name="list")
def list_claims(*patterns: Pattern, json: JsonOption = False) -> int:
    """List claims with their recorded verdicts at each scale."""
    from firstlight.claims import SCALES, find

    selected = find(patterns)
    if json:
        screen.print_json([_listed(claim) for claim in selected])
        return exits.OK
    rows = [
        (claim.id, claim.title, *(_recorded_verdict(claim, scale) for scale in SCALES), ", ".join(claim.needs))
        for claim in selected
    ]
    screen.print_table(("id", "what", *SCALES, "needs"), rows, wrap=("what",))
    return exits.OK


@app.command
def show(*patterns: Pattern, json: JsonOption = False) -> int:
    """Show the statement, the correction if there is one, and the recorded criteria row by row."""
    from firstlight.claims import find

    selected = find(patterns)
    if json:
        screen.print_json([_shown(claim) for claim in selected])
        return exits.OK
    for number, claim in enumerate(selected):
        if number:
            print()
        for name, value in _texts(claim).items():
            if value not in (None, "", (), [], {}):
                _print_named(name.replace("_", " "), _words(value))
        _show_evidence(claim)
        _print_named("check it", f"firstlight reproduce {claim.id}")
    return exits.OK


@app.command
def graph(
    *patterns: Pattern,
    svg: Annotated[Path | None, Parameter(help="Write the drawing into this file.")] = None,
    json: JsonOption = False,
) -> int:
    """Show which claims rest on which: an edge points from a claim to what it uses."""
    from firstlight.claims import all_claims, claim_graph, find

    selected = claim_graph(find(patterns), within=all_claims())
    if json:
        screen.print_json(selected.to_json())
        return exits.OK
    if svg is not None:
        from firstlight._files import write_atomically
        from firstlight.report import graph_svg

        screen.say(str(write_atomically(svg, graph_svg(selected).encode())))
        return exits.OK
    uses: dict[str, list[str]] = {}
    for claim, used in selected.edges:
        uses.setdefault(claim, []).append(used)
    rows = [
        (node.id, node.status, node.scale or "", "yes" if node.founded else "no", ", ".join(uses.get(node.id, ())))
        for node in selected.nodes
    ]
    screen.print_table(("id", "verdict", "scale", "all it rests on holds", "uses"), rows, wrap=("uses",))
    return exits.OK


@app.command
def impact(id: Annotated[str, Parameter(help="A claim, such as li2.theorem-2.")], *, json: JsonOption = False) -> int:
    """List the claims that fall if a claim falls."""
    from firstlight import claims

    (claim,) = _one(id)
    known = claims.all_claims()
    falling = claims.impact(claim.id, known)
    direct = claims.used_by(known).get(claim.id, ())
    if json:
        screen.print_json(
            {"id": claim.id, "falls": falling, "direct": direct, "rests_on": claims.foundations(claim.id, known)}
        )
        return exits.OK
    if not falling:
        screen.say(f"no claim rests on {claim.id}")
        return exits.OK
    by_id = {other.id: other for other in known}
    rows = [(other, by_id[other].title, "directly" if other in direct else "through others") for other in falling]
    screen.say(f"{len(falling)} claim{'s' if len(falling) > 1 else ''} rest on {claim.id}:")
    screen.print_table(("id", "what", "how"), rows, wrap=("what",))
    return exits.OK


@app.command
def diff(
    before: Annotated[Path, Parameter(help="A folder of recorded evidence.")],
    after: Annotated[Path | None, Parameter(help="Another one [default: the evidence of this installation].")] = None,
    *,
    json: JsonOption = False,
) -> int:
    """Compare two sets of recorded evidence: verdicts and criteria that changed. Exit code 1 if any did."""
    from firstlight.claims import EVIDENCE, compare_evidence

    try:
        changes = compare_evidence(before, after or EVIDENCE)
    except ValueError as error:
        raise exits.UserError(str(error)) from None
    if json:
        screen.print_json([vars(change) for change in changes])
    for change in () if json else changes:
        screen.say(f"{change.id} ({change.scale}): {change.before or 'not run'} → {change.after or 'not run'}")
        for line in change.criteria:
            screen.say(f"  {line}")
    if not changes and not json:
        screen.say("no verdict and no criterion changed")
    return exits.DIFFERS if changes else exits.OK


@app.command
def site(
    folder: Annotated[Path, Parameter(help="Where the pages go.")] = Path("claims"),
    *patterns: Pattern,
) -> int:
    """Write one page per claim, with its evidence and its neighbourhood, and an index with the graph."""
    from firstlight.claims import find
    from firstlight.report import write_claims

    screen.say(str(write_claims(folder, find(patterns))))
    return exits.OK


@app.command
def docs(
    *,
    folder: Annotated[Path, Parameter(help="Where the pages are.")] = Path("docs"),
    check: Annotated[bool, Parameter(negative="", help="Write nothing; exit with 1 if a page is out of date.")] = False,
) -> int:
    """Write docs/claims.md, docs/errata.md and docs/beyond.md from the registry and the recorded evidence."""
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


@app.command
def new(
    name: Annotated[str, Parameter(help="Name of the paper, such as my-paper: small letters, digits and dashes.")],
    *,
    folder: Annotated[Path, Parameter(help="Where the package goes.")] = Path(),
) -> int:
    """Write a package with one worked claim, its test and its evidence; `pip install` registers it."""
    from firstlight.claims import write_pack

    try:
        path = write_pack(name, folder)
    except (ValueError, FileExistsError) as error:
        raise exits.UserError(str(error)) from None
    screen.say(f"{path}\n\ntry it:\n  pip install -e {path}\n  firstlight reproduce {name}\n  pytest {path}")
    return exits.OK


def _one(id: str):
    from firstlight.claims import find

    matches = find([id])
    if len(matches) != 1:
        raise exits.UserError(f"give one claim, such as {matches[0].id}; {id!r} matches {len(matches)}")
    return matches


def _recorded_verdict(claim, scale) -> str:
    from firstlight.claims import is_stale, recorded

    evidence = recorded(claim.id).get(scale)
    if evidence is None:
        return "not run" if scale in claim.scales else ""
    return f"{evidence.status} (stale)" if is_stale(evidence, claim) else evidence.status


def _listed(claim) -> dict:
    from firstlight.claims import is_stale, recorded

    evidence = recorded(claim.id)
    return {
        "id": claim.id,
        "paper": claim.paper,
        "title": claim.title,
        "locator": claim.locator,
        "scales": claim.scales,
        "needs": claim.needs,
        "uses": claim.uses,
        "expected_verdicts": {scale: evidence[scale].status for scale in evidence},
        "evidence": {
            scale: record.model_dump() | {"stale": is_stale(record, claim)} for scale, record in evidence.items()
        },
    }


def _texts(claim) -> dict:
    return {
        "id": claim.id,
        "title": claim.title,
        "locator": claim.locator,
        "statement" if claim.verbatim else "statement, paraphrased": claim.statement,
        "corrected": claim.corrected,
        "proved": claim.proved,
        "refuted_by": claim.refuted_by,
        "uses": claim.uses,
        "reduced_because": claim.reduced_because,
        "needs": claim.needs,
    }


def _shown(claim) -> dict:
    return _listed(claim) | {
        "statement": claim.statement,
        "verbatim": claim.verbatim,
        "corrected": claim.corrected,
        "proved": claim.proved,
        "refuted_by": claim.refuted_by,
        "paper_setting": dict(claim.paper_setting),
        "reduced_because": claim.reduced_because,
    }


def _show_evidence(claim) -> None:
    from firstlight.claims import recorded

    evidence = recorded(claim.id)
    for scale in claim.scales:
        print()
        _print_named(scale, _recorded_verdict(claim, scale))
        if scale in evidence:
            _show_made(evidence[scale])
            show_criteria(evidence[scale].criteria, evidence[scale].untested)
    for line in _setting_rows(claim, evidence):
        print()
        screen.print_table(*line, wrap=("printed", *evidence))


def _show_made(evidence) -> None:
    """Print when, where, from which source and in what time evidence was recorded."""
    commit = f", commit {evidence.commit}" if evidence.commit else ""
    machine = screen.brief(evidence.machine, limit=100)
    screen.say(f"recorded {evidence.created[:10]} in {screen.duration(evidence.seconds)}{commit}; {machine}")


def _setting_rows(claim, evidence):
    """Yield one table of settings: what the paper prints, and what was used at each recorded scale."""
    names = dict.fromkeys([*claim.paper_setting, *(name for record in evidence.values() for name in record.setting)])
    if names:
        rows = []
        for name in names:
            is_printed = claim.paper_setting.get(name) is not None
            printed = screen.brief(claim.paper_setting[name], limit=200) if is_printed else "not printed"
            used = [screen.brief(record.setting.get(name), limit=200) for record in evidence.values()]
            rows.append((name, printed, *used))
        yield ("setting", "printed", *evidence), rows


def show_criteria(criteria, untested) -> None:
    """Print one row per criterion: clause, measured, required, pass or fail; then what was not tested."""
    marks = {True: Text("pass", style="green"), False: Text("fail", style="red"), None: Text("not tested")}
    rows = [
        (marks[row.passed], row.form, row.clause, row.quantity, screen.brief(row.measured), row.required)
        for row in criteria
        if row.passed is not None
    ]
    screen.print_table(
        ("", "form", "clause", "quantity", "measured", "required"), rows, wrap=("clause", "quantity", "required")
    )
    for line in untested:
        screen.say(f"not tested: {line}")


def _print_named(name: str, text: str) -> None:
    screen.print_line(Text.assemble((name, "bold"), "  ", text))


def _words(value) -> str:
    return ", ".join(value) if isinstance(value, tuple) else screen.brief(value, limit=10_000)
