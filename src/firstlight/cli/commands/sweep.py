"""`firstlight sweep`: many runs at once."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from firstlight.cli import _exits as exits
from firstlight.cli import _signals as signals
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import (
    AllowLargeOption,
    DataOption,
    DryRunOption,
    JsonOption,
    SetOption,
    StoreOption,
    WaitOption,
    data_path,
    store_path,
)

_SHOWN = 40


def sweep(
    spec: Annotated[Path, Parameter(help="A .toml or .json file with base, grid or points, and seeds.")],
    /,
    *,
    set_: SetOption = None,
    jobs: Annotated[int | None, Parameter(help="Worker processes on this machine [default: one per core].")] = None,
    cluster: Annotated[
        str | None, Parameter(help="Address of a Dask scheduler, such as tcp://10.0.0.1:8786, to run on instead.")
    ] = None,
    store: StoreOption = None,
    wait: WaitOption = 0.0,
    force: Annotated[bool, Parameter(negative="", help="Train again even if the run is in the store.")] = False,
    keep_weights: Annotated[
        bool, Parameter(negative="", help="Keep the final weights of every point in the store.")
    ] = False,
    data: DataOption = None,
    allow_large: AllowLargeOption = False,
    dry_run: DryRunOption = False,
    slurm: Annotated[
        bool, Parameter(negative="", help="Write an array job for Slurm and its folder instead of training here.")
    ] = False,
    bundles: Annotated[
        Path | None, Parameter(help="With --slurm: the folder, on a filesystem that every node sees.")
    ] = None,
    array: Annotated[int, Parameter(help="With --slurm: number of tasks.")] = 64,
    time: Annotated[str, Parameter(help="With --slurm: time limit of a task.")] = "04:00:00",
    partition: Annotated[str, Parameter(help="With --slurm: the partition.")] = "",
    cores: Annotated[int, Parameter(help="With --slurm: cores per task.")] = 1,
    prelude: Annotated[
        Path | None, Parameter(help="With --slurm: file with lines of shell that run first, such as module load.")
    ] = None,
    submit: Annotated[bool, Parameter(negative="", help="With --slurm: submit the array job too.")] = False,
    csv: Annotated[Path | None, Parameter(help="Write the table of all points to this file.")] = None,
    json: JsonOption = False,
) -> int:
    """Train many runs: every combination of a grid and seeds. Runs that are already in the store are skipped."""
    from firstlight.cli._terminal.progress import Bar, SweepBar
    from firstlight.cli.commands._estimate import announce

    where, folder = store_path(store), data_path(data)
    options = {"jobs": jobs, "cluster": cluster, "force": force, "keep_weights": keep_weights}
    options |= {"data": folder, "allow_large": allow_large}
    if dry_run:
        return _estimated(spec, set_ or [], where, json, options)
    if slurm:
        site = {"time": time, "partition": partition, "cores": cores, "prelude": prelude}
        plan = {"data": folder, "keep_weights": keep_weights, "allow_large": allow_large}
        return _array_job(spec, set_ or [], bundles, array, site, plan, submit)
    rest = "the same command trains all of them again (--force)" if force else "the same command does the rest"
    signals.resumes(lambda: f"every point that has ended is in {where}; {rest}")
    with Bar("points") as bar:
        from firstlight.runs import writing
        from firstlight.sweeps import ClusterError, SweepInterrupted, load_sweep, run_sweep

        wanted = load_sweep(spec, set_ or [])
        wanted.expand(folder, allow_large=allow_large)
        try:
            with writing(where, wait=wait) as opened:
                result = run_sweep(wanted, opened, progress=SweepBar(bar), on_estimate=announce, **options)
        except SweepInterrupted as stopped:
            raise exits.Interrupted(
                f"{stopped.done} of {stopped.total} points {'were trained and ' * force}are in {where}; {rest}"
            ) from None
        except ClusterError as error:
            raise exits.UserError(f"--cluster: {error}") from error
    if csv is not None:
        _write_csv(result.frame, csv)
    if json:
        screen.print_json(_rows(result.frame))
    else:
        _tell(result, where)
    return exits.OK if all(record and record.status == "finished" for record in result.records) else exits.DIFFERS


def _array_job(
    spec: Path,
    overrides: list[str],
    bundles: Path | None,
    array: int,
    site: dict[str, Any],
    plan: dict[str, Any],
    submitted: bool,
) -> int:
    """Write the folder and the script of an array job; submit it if asked."""
    from firstlight.sweeps import SlurmError, SlurmOptions, SweepFolder, load_sweep, submit, write_script

    where = bundles or Path(f"{spec.stem}-sweep")
    try:
        lines = site["prelude"].read_text(encoding="utf-8") if site["prelude"] else ""
        options = SlurmOptions(site["time"], site["partition"], lines, site["cores"])
        folder = SweepFolder.create(where, load_sweep(spec, overrides), array, **plan)
        script = write_script(folder, options)
        job = submit(folder, script) if submitted else ""
    except (ValueError, SlurmError) as error:
        raise exits.UserError(str(error)) from None
    made = folder.plan()
    screen.say(f"{made.points} points in {made.tasks} tasks: {script}")
    screen.say(f"submitted as Slurm job {job}" if job else f"submit it with: sbatch {script}")
    screen.say(f"then: firstlight sweeps status {where}\n      firstlight sweeps gather {where}")
    return exits.OK


def _estimated(spec: Path, overrides: list[str], where: Path, json: bool, options: dict[str, Any]) -> int:
    """Print the estimated cost of a sweep, then refuse a sweep that does not fit."""
    from firstlight.cli.commands._estimate import show_sweep
    from firstlight.sweeps import load_sweep, preview_sweep

    wanted = load_sweep(spec, overrides)
    shown = (lambda expected: screen.print_json(expected.model_dump())) if json else show_sweep
    preview_sweep(wanted, where, on_estimate=shown, **options)
    return exits.OK


def _write_csv(frame: Any, path: Path) -> None:
    from firstlight._files import write_atomically

    write_atomically(path, frame.to_csv(index=False).encode())


def _rows(frame: Any) -> list[dict[str, Any]]:
    """Return plain values; a missing value is None."""
    plain = frame.astype(object).where(frame.notna(), None)
    return plain.to_dict(orient="records")


def _tell(result: Any, where: Path) -> None:
    frame = result.frame
    columns = [*result.sweep.fields, "seed", "status", "steps", "memorised_at", "generalised_at", "final.test_accuracy"]
    columns = [column for column in columns if column in frame.columns]
    rows = [[row[column] for column in columns] for row in _rows(frame[:_SHOWN])]
    screen.print_table(columns, rows)
    if len(frame) > _SHOWN:
        screen.say(f"… and {len(frame) - _SHOWN} more; --csv FILE writes them all")
    counts = frame["status"].value_counts()
    counted = ", ".join(f"{count} {status}" for status, count in counts.items())
    screen.say(f"\n{len(frame)} points: {counted}, in {where}")
    if "message" in frame.columns:
        for message, count in frame.loc[frame["status"] == "failed", "message"].value_counts().items():
            screen.say(f"failed {count} time{'s' * (count != 1)}: {message}")
