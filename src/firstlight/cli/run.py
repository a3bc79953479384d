"""`firstlight run`: train what a spec describes."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from firstlight.cli import exits, screen
from firstlight.cli.options import DataOption, JsonOption, SetOption, StoreOption, WaitOption, data_path, store_path


def run(
    spec: Annotated[Path, Parameter(help="A .toml or .json file; an empty one is the default run.")],
    /,
    *,
    set_: SetOption = None,
    seed: Annotated[int | None, Parameter(help="Replace the spec's seed.")] = None,
    store: StoreOption = None,
    wait: WaitOption = 0.0,
    force: Annotated[bool, Parameter(negative="", help="Train again what is already there.")] = False,
    resume: Annotated[bool, Parameter(help="Go on with an interrupted run, or begin it anew.")] = True,
    data: DataOption = None,
    json: JsonOption = False,
) -> int:
    """Train what a spec describes, or show the result if it is already in the store."""
    from firstlight.cli.progress import Bar, RunProgress
    from firstlight.records import apply_overrides, load_spec

    chosen = [*(set_ or []), *([f"seed={seed}"] if seed is not None else [])]
    wanted = apply_overrides(load_spec(spec), chosen)
    where, folder = store_path(store), data_path(data)

    with Bar("steps") as bar:
        from firstlight import flow, runs

        wanted = runs.resolve(wanted, folder).spec
        try:
            with runs.writing(where, wait=wait) as kept:
                is_there = not force and kept.run_status(wanted) in runs.OVER
                options = {"force": force, "resume": resume, "data": folder, "progress": RunProgress(bar)}
                record = runs.run(wanted, store=kept, **options)
        except flow.TrainingInterrupted as stopped:
            done = stopped.trajectory.lanes[0].step
            raise exits.Interrupted(
                f"the run is kept up to step {done} in {where}; the same command goes on from there"
            ) from None
    if is_there:
        screen.err().print("this run is already in the store; --force trains it again")
    if json:
        screen.print_json(summary(record))
    else:
        print(record.summary.get("story") or record.message or record.status)
        print(f"run {record.id[:12]}, {record.status} after {screen.duration(record.seconds)}, in {where}")
    return exits.OK if record.status == "finished" else exits.DIFFERS


def summary(record: Any) -> dict[str, Any]:
    """A run without its table and without paths of the machine, for scripts."""
    return record.model_dump(exclude={"table", "versions", "machine", "traceback"})
