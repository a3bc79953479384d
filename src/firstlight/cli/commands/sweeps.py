"""`firstlight sweeps`: the sweeps of a store and of shared folders — their diagrams, progress, results, end."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from firstlight.cli import _exits as exits
from firstlight.cli import _signals as signals
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import (
    DataOption,
    JsonOption,
    SetOption,
    StoreOption,
    WaitOption,
    data_path,
    existing_store,
    store_path,
)

app = App(
    name="sweeps",
    help="List sweeps, draw phase diagrams, follow and gather sweeps on a cluster.",
    sort_key=4,
)

Folder = Annotated[Path, Parameter(help="The folder of the sweep, as `sweep --slurm` or `sweep --bundles` named it.")]
Place = Annotated[
    str,
    Parameter(
        show_default=False,
        help="The file of a sweep, its id, its folder, or the address of a Dask scheduler [default: the newest].",
    ),
]


@app.command(name="list")
def list_sweeps(*, store: StoreOption = None, json: JsonOption = False) -> int:
    """List the sweeps of the store, newest first: runs that differ in a few fields and in their seeds only."""
    from firstlight.cli.commands import _phase

    return _phase.list_families(existing_store(store), json)


@app.command
def phase(
    place: Annotated[
        str,
        Parameter(
            show_default=False,
            help="The file of a sweep, its id in `sweeps list`, or its folder [default: the newest].",
        ),
    ] = "",
    *,
    x: Annotated[
        str,
        Parameter(show_default=False, help="Field across: fraction, decay, width, rate, order or a dotted name."),
    ] = "",
    y: Annotated[str, Parameter(show_default=False, help="Field upwards [default: fraction if it varies].")] = "",
    where: Annotated[
        list[str] | None,
        Parameter(negative="", help="Hold another field at a value, FIELD=VALUE; may be repeated."),
    ] = None,
    theory: Annotated[bool, Parameter(help="Draw the line at which theory expects half of the networks.")] = True,
    out: Annotated[Path | None, Parameter(help="Write the diagram as a .svg, .png, .pdf or .html file.")] = None,
    set_: SetOption = None,
    store: StoreOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> int:
    """Draw the phase diagram of a sweep: the share of seeds that generalise over two fields."""
    from firstlight.cli.commands import _phase

    wanted = _phase.Wanted(place, x, y, tuple(where or ()), theory, tuple(set_ or ()))
    return _phase.show(wanted, store_path(store), data_path(data), out, json)


@app.command
def status(place: Place = "", *, store: StoreOption = None, json: JsonOption = False) -> int:
    """Show how many points are done, running, failed and left, and the expected time."""
    if "://" in place:
        return _cluster_status(place, json)
    if not (place and Path(place).is_dir()):
        from firstlight.cli.commands import _phase

        return _phase.stored_status(place, existing_store(store), json)
    from firstlight.cli._terminal.progress import Bar
    from firstlight.sweeps import open_folder, sweep_status

    folder = open_folder(place)
    with Bar("bundles") as bar:
        now = sweep_status(folder, lambda done: bar.update(done, max(done, folder.plan().points), "reading"))
    if json:
        screen.print_json(now.model_dump())
        return exits.OK
    rows = [
        ("finished", now.finished),
        ("diverged", now.diverged),
        ("failed", now.failed),
        ("left", now.left),
        ("tasks running", now.running),
    ]
    screen.print_table(("points", f"of {now.points:,}"), rows)
    if now.cancelled:
        screen.say("cancelled; give the same `firstlight sweep` command again and submit it again to go on")
    elif now.left and now.remaining is not None:
        screen.say(f"about {screen.duration(now.remaining)} left with {now.running} tasks, from the points that ended")
    elif now.left and now.running:
        screen.say("no point has ended yet, so the time is unknown")
    elif now.left:
        screen.say("no task is running; submit the script again to go on")
    elif now.failed:
        screen.say("submit the script again to train the failed points again")
    for line in now.damaged:
        screen.err().print(line)
    return exits.DIFFERS if now.failed or now.damaged else exits.OK


def _cluster_status(address: str, json: bool) -> int:
    """Show the sweeps whose drivers use a Dask cluster."""
    from firstlight.sweeps import ClusterError, cluster_progress

    try:
        states = cluster_progress(address)
    except ClusterError as error:
        raise exits.UserError(str(error)) from None
    if json:
        screen.print_json(states)
        return exits.OK
    if not states:
        screen.say(f"no sweep has run on {address}")
        return exits.OK
    rows = []
    for id, state in states.items():
        left, points, busy = state["total"] - state["done"], state["points"], state["workers"]
        time_left = screen.duration(state["seconds"] / points * left / busy) if points and busy and left else ""
        rows.append((id, state["name"], state["state"], f"{state['done']}/{state['total']}", state["bad"], time_left))
    screen.print_table(("sweep", "name", "state", "done", "not finished", "left"), rows)
    return exits.OK


@app.command
def gather(
    folder: Annotated[Path, Parameter(help="The folder of the sweep, or of its bundles.")],
    *,
    store: StoreOption = None,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
) -> int:
    """Merge finished runs into a store. Calling it again adds only what is new."""
    from firstlight.cli._terminal.progress import Bar
    from firstlight.sweeps import gather as merge

    where = store_path(store)
    bundles = folder / "runs" if (folder / "sweep.json").exists() else folder
    if not bundles.is_dir():
        raise exits.UserError(f"{folder} holds no bundles yet: there is no folder {bundles}")
    signals.resumes(lambda: f"what was gathered is in {where}; the same command does the rest")
    with Bar("bundles") as bar:
        report = merge(bundles, where, wait=wait, progress=lambda done, total: bar.update(done, total, "gathering"))
    if json:
        screen.print_json(vars(report))
    else:
        screen.say(f"{report}, in {where}")
        for line in (*report.conflicts, *report.damaged):
            screen.err().print(line)
    return exits.DIFFERS if report.conflicts or report.damaged else exits.OK


@app.command
def scatter(
    folder: Annotated[Path, Parameter(help="Where the bundles go.")],
    *,
    store: StoreOption = None,
    weights: Annotated[bool, Parameter(help="Include the weights.")] = True,
) -> int:
    """Write the finished runs of a store as bundles, one file each."""
    from firstlight.cli._terminal.progress import Bar
    from firstlight.sweeps import scatter_bundles as write

    where = existing_store(store)
    signals.resumes(lambda: "the same command writes the rest")
    with Bar("runs") as bar:
        count = write(where, folder, weights=weights, progress=lambda done, total: bar.update(done, total, "writing"))
    screen.say(f"{count} runs in {folder}")
    return exits.OK


@app.command
def work(
    folder: Folder,
    *,
    task: Annotated[int, Parameter(help="Number of the task, from 0.")],
) -> int:
    """Train the points of one task; what `sweep --slurm` runs on every node. Resumes after a kill."""
    from firstlight.cli._terminal.progress import Bar
    from firstlight.sweeps import TaskInterrupted, open_folder, run_task

    opened = open_folder(folder)
    signals.resumes(lambda: f"checkpoints are in {folder}; the same command goes on")
    try:
        with Bar("points") as bar:
            trained = run_task(opened, task, on_point=lambda done, total: bar.update(done, total, "training"))
    except TaskInterrupted as stopped:
        screen.say(str(stopped))
        return exits.OK
    screen.say(f"task {task}: {trained} points trained")
    return exits.OK


@app.command
def cancel(
    place: Place,
    *,
    sweep: Annotated[
        str, Parameter(show_default=False, help="With an address: the first digits of the sweep [default: all].")
    ] = "",
) -> int:
    """End a sweep: running tasks write checkpoints and stop, waiting ones are removed from the queue."""
    from firstlight.sweeps import ClusterError, SlurmError, cancel_on_cluster, cancel_sweep, open_folder

    try:
        if "://" in place:
            ids = cancel_on_cluster(place, sweep)
            screen.say(f"asked {len(ids)} sweep{'s' * (len(ids) != 1)} to stop; finished points are kept")
            return exits.OK
        job = cancel_sweep(open_folder(place))
    except (SlurmError, ClusterError) as error:
        raise exits.UserError(str(error)) from None
    screen.say(f"cancelled{f' Slurm job {job}' if job else ''}; finished points are kept, and the same command goes on")
    return exits.OK
