"""`firstlight runs`: list, show, compare, export and delete the runs of the store."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from firstlight.cli import _exits as exits
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import JsonOption, StoreOption, WaitOption, existing_store
from firstlight.cli.commands.run import summary

app = App(name="runs", help="Look at, compare, export and delete runs in the store.", sort_key=4)

RunId = Annotated[str, Parameter(help="The first digits of a run's id, as `runs list` shows them.")]


@app.command(name="list")
def list_runs(
    *,
    status: Annotated[
        Literal["finished", "interrupted", "diverged", "failed"] | None, Parameter(help="Only these.")
    ] = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> int:
    """List runs, oldest first."""
    from firstlight.records import Store

    with Store(existing_store(store)) as opened:
        records = opened.runs(status)
    if json:
        screen.print_json([summary(record) for record in records])
        return exits.OK
    columns = (
        "id",
        "run",
        "seed",
        "status",
        "steps",
        "memorised",
        "generalised",
        "test",
        "time",
        "began",
    )
    screen.print_table(columns, [_row(record) for record in records])
    return exits.OK


@app.command
def show(id: RunId, /, *, store: StoreOption = None, json: JsonOption = False) -> int:
    """Show a run: its story, its learning curves, and the fields that its spec changes."""
    from firstlight.records import Store, dump_toml

    with Store(existing_store(store)) as opened:
        record = opened.get_run(id)
    if json:
        screen.print_json(summary(record) | {"table": record.table.to_json()})
        return exits.OK
    screen.say(f"run {record.id}")
    screen.say(record.summary.get("story") or record.message or record.status)
    for figure in _curves(record):
        print()
        print(figure)
    screen.say(f"\n{dump_toml(record.spec)}")
    if record.traceback:
        print(record.traceback)
    return exits.OK


@app.command
def compare(*ids: RunId, store: StoreOption = None, json: JsonOption = False) -> int:
    """Show the differing fields of runs and their outcomes side by side."""
    from firstlight.records import Store

    if len(ids) < 2:
        raise exits.UserError(f"compare needs at least two runs; got {len(ids)}. `firstlight runs list` shows them")
    with Store(existing_store(store)) as opened:
        records = [opened.get_run(id) for id in ids]
    differing = _differences([record.spec for record in records])
    outcome = {name: [_outcome(record)[name] for record in records] for name in _outcome(records[0])}
    if json:
        ids_ = [record.id for record in records]
        screen.print_json({"runs": ids_, "spec": differing, "outcome": outcome})
        return exits.OK
    rows = [(name, *map(screen.brief, values)) for name, values in (differing | outcome).items()]
    screen.print_table(("", *(record.id[:12] for record in records)), rows)
    return exits.OK


@app.command
def export(
    id: RunId,
    folder: Annotated[Path, Parameter(help="Where to write; created if it is not there.")],
    /,
    *,
    store: StoreOption = None,
) -> int:
    """Write a run as JSON, TOML, CSV and safetensors files, which need no firstlight to be read."""
    from firstlight.records import Store

    with Store(existing_store(store)) as opened:
        print(opened.export_run(id, folder))
    return exits.OK


@app.command
def delete(
    *ids: RunId,
    store: StoreOption = None,
    wait: WaitOption = 0.0,
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative="", help="Do not ask.")] = False,
) -> int:
    """Remove runs and their files; this cannot be undone."""
    from firstlight.records import Store
    from firstlight.runs import clear_checkpoints

    if not ids:
        raise exits.UserError("delete needs the id of a run; `firstlight runs list` shows them")
    with Store(existing_store(store), "rw", wait=wait) as opened:
        stored_ids = [opened.get_run(id).id for id in ids]
        if not yes and not _agreed(stored_ids):
            raise exits.UserError("nothing was deleted; --yes deletes without asking")
        for id in stored_ids:
            screen.say(f"deleted {opened.delete_run(id)}")
        clear_checkpoints(opened)
    return exits.OK


def _agreed(ids: Sequence[str]) -> bool:
    if not sys.stdin.isatty():
        return False
    return input(f"delete {', '.join(id[:12] for id in ids)}? [y/N] ").strip().lower() in ("y", "yes")


def _row(record: Any) -> tuple[Any, ...]:
    from firstlight.records import run_title

    final = record.summary.get("final") or {}
    return (
        record.id[:12],
        run_title(record.spec),
        str(record.spec.seed),
        record.status,
        str(record.steps),
        record.summary.get("memorised_at"),
        record.summary.get("generalised_at"),
        final.get("test_accuracy"),
        screen.duration(record.seconds),
        record.created[5:16].replace("T", " "),
    )


def _curves(record: Any) -> list[str]:
    from firstlight import plots, runs

    width = min(screen.out().width, 100)
    figures = [figure for figure in runs.learning_curves(record) if figure.kind == "curves"]
    return [plots.terminal(figure, width=width, height=12, colour=sys.stdout.isatty()) for figure in figures]


def _outcome(record: Any) -> dict[str, Any]:
    final = record.summary.get("final") or {}
    return {
        "status": record.status,
        "steps": record.steps,
        "memorised at": record.summary.get("memorised_at"),
        "generalised at": record.summary.get("generalised_at"),
        **{name: final.get(name) for name in ("train_loss", "test_loss", "train_accuracy", "test_accuracy")},
        "seconds": record.seconds,
    }


def _differences(specs: Sequence[Any]) -> dict[str, list[Any]]:
    """Return field → its value in each spec, for the fields that differ."""
    flat = [dict(_leaves(spec.model_dump())) for spec in specs]
    names = list(dict.fromkeys(name for fields in flat for name in fields))
    values = {name: [fields.get(name) for fields in flat] for name in names}
    return {name: column for name, column in values.items() if any(value != column[0] for value in column)}


def _leaves(values: dict[str, Any], prefix: str = ""):
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
