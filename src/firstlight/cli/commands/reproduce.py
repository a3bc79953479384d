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
from firstlight.cli.commands.claims import show_criteria


def reproduce(
    *patterns: Pattern,
    scale: Annotated[
        Literal["quick", "reduced", "paper"],
        Parameter(help="quick: seconds each. reduced: smaller than the paper. paper: the paper's own sizes."),
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
        Parameter(negative="", help="Keep the verdicts that the same checks have already reached; check the rest."),
    ] = False,
    record: Annotated[
        bool, Parameter(negative="", help="Write the verdicts as evidence: a file per claim and scale.")
    ] = False,
    accept: Annotated[
        bool, Parameter(negative="", help="With --record: replace a recorded verdict that differs.")
    ] = False,
    missing: Annotated[
        bool, Parameter(negative="", help="Check only claims without evidence or with stale evidence, cheapest first.")
    ] = False,
    hours: Annotated[float | None, Parameter(help="Start no further claim after this many hours.")] = None,
    evidence: Annotated[
        Path | None, Parameter(help="Folder of the evidence [default: that of each claim's package].")
    ] = None,
    report: Annotated[Path | None, Parameter(help="Write a page (HTML) with the verdicts and figures.")] = None,
    json: JsonOption = False,
    verbose: Annotated[
        bool,
        Parameter(negative="", help="Print the evidence of every verdict, and tracebacks of broken checks."),
    ] = False,
) -> int:
    """Check claims: all, those of a paper, or those named. Exit code 0 if no verdict differs from the recorded one."""
    from firstlight import claims
    from firstlight.cli._terminal.progress import Bar, ClaimProgress
    from firstlight.records import Store

    if accept and not record:
        raise exits.UserError("--accept replaces recorded evidence; give it with --record")
    if hours is not None and hours <= 0:
        raise exits.UserError(f"--hours must be above 0; got {hours:g}")
    chosen = _offered(claims.find(patterns), scale, named=bool(patterns))
    if missing:
        chosen = claims.missing_evidence(chosen, scale, evidence)
    path, folder = store_path(store), data_path(data)
    where = [("--store", store), ("--evidence", evidence)]
    more = [word for name, value in where if value is not None for word in (name, str(value))]
    flags = [("--record", record), ("--accept", accept), ("--missing", missing), ("--resume", True)]
    more += [name for name, is_set in flags if is_set]
    again = claims.reproduce_command(patterns, claims.Setting(scale, tuple(seed or ()), data), *more)
    signals.resumes(lambda: f"verdicts so far are in {path}; `{again}` continues")
    refused: list[str] = []

    def keep(outcome, figures) -> None:
        try:
            claims.record_evidence(outcome, figures, folder=evidence, accept=accept)
        except ValueError as error:
            refused.append(str(error))

    with Store(path, "rw", wait=wait) as opened, Bar("claims") as bar:
        records = claims.reproduce(
            chosen,
            scale,
            seeds=seed or (),
            data=folder,
            store=opened,
            resume=resume,
            hours=hours,
            keep=keep if record else None,
            folder=evidence,
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
    for line in refused:
        screen.err().print(line)
    return exits.OK if not refused and all(outcome.as_expected for outcome in records) else exits.DIFFERS


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
    earlier = {"measured", "expected", "tolerance", "tolerance_reason"}
    values = record.model_dump(exclude={"versions", "machine", "statement", "corrected", *earlier})
    measured = {row.quantity: row.measured for row in record.criteria if row.passed is not None}
    required = {row.quantity: row.required for row in record.criteria if row.passed is not None}
    return values | {"measured": measured, "expected": required, "as_expected": record.as_expected}


def _tell(records, verbose: bool) -> None:
    marks = {True: Text("✓", style="green"), False: Text("✗", style="red")}
    rows = [
        (
            marks[record.as_expected],
            record.id,
            record.status,
            _compared(record),
            _criteria_words(record.criteria),
            screen.duration(record.seconds),
        )
        for record in records
    ]
    screen.print_table(("", "claim", "verdict", "recorded", "criteria", "time"), rows, wrap=("criteria",))
    for record in records:
        if (verbose or len(records) == 1) and record.criteria:
            screen.say(f"\n{record.id}")
            show_criteria(record.criteria, record.untested)
        if record.evidence and (verbose or not record.as_expected):
            lines = record.evidence.splitlines()
            shown = lines if verbose or not record.raised else [f"{lines[0]} (--verbose shows where)"]
            screen.say("\n".join(["", record.id, *shown]))
    good = sum(record.as_expected for record in records)
    seconds = sum(record.seconds for record in records)
    screen.say(f"\n{good} of {len(records)} verdicts agree with the record, in {screen.duration(seconds)}")


def _compared(record) -> str:
    """Return how a verdict compares with the recorded one."""
    if record.expected_verdict is None:
        return "not recorded"
    return "same" if record.as_expected else f"was {record.expected_verdict}"


def _criteria_words(criteria) -> str:
    """Return the number of criteria that passed, and the first that did not."""
    tested = [row for row in criteria if row.passed is not None]
    failed = [row for row in tested if not row.passed]
    words = f"{len(tested) - len(failed)} of {len(tested)} pass"
    if not failed:
        return words
    first = failed[0]
    return f"{words}; {first.form}: {first.clause}: {first.quantity} {screen.brief(first.measured)}, {first.required}"
