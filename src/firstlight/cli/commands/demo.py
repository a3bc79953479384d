"""`firstlight demo`: watch a network memorise, stall and generalise."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from firstlight.cli import _exits as exits
from firstlight.cli import _signals as signals
from firstlight.cli._terminal import screen

_QUICK = [
    "task.group=Z23",
    "task.split.fraction=0.6",
    "model.width=256",
    "optimizer.learning_rate=0.002",
    "optimizer.weight_decay=0.001",
    "steps=240",
]

_STOPPED = "the demo saves nothing; `firstlight demo` starts it again"


def demo(
    *,
    out: Annotated[Path, Parameter(help="The page to write.")] = Path("firstlight-demo.html"),
    seed: Annotated[int, Parameter(help="Which weights and which training pairs are drawn.")] = 0,
    quick: Annotated[bool, Parameter(negative="", help="A smaller network, in a few seconds.")] = False,
) -> int:
    """Watch a network memorise modular addition, stall, and suddenly generalise, in about 20 seconds."""
    require_writable(out)
    signals.resumes(lambda: _STOPPED)
    spec = demo_spec(seed, quick)
    screen.say(_opening(spec))
    forecast = _forecast(spec)
    from firstlight.cli._terminal.live import Live

    with Live(forecast) as live:
        from firstlight import flow, runs

        try:
            outcome = runs.compute([runs.with_lenses(spec)], progress=live)[0]
        except flow.TrainingInterrupted:
            raise exits.Interrupted(_STOPPED) from None
    from firstlight import report
    from firstlight.cli._terminal.scoreboard import print_scoreboard

    record = shown_record(outcome, forecast)
    screen.say(f"\n{_closing(record)}")
    print_scoreboard(record)
    page = report.write(out, [record], title="firstlight demo")
    screen.say(f"\n{screen.duration(record.seconds)} of training. {page} answers five questions and shows the figures.")
    return exits.OK if record.status == "finished" else exits.DIFFERS


def shown_record(outcome: Any, forecast: Any) -> Any:
    """Return the record of the demo, with the forecast over the run first, and the learned waves and circles."""
    from firstlight import runs

    drawn = forecast.over(outcome.record)
    first, *rest = outcome.record.figures
    return outcome.record.model_copy(update={"figures": (drawn, first, *runs.portraits(outcome), *rest)})


def demo_spec(seed: int = 0, quick: bool = False) -> Any:
    """Figure 2 of Li₂ (M = 71, K = 2048, 40 % of the pairs, Adam), or something smaller."""
    from firstlight.records import RunSpec, apply_overrides

    spec = RunSpec.model_validate(
        {
            "name": "Modular addition" + (" (small)" if quick else ", as in Figure 2 of Li₂"),
            "optimizer": {"learning_rate": 1e-3, "weight_decay": 2e-4},
            "steps": 200,
            "recording": {"every": 4},
            "snapshots": 11,
            "stop": [{"observable": "test_accuracy", "at_least": 1.0}],
            "seed": seed,
        }
    )
    return apply_overrides(spec, _QUICK) if quick else spec


def require_writable(out: Path) -> None:
    """Refuse a page that cannot be written, before the training."""
    if out.is_dir() or not out.absolute().parent.is_dir():
        problem = "is a folder" if out.is_dir() else f"cannot be written, there is no folder {out.absolute().parent}"
        raise exits.UserError(f"--out: {out} {problem}; give the name of a file to write")


def _opening(spec: Any) -> str:
    M = int(spec.task.group.removeprefix("Z"))
    pairs = f"{int(spec.task.split.fraction * M * M)} of {M * M}"
    return (
        f"A network of {spec.model.width} hidden units trains on {pairs} sums a + b mod {M}.\n"
        "It will memorise these training pairs long before it generalises to the held-out pairs."
    )


def _forecast(spec: Any) -> Any:
    """Print and draw the forecast, before the run is trained."""
    from firstlight import plots
    from firstlight.cli.commands.predict import forecast_spec

    forecast = forecast_spec(spec)
    screen.say(f"Forecast before training: {forecast.story}\n")
    screen.say(plots.terminal(forecast.figure_data(), width=72, height=10))
    return forecast


def _closing(record: Any) -> str:
    memorised, generalised = record.summary.get("memorised_at"), record.summary.get("generalised_at")
    if memorised is None or generalised is None:
        return "This run did not generalise in the given number of epochs; another --seed may."
    return (
        f"Memorised the training pairs at epoch {memorised}; "
        f"generalised to the held-out pairs at epoch {generalised}.\n"
        "Without weight decay it would not have generalised: see `firstlight reproduce li2.figure-2`."
    )
