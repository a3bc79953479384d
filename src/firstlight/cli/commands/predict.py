"""`firstlight predict`: forecast a run before it is trained."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from firstlight.cli import _exits as exits
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import DataOption, JsonOption, SetOption, data_path

_SHOWN = 8


def predict(
    spec: Annotated[Path, Parameter(help="A .toml or .json file; an empty one is the default run.")],
    /,
    *,
    set_: SetOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> int:
    """Forecast whether the run that a spec describes will generalise, when, and with which irreps."""
    from firstlight.records import apply_overrides, load_spec

    wanted = apply_overrides(load_spec(spec), set_ or [])
    forecast = forecast_spec(wanted, data_path(data))
    if json:
        screen.print_json(forecast.as_dict())
    else:
        show(forecast)
    return exits.OK if forecast.covered else exits.DIFFERS


def forecast_spec(spec: Any, data: Path | None = None) -> Any:
    """Return the forecast for a spec; a line on stderr says when a boundary is being computed."""
    from firstlight import groups
    from firstlight.records import GroupTask, SpecError, pin_arrays
    from firstlight.theories import li2

    spec = pin_arrays(spec, data)
    if isinstance(spec.task, GroupTask):
        try:
            groups.of_task(spec.task, data)
        except ValueError as error:
            if isinstance(error, SpecError):
                raise
            field = "task.group" if spec.task.table is None else "task.table"
            raise SpecError([f"{field}: {error}"]) from None
    try:
        return li2.predict(spec, progress=_say)
    except ValueError as error:
        raise SpecError([str(error)]) from None


def _say(fraction: float, note: str) -> None:
    if note:
        screen.err().print(note, highlight=False)


def show(forecast: Any) -> None:
    """Print a forecast as a few lines."""
    screen.say(forecast.story)
    if not forecast.covered:
        return
    facts = [
        ("chance of generalising", forecast.chance),
        ("by epoch", f"{forecast.horizon:.0f}"),
        ("training pairs", f"{forecast.samples} of {forecast.pairs}"),
        ("boundary", f"{forecast.boundary:.0f} pairs ({forecast.low:.0f} to {forecast.high:.0f})"),
        ("memorises at epoch", forecast.memorises.words),
        ("generalises at epoch", forecast.generalises.words),
        ("hidden units that suffice", str(forecast.nodes)),
    ]
    screen.say()
    screen.print_table(("forecast", "value"), facts)
    screen.say()
    rows = [
        (irrep.rank, irrep.label, irrep.dim, irrep.kind, f"{irrep.energy:.3g}", f"{100 * irrep.survives:.0f} %")
        for irrep in forecast.irreps[:_SHOWN]
    ]
    screen.print_table(("learned", "irrep", "dimension", "kind", "energy", "maxima that survive"), rows)
    if len(forecast.irreps) > _SHOWN:
        screen.say(f"and {len(forecast.irreps) - _SHOWN} more")
