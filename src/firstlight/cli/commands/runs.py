"""`firstlight runs`: list, show, compare, export and delete the runs of the store."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from firstlight import _interrupts as interrupts
from firstlight.cli import _exits as exits
from firstlight.cli import _signals as signals
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
    where: Annotated[
        list[str] | None,
        Parameter(negative="", help="Only runs that meet FIELD=VALUE, also with !=, <, <=, >, >=; may be repeated."),
    ] = None,
    sort: Annotated[
        str | None,
        Parameter(
            allow_leading_hyphen=True, help="Order by a field of the spec or an outcome; -FIELD puts the largest first."
        ),
    ] = None,
    limit: Annotated[int | None, Parameter(help="At most this many runs.")] = None,
    group_by: Annotated[str | None, Parameter(help="One row per value of a field, seeds averaged.")] = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> int:
    """List runs, oldest first, named by the fields in which they differ."""
    from firstlight.cli.commands import _select as select
    from firstlight.records import Store

    if limit is not None and limit < 1:
        raise exits.UserError(f"--limit must be at least 1; got {limit}")
    with Store(existing_store(store)) as opened:
        records = select.chosen(opened.runs(status), where or [])
    if sort is not None:
        records = select.ordered(records, sort)
    shown = records[:limit]
    if group_by is not None:
        rows = [_group_row(value, members) for value, members in select.grouped(shown, group_by).items()]
        columns = (group_by, "runs", "memorised", "generalised", "earliest", "median", "latest")
        if json:
            screen.print_json([dict(zip(columns, row, strict=True)) for row in rows])
        else:
            screen.print_table(columns, rows)
        return exits.OK
    if json:
        screen.print_json([summary(record) for record in shown])
        return exits.OK
    _print_runs(shown)
    if len(shown) < len(records):
        screen.err().print(f"{len(shown)} of {len(records)} runs; --limit shows more")
    return exits.OK


@app.command
def show(id: RunId, /, *, store: StoreOption = None, json: JsonOption = False) -> int:
    """Show a run: its story, its learning curves, what each theory says, and the fields that its spec changes."""
    from firstlight.cli._terminal.scoreboard import print_scoreboard
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
    print_scoreboard(record)
    screen.say(f"\n{dump_toml(record.spec)}")
    if record.traceback:
        print(record.traceback)
    return exits.OK


@app.command
def compare(
    *ids: RunId,
    figure: Annotated[bool, Parameter(negative="", help="Overlay the learning curves.")] = False,
    out: Annotated[Path | None, Parameter(help="Write the overlaid curves as a .svg, .png or .pdf file.")] = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> int:
    """Show the differing fields of runs and their outcomes side by side."""
    from firstlight.cli.commands import _select as select
    from firstlight.records import Store

    if files := [id for id in ids if Path(id).suffix in (".svg", ".png", ".pdf")]:
        raise exits.UserError(f"{files[0]} is no run; `--out {files[0]}` writes the curves to a file")
    if len(ids) < 2:
        raise exits.UserError(f"compare needs at least two runs; got {len(ids)}. `firstlight runs list` shows them")
    with Store(existing_store(store)) as opened:
        records = [opened.get_run(id) for id in ids]
    differing = select.differing(records)
    outcome = {name: [_outcome(record)[name] for record in records] for name in _outcome(records[0])}
    if json:
        ids_ = [record.id for record in records]
        screen.print_json({"runs": ids_, "spec": differing, "outcome": outcome})
        return exits.OK
    rows = [(name, *map(screen.brief, values)) for name, values in (differing | outcome).items()]
    screen.print_table(("", *(record.id[:12] for record in records)), rows)
    if figure or out is not None:
        _overlay(records, differing, figure, out)
    return exits.OK


@app.command
def export(
    *words: Annotated[
        str, Parameter(help="ID FOLDER; with --tensorboard or --mlflow, the ids of runs [default: all].")
    ],
    tensorboard: Annotated[Path | None, Parameter(help="Write event files for TensorBoard into this folder.")] = None,
    mlflow: Annotated[
        str | None, Parameter(help="Send runs to MLflow at this tracking URI, such as http://localhost:5000.")
    ] = None,
    experiment: Annotated[str, Parameter(help="With --mlflow: name of the experiment.")] = "firstlight",
    store: StoreOption = None,
) -> int:
    """Write a run as JSON, TOML, CSV and safetensors files, or runs for TensorBoard or MLflow.

    The files need no firstlight to be read. Exporting a run to the same dashboard again changes nothing.
    """
    from firstlight.records import Store

    with Store(existing_store(store)) as opened:
        if tensorboard is None and mlflow is None:
            if len(words) != 2:
                raise exits.UserError(f"export needs the id of a run and a folder; got {len(words)} words")
            print(opened.export_run(words[0], Path(words[1])))
            return exits.OK
        ids = [opened.get_run(word).id for word in words] or opened.run_ids()
        _to_dashboards(opened, ids, tensorboard, mlflow, experiment)
    return exits.OK


def _to_dashboards(store: Any, ids: Sequence[str], tensorboard: Path | None, mlflow: str | None, name: str) -> None:
    """Export runs with a bar; the same command goes on after an interruption."""
    from firstlight.cli._terminal.progress import Bar
    from firstlight.records import DashboardError, export_mlflow, export_tensorboard

    signals.resumes(lambda: "the same command exports the rest")
    try:
        with Bar("runs") as bar:
            for done, id in enumerate(ids, start=1):
                interrupts.check()
                record = store.get_run(id)
                if tensorboard is not None:
                    export_tensorboard(record, tensorboard)
                if mlflow is not None:
                    export_mlflow(record, mlflow, name)
                bar.update(done, len(ids), "exporting")
    except DashboardError as error:
        raise exits.UserError(str(error)) from None
    places = [f"tensorboard --logdir {tensorboard}" if tensorboard else "", f"MLflow at {mlflow}" if mlflow else ""]
    screen.say(f"{len(ids)} run{'s' * (len(ids) != 1)} exported: {', '.join(filter(None, places))}")


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


_MOST_FIELDS = 5
"""The largest number of differing fields that a list names; a wider table does not fit a screen."""

_LEAVES_FIRST = ("began", "time", "run", "steps", "status", "memorised", "seed")
"""Columns that a narrow screen loses, in this order; those that say how a run ended and what is special stay."""


def _print_runs(records: Sequence[Any]) -> None:
    """Print what all runs share in a line, and a row per run with the fields in which they differ."""
    from firstlight.cli.commands import _select as select
    from firstlight.records import run_title

    titles = [run_title(record.spec) for record in records]
    differing = {name: column for name, column in select.differing(records).items() if name not in ("name", "seed")}
    named = dict(list(differing.items())[:_MOST_FIELDS])
    columns: dict[str, list[Any]] = {"id": [record.id[:12] for record in records]}
    if len(set(titles)) == 1 and len(records) > 1:
        screen.say(f"all runs: {titles[0]}")
    else:
        columns["run"] = titles
    taken = [*_COLUMNS, "id", "run", *(name.rpartition(".")[2] for name in named)]
    for name, values in named.items():
        columns[select.heading(name, taken)] = [screen.brief(value, limit=24) for value in values]
    columns["seed"] = [str(record.spec.seed) for record in records]
    outcomes = [_outcome_row(record) for record in records]
    columns |= {name: [row[place] for row in outcomes] for place, name in enumerate(_COLUMNS)}
    left_out = _fitted(columns)
    screen.print_table(tuple(columns), list(zip(*columns.values(), strict=True)))
    if len(differing) > len(named):
        more = ", ".join(list(differing)[_MOST_FIELDS:])
        screen.err().print(f"these runs also differ in {more}; `firstlight runs compare` shows all fields")
    if left_out:
        screen.err().print(f"a wider window also shows {', '.join(left_out)}")


def _fitted(columns: dict[str, list[Any]]) -> list[str]:
    """Remove columns until the table fits the screen and return their names; remove none if it never fits."""
    fewer, left_out = dict(columns), []
    for name in ("", *_LEAVES_FIRST):
        if fewer.pop(name, None) is not None:
            left_out.append(name)
        if screen.fits(tuple(fewer), list(zip(*fewer.values(), strict=True))):
            for name in left_out:
                columns.pop(name)
            return left_out
    return []


_COLUMNS = ("status", "steps", "memorised", "generalised", "test", "time", "began")


def _outcome_row(record: Any) -> tuple[Any, ...]:
    final = record.summary.get("final") or {}
    return (
        record.status,
        str(record.steps),
        record.summary.get("memorised_at"),
        record.summary.get("generalised_at"),
        final.get("test_accuracy"),
        screen.duration(record.seconds),
        record.created[5:16].replace("T", " "),
    )


def _group_row(value: Any, records: Sequence[Any]) -> tuple[Any, ...]:
    """Return how many runs of a group memorised and generalised, and the first, median and last time of the latter."""
    import numpy as np

    times = [t for record in records if (t := record.summary.get("generalised_at")) is not None]
    memorised = sum(record.summary.get("memorised_at") is not None for record in records)
    spread = (min(times), float(np.median(times)), max(times)) if times else (None, None, None)
    count = len(records)
    return (value, count, f"{memorised} of {count}", f"{len(times)} of {count}", *spread)


def _overlay(records: Sequence[Any], differing: dict[str, list[Any]], shows: bool, out: Path | None) -> None:
    """Draw the curves of several runs in one figure, named by the fields in which they differ."""
    from firstlight import plots, runs

    names = []
    for place, record in enumerate(records):
        values = [f"{name.rpartition('.')[2]} {screen.brief(column[place], 12)}" for name, column in differing.items()]
        names.append(", ".join(values[:2]) or record.id[:8])
    overlaid = runs.overlaid_curves(records, names)
    if shows:
        width = min(screen.out().width, 100)
        for figure in overlaid:
            print()
            print(plots.terminal(figure, width=width, height=14, colour=sys.stdout.isatty()))
    if out is not None:
        from firstlight.records.figure import panels

        plots.save(panels(overlaid, columns=len(overlaid), title="Learning curves"), out)
        screen.say(f"wrote {out}")


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
