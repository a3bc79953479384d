"""The options of `sweep --slurm`, and the array job that they describe."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

from cyclopts import Parameter

from firstlight.cli import _exits as exits
from firstlight.cli._terminal import screen
from firstlight.cli.commands._estimate import AskOptions


@Parameter(name="*")
@dataclass(frozen=True)
class ArrayOptions:
    """An array job of Slurm."""

    slurm: Annotated[
        bool, Parameter(negative="", help="Write an array job for Slurm and its folder instead of training here.")
    ] = False
    submit: Annotated[bool, Parameter(negative="", help="With --slurm: submit the array job too.")] = False
    array: Annotated[int, Parameter(help="With --slurm: number of tasks.")] = 64
    at_once: Annotated[int | None, Parameter(help="With --slurm: largest number of tasks that run together.")] = None
    time: Annotated[str, Parameter(help="With --slurm: time limit of a task.")] = "04:00:00"
    grace: Annotated[
        int, Parameter(help="With --slurm: seconds before the time limit at which a task writes its checkpoint.")
    ] = 120
    partition: Annotated[str, Parameter(show_default=False, help="With --slurm: the partition.")] = ""
    cores: Annotated[int, Parameter(help="With --slurm: cores per task.")] = 1
    prelude: Annotated[
        Path | None, Parameter(help="With --slurm: file with lines of shell that run first, such as module load.")
    ] = None
    sbatch: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            allow_leading_hyphen=True,
            help="With --slurm: a further option of sbatch, as in --sbatch=--account=physics; may be repeated.",
        ),
    ] = ()


def array_job(
    spec: Path,
    overrides: list[str],
    bundles: Path | None,
    options: ArrayOptions,
    ask: AskOptions,
    plan: dict[str, Any],
    store: Path,
) -> int:
    """Write the folder and the script of an array job; submit it if asked; then exit, because nothing need wait."""
    from firstlight.records import Store
    from firstlight.records._store import locate
    from firstlight.sweeps import (
        SlurmError,
        SlurmOptions,
        SweepFolder,
        estimate_sweep,
        load_sweep,
        submit,
        write_script,
    )
    from firstlight.sweeps._slurm import allow

    where = bundles or Path(f"{spec.stem}-sweep")
    if options.array < 1:
        raise exits.UserError(f"--array is a number of tasks, at least 1; got {options.array}")
    try:
        lines = "" if options.prelude is None else options.prelude.read_text(encoding="utf-8")
        site = SlurmOptions(
            time=options.time,
            partition=options.partition,
            prelude=lines,
            cores=options.cores,
            at_once=options.at_once,
            grace=options.grace,
            directives=tuple(options.sbatch),
        )
        wanted = load_sweep(spec, overrides)
        specs = wanted.expand(plan["data"], allow_large=plan["allow_large"])
        cost = {"keep_weights": plan["keep_weights"], "data": plan["data"], "sample": ask.measured(default=None)}
        with Store(store) if locate(store).exists() else nullcontext() as opened:
            expected = estimate_sweep(specs, len(specs), None, **cost, store=opened)
        ask.announce(expected)
        folder = SweepFolder.create(where, wanted, options.array, **plan)
        script = write_script(folder, site)
        job = submit(folder, script) if options.submit else ""
        if not job and folder.cancelled():
            allow(folder)
            screen.say("the cancellation of this sweep is taken back")
    except SlurmError as error:
        raise exits.UserError(str(error)) from None
    made = folder.plan()
    screen.say(f"{made.points} points in {made.tasks} tasks: {script}")
    screen.say(f"submitted as Slurm job {job}" if job else f"submit it with: sbatch {quote(str(script))}")
    shown = quote(str(where))
    screen.say(f"then: firstlight sweeps status {shown}\n      firstlight sweeps gather {shown}")
    return exits.OK
