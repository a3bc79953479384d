"""`firstlight sweep`: many runs at once."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from firstlight.cli import _exits as exits
from firstlight.cli import _signals as signals
from firstlight.cli._terminal import screen
from firstlight.cli.commands._array import ArrayOptions, array_job
from firstlight.cli.commands._estimate import AskOptions
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
    wait_for_workers: Annotated[
        float, Parameter(help="With --cluster: seconds without any worker after which to give up.")
    ] = 60.0,
    bundles: Annotated[
        Path | None,
        Parameter(help="Folder on a filesystem that all machines share, for results and checkpoints of the workers."),
    ] = None,
    array: ArrayOptions | None = None,
    ask: AskOptions | None = None,
    store: StoreOption = None,
    wait: WaitOption = 0.0,
    force: Annotated[bool, Parameter(negative="", help="Train again even if the run is in the store.")] = False,
    keep_weights: Annotated[
        bool, Parameter(negative="", help="Keep the final weights of every point in the store.")
    ] = False,
    data: DataOption = None,
    allow_large: AllowLargeOption = False,
    dry_run: DryRunOption = False,
    csv: Annotated[Path | None, Parameter(help="Write the table of all points to this file.")] = None,
    report: Annotated[
        Path | None, Parameter(help="Draw the phase diagram, and write it as a .html, .svg, .png or .pdf file.")
    ] = None,
    json: JsonOption = False,
) -> int:
    """Train many runs: every combination of a grid and seeds. Runs that are already in the store are skipped."""
    array, ask = array or ArrayOptions(), ask or AskOptions()
    if report is not None:
        from firstlight.cli.commands._phase import require_suffix

        require_suffix(report, "--report")
    where, folder = store_path(store), data_path(data)
    options = {"jobs": jobs, "cluster": cluster, "force": force, "keep_weights": keep_weights}
    options |= {"data": folder, "allow_large": allow_large}
    if dry_run:
        return _estimated(spec, set_ or [], where, json, options | {"sample": ask.measured(default=True)})
    if array.slurm:
        given = {"--jobs": jobs, "--cluster": cluster, "--force": force or None, "--csv": csv, "--report": report}
        if unused := [name for name, value in given.items() if value is not None]:
            raise exits.UserError(
                f"--slurm writes an array job and trains nothing itself, so it takes no {' and no '.join(unused)}; "
                "gather the bundles when it has ended, then draw or export them"
            )
        plan = {"data": folder, "keep_weights": keep_weights, "allow_large": allow_large}
        return array_job(spec, set_ or [], bundles, array, ask, plan, where)
    if array.submit:
        raise exits.UserError("--submit submits an array job; give --slurm too")
    options |= {"bundles": bundles, "wait_for_workers": wait_for_workers, "sample": ask.measured(default=None)}
    options |= {"on_estimate": ask.announce}
    result = _run(spec, set_ or [], where, wait, options)
    if csv is not None:
        _write_csv(result.frame, csv)
    if json:
        screen.print_json(_rows(result.frame))
    else:
        _tell(result, where)
    if report is not None:
        _draw(result, report, json)
    elif not json and len(result.sweep.fields) > 1:
        screen.say(f"`firstlight sweeps phase {spec}` draws the phase diagram")
    return exits.OK if all(record and record.status == "finished" for record in result.records) else exits.DIFFERS


def _run(spec: Path, overrides: list[str], where: Path, wait: float, options: dict[str, Any]) -> Any:
    """Run a sweep with a bar; a signal or a cancellation ends it with one line."""
    from firstlight.cli._terminal.progress import Bar, SweepBar

    force = options["force"]
    rest = "the same command trains all of them again (--force)" if force else "the same command does the rest"
    signals.resumes(lambda: f"every point that has ended is in {where}; {rest}")
    with Bar("points") as bar:
        from firstlight.runs import writing
        from firstlight.sweeps import ClusterError, SweepCancelled, SweepInterrupted, load_sweep, run_sweep

        wanted = load_sweep(spec, overrides)
        wanted.expand(options["data"], allow_large=options["allow_large"])
        try:
            with writing(where, wait=wait) as opened:
                return run_sweep(wanted, opened, progress=SweepBar(bar), **options)
        except SweepInterrupted as stopped:
            cancelled = "cancelled from another terminal; " * isinstance(stopped, SweepCancelled)
            done = f"{stopped.done} of {stopped.total} points {'were trained and ' * force}are in {where}"
            raise exits.Interrupted(f"{cancelled}{done}; {rest}") from None
        except ClusterError as error:
            raise exits.UserError(f"--cluster: {error}") from error


def _estimated(spec: Path, overrides: list[str], where: Path, json: bool, options: dict[str, Any]) -> int:
    """Print the estimated cost of a sweep, then refuse a sweep that does not fit."""
    from firstlight.cli.commands._estimate import show_sweep
    from firstlight.sweeps import load_sweep, preview_sweep

    wanted = load_sweep(spec, overrides)
    shown = (lambda expected: screen.print_json(expected.model_dump())) if json else show_sweep
    preview_sweep(wanted, where, on_estimate=shown, **options)
    return exits.OK


def _draw(result: Any, out: Path, json: bool) -> None:
    """Print the phase diagrams of a sweep and write them into a file."""
    from firstlight.cli.commands._phase import print_diagrams, write_diagrams

    diagrams = result.phases()
    if not json:
        screen.say()
        print_diagrams(diagrams)
    write_diagrams(diagrams, out)
    screen.err().print(f"wrote {out}")


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
