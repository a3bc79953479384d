"""`firstlight duel`: optimizers compared at equal compute."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from firstlight.cli import _exits as exits
from firstlight.cli import _signals as signals
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import (
    AllowLargeOption,
    DataOption,
    JsonOption,
    SetOption,
    StoreOption,
    WaitOption,
    data_path,
    store_path,
)


def duel(
    spec: Annotated[Path, Parameter(help="A .toml or .json file; its optimizer is replaced by each of the others.")],
    /,
    *,
    optimizers: Annotated[str, Parameter(help="Names, separated by commas.")] = "adam,adamw,sgd,muon",
    rates: Annotated[int, Parameter(help="Learning rates tried for each optimizer.")] = 5,
    decays: Annotated[
        str,
        Parameter(
            show_default=False,
            help="Weight decays tried with each rate, separated by commas [default: that of the spec].",
        ),
    ] = "",
    tuning_seeds: Annotated[int, Parameter(help="Runs for each tuning point.")] = 1,
    seeds: Annotated[int, Parameter(help="Runs of the comparison.")] = 5,
    widths: Annotated[
        str,
        Parameter(
            show_default=False,
            help="Ends low,high of a search for the critical number of hidden units [default: none].",
        ),
    ] = "",
    out: Annotated[Path, Parameter(help="The page to write.")] = Path("firstlight-duel.html"),
    set_: SetOption = None,
    store: StoreOption = None,
    wait: WaitOption = 0.0,
    force: Annotated[bool, Parameter(negative="", help="Train again even if the runs are in the store.")] = False,
    data: DataOption = None,
    allow_large: AllowLargeOption = False,
    json: JsonOption = False,
) -> int:
    """Compare optimizers on one spec at equal compute, each rate tuned with the same budget, and write a page."""
    from firstlight.cli._terminal.progress import Bar
    from firstlight.cli.commands.demo import require_writable
    from firstlight.records import apply_overrides, load_spec

    require_writable(out)
    base = apply_overrides(load_spec(spec), set_ or [])
    where, folder = store_path(store), data_path(data)
    signals.resumes(lambda: f"every run that has ended is in {where}; the same command does the rest")
    with Bar("steps") as bar:
        from firstlight import runs
        from firstlight.sweeps import Duel, DuelInterrupted, run_duel

        runs.check(base)
        wanted = Duel(
            base,
            tuple(name.strip() for name in optimizers.split(",") if name.strip()),
            rates=rates,
            decays=tuple(_numbers("--decays", decays)),
            tuning_seeds=tuning_seeds,
            seeds=seeds,
            widths=_ends(widths),
        )

        def shown(moment: Any) -> None:
            bar.update(moment.done, round(moment.total), moment.label)
            bar.remark(f"{moment.label}: {moment.done / moment.total:.0%} of the duel", moment.remaining)

        try:
            with runs.writing(where, wait=wait) as opened:
                record = run_duel(wanted, opened, force=force, progress=shown, data=folder, allow_large=allow_large)
        except DuelInterrupted:
            raise exits.Interrupted(f"every run that has ended is in {where}; the same command does the rest") from None
    from firstlight import report

    page = report.write(out, record, title="Optimizer duel", papers={})
    if json:
        screen.print_json(record.model_dump(exclude={"figures"}))
        return exits.OK
    _tell(record)
    screen.say(f"\n{record.story}\n{page} shows the figures; the runs are in {where}")
    return exits.OK


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise exits.UserError(f"{option}: give numbers separated by commas, such as 0.1,1; got {text!r}") from None


def _ends(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    numbers = _numbers("--widths", text)
    if len(numbers) != 2 or any(number != int(number) for number in numbers):
        raise exits.UserError(f"--widths: give two whole numbers low,high, such as 16,1024; got {text!r}")
    return int(numbers[0]), int(numbers[1])


def _tell(record: Any) -> None:
    from firstlight.report import duel_rows

    rows = duel_rows(record)
    columns = ["optimizer", "rate", "weight decay", "budget", "generalised", "median", "interval", "operations"]
    shown = [[r.optimizer, r.rate, r.decay, r.steps, r.generalised, r.median, r.interval, r.operations] for r in rows]
    if any(row.width for row in rows):
        columns += ["critical width", "Theorem 8"]
        shown = [[*cells, row.width, row.theory] for cells, row in zip(shown, rows, strict=True)]
    screen.print_table(columns, shown)
