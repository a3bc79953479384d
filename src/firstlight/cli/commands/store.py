"""`firstlight store`: check, repair and clean a store."""

from typing import Annotated

from cyclopts import App, Parameter

from firstlight.cli import _exits as exits
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import JsonOption, WaitOption, existing_store

app = App(name="store", help="Check the store, repair a damaged one, remove unused files.", sort_key=8)

StorePath = Annotated[
    str | None,
    Parameter(help="The store [default: FIRSTLIGHT_STORE or .firstlight/store.sqlite]."),
]


@app.command
def check(path: StorePath = None, /, *, json: JsonOption = False) -> int:
    """Read everything and compare it with its digests. Exit code 1 if anything is damaged or lost."""
    from dataclasses import asdict

    from firstlight.records import check_store

    report = check_store(existing_store(path))
    if json:
        screen.print_json(asdict(report) | {"path": str(report.path), "counts": dict(report.counts), "ok": report.ok})
    else:
        screen.say("\n".join(report.lines()))
    return exits.OK if report.ok else exits.DIFFERS


@app.command
def repair(
    path: Annotated[str, Parameter(help="The damaged store; it is only read.")],
    new: Annotated[str, Parameter(help="A file that does not exist yet, for the new store.")],
    /,
    *,
    wait: WaitOption = 0.0,
) -> int:
    """Save every readable record of a damaged store into a new store. Exit code 1 if a record was lost."""
    from firstlight.records import repair_store

    report = repair_store(path, new, wait=wait)
    screen.say("\n".join(report.lines()))
    return exits.DIFFERS if report.lost else exits.OK


@app.command
def gc(path: StorePath = None, /, *, wait: WaitOption = 0.0) -> int:
    """Delete files that no record needs, and give the space of deleted records back."""
    from firstlight.records import Store
    from firstlight.runs import clear_checkpoints

    with Store(existing_store(path), "rw", wait=wait) as opened:
        removed = (*opened.collect_garbage(), *clear_checkpoints(opened))
        opened.vacuum()
    screen.say(f"removed {len(removed)} file{'s' * (len(removed) != 1)} that no record needed")
    return exits.OK
