"""`firstlight run`: train the run that a spec describes."""

import functools
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


def run(
    spec: Annotated[Path, Parameter(help="A .toml or .json file; an empty one is the default run.")],
    /,
    *,
    set_: SetOption = None,
    seed: Annotated[int | None, Parameter(help="Replace the spec's seed.")] = None,
    store: StoreOption = None,
    wait: WaitOption = 0.0,
    force: Annotated[bool, Parameter(negative="", help="Train again even if the run is in the store.")] = False,
    resume: Annotated[bool, Parameter(help="Continue an interrupted run, or start it from the beginning.")] = True,
    data: DataOption = None,
    allow_large: AllowLargeOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Train the run that a spec describes, or show the result if it is already in the store."""
    from firstlight.cli._terminal.progress import Bar, RunProgress
    from firstlight.cli._terminal.scoreboard import print_scoreboard
    from firstlight.records import apply_overrides, load_spec

    chosen = [*(set_ or []), *([f"seed={seed}"] if seed is not None else [])]
    wanted = apply_overrides(load_spec(spec), chosen)
    where, folder = store_path(store), data_path(data)
    if dry_run:
        return _estimated(wanted, where, folder, allow_large, json)

    with Bar(f"{wanted.clock}s") as bar:
        from firstlight import flow, runs

        resolved = runs.resolve(wanted, folder, allow_large=allow_large, store=where)
        say = functools.partial(_how_to_continue, clock=wanted.clock, where=where, force=force, resume=resume)
        signals.resumes(lambda: say(runs.saved_step(where, resolved.spec)))
        try:
            with runs.writing(where, wait=wait) as opened:
                is_there = not force and opened.run_status(resolved.id) in runs.OVER
                record = runs.run(
                    resolved, store=opened, progress=RunProgress(bar, wanted.clock), force=force, resume=resume
                )
        except flow.TrainingInterrupted as stopped:
            raise exits.Interrupted(say(stopped.trajectory.lanes[0].step)) from None
    if is_there:
        screen.err().print("this run is already in the store; --force trains it again")
    if json:
        screen.print_json(summary(record))
    else:
        screen.say(record.summary.get("story") or record.message or record.status)
        if advice := runs.advice(record):
            screen.say(advice)
        print_scoreboard(record)
        screen.say(f"run {record.id[:12]}, {record.status} after {screen.duration(record.seconds)}, in {where}")
    return exits.OK if record.status == "finished" else exits.DIFFERS


def _estimated(spec: Any, where: Path, data: Path | None, allow_large: bool, json: bool) -> int:
    """Print what a run would take, then refuse a run that does not fit."""
    from firstlight import runs
    from firstlight.cli.commands._estimate import run_facts, show_run
    from firstlight.records import pin_arrays

    runs.check(spec, data)
    spec = pin_arrays(spec, data)
    facts = run_facts(spec, runs.estimate(spec, data), where)
    if json:
        screen.print_json(facts)
    else:
        show_run(facts)
    runs.check_sizes(spec, data, allow_large=allow_large, store=where)
    return exits.OK


def _how_to_continue(step: int | None, *, clock: str, where: Path, force: bool, resume: bool) -> str:
    if force:
        return f"the same command starts the run again; a finished run that was in {where} before is still there"
    if step is None:
        return "no checkpoint was written yet; the same command starts the run, or shows it if it had finished"
    again = "the same command" if resume else "the same command without --no-resume"
    return f"the run is stored up to {clock} {step} in {where}; {again} continues it"


def summary(record: Any) -> dict[str, Any]:
    """Return a run without its numbers and without paths of the machine, for scripts."""
    return record.model_dump(exclude={"table", "figures", "versions", "machine", "traceback"})
