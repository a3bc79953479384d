"""`firstlight reproduce`: check the statements of the papers."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.text import Text

from firstlight.cli import _exits as exits
from firstlight.cli import _signals as signals
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import (
    DataOption,
    JsonOption,
    Pattern,
    StoreOption,
    WaitOption,
    data_path,
    store_path,
)


def reproduce(
    *patterns: Pattern,
    scale: Annotated[
        Literal["quick", "paper"], Parameter(help="quick: seconds each. paper: the paper's own sizes.")
    ] = "quick",
    seed: Annotated[
        list[int] | None,
        Parameter(negative="", help="Use these seeds instead of the claim's own; may be repeated."),
    ] = None,
    data: DataOption = None,
    store: StoreOption = None,
    wait: WaitOption = 0.0,
    resume: Annotated[
        bool,
        Parameter(negative="", help="Keep the verdicts that this version has already reached; check the rest."),
    ] = False,
    report: Annotated[Path | None, Parameter(help="Write a page (HTML) with the verdicts and figures.")] = None,
    json: JsonOption = False,
    verbose: Annotated[
        bool,
        Parameter(negative="", help="Print the evidence of every verdict, and tracebacks of broken checks."),
    ] = False,
) -> int:
    """Check claims: all, those of a paper, or those named. Exit code 0 if every verdict is as expected."""
    from firstlight import claims
    from firstlight.cli._terminal.progress import Bar, ClaimProgress
    from firstlight.records import Store

    chosen = _offered(claims.find(patterns), scale, named=bool(patterns))
    path, folder = store_path(store), data_path(data)
    kept_in = ("--store", str(store)) if store is not None else ()
    again = claims.reproduce_command(patterns, claims.Setting(scale, tuple(seed or ()), data), *kept_in, "--resume")
    signals.resumes(lambda: f"verdicts so far are in {path}; `{again}` continues")
    with Store(path, "rw", wait=wait) as opened, Bar("claims") as bar:
        records = claims.reproduce(
            chosen,
            scale,
            seeds=seed or (),
            data=folder,
            store=opened,
            resume=resume,
            progress=ClaimProgress(bar),
        )
        if report is not None:
            from firstlight.report import write

            write(report, records, title="firstlight: claims", figures=opened.figures_of(records))
    if json:
        screen.print_json([_verdict(record) for record in records])
    else:
        _tell(records, verbose)
        if report is not None:
            screen.say(f"report: {report}")
    return exits.OK if all(record.as_expected for record in records) else exits.DIFFERS


def _offered(selected, scale, *, named: bool):
    absent = [claim.id for claim in selected if scale not in claim.scales]
    if absent and named and len(absent) == len(selected):
        raise exits.UserError(
            f"{', '.join(absent)}: not checked at scale {scale}; it has {' and '.join(selected[0].scales)}"
        )
    if absent:
        screen.err().print(f"left out, not offered at scale {scale}: {', '.join(absent)}")
    return [claim for claim in selected if scale in claim.scales]


def _verdict(record) -> dict:
    values = record.model_dump(exclude={"versions", "machine", "statement", "corrected"})
    return values | {"as_expected": record.as_expected}


def _tell(records, verbose: bool) -> None:
    marks = {True: Text("✓", style="green"), False: Text("✗", style="red")}
    rows = [
        (
            marks[record.as_expected],
            record.id,
            record.status,
            "" if record.as_expected else f"expected {record.expected_verdict}",
            screen.brief(record.measured),
            screen.brief(record.expected),
            screen.duration(record.seconds),
        )
        for record in records
    ]
    screen.print_table(
        ("", "claim", "verdict", "", "measured", "expected", "time"), rows, wrap=("measured", "expected")
    )
    for record in records:
        if record.evidence and (verbose or not record.as_expected):
            lines = record.evidence.splitlines()
            shown = lines if verbose or not record.raised else [f"{lines[0]} (--verbose shows where)"]
            screen.say("\n".join(["", record.id, *shown]))
    good = sum(record.as_expected for record in records)
    seconds = sum(record.seconds for record in records)
    screen.say(f"\n{good} of {len(records)} verdicts as expected, in {screen.duration(seconds)}")
