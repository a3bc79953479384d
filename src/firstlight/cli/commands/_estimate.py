"""Output of `--dry-run` for runs and sweeps: the estimated cost, and their status in the store."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from firstlight.cli import _exits as exits
from firstlight.cli._terminal import screen


def stored_status(spec: Any, where: Path) -> str:
    """The status of a run in the store, or "new"; nothing is created where there is no store."""
    from firstlight.records import Store
    from firstlight.records._store import locate

    if not locate(where).exists():
        return "new"
    with Store(where) as opened:
        return opened.run_status(spec) or "new"


def run_facts(spec: Any, expected: Any, where: Path) -> dict[str, Any]:
    """Return the estimated cost of a run as plain values."""
    from firstlight.records import run_id

    return {
        "id": run_id(spec),
        "stored": stored_status(spec, where),
        "memory_bytes": expected.bytes,
        "memory": expected.memory,
        "rows": expected.rows,
        "numbers_per_row": expected.numbers,
        "disk_bytes": expected.disk,
        "checkpoint_bytes": expected.checkpoint,
        "seconds": expected.seconds,
    }


def show_run(facts: dict[str, Any]) -> None:
    """Print the facts of `run_facts` as a small table."""
    from firstlight.runs import size

    parts = sorted(facts["memory"].items(), key=lambda part: -part[1])
    largest = ", ".join(f"{name} {size(bytes_)}" for name, bytes_ in parts[:3])
    screen.print_table(
        ("estimate", "about", ""),
        [
            ("memory", size(facts["memory_bytes"]), largest),
            ("recorded rows", f"{facts['rows']:,}", f"{facts['numbers_per_row']} numbers each"),
            ("disk", size(facts["disk_bytes"]), f"and {size(facts['checkpoint_bytes'])} while it runs"),
            ("time", screen.duration(facts["seconds"]), "to a factor of three"),
            ("run", facts["id"][:12], "in the store: " + facts["stored"] if facts["stored"] != "new" else "new"),
        ],
    )


@Parameter(name="*")
@dataclass(frozen=True)
class AskOptions:
    """When a sweep asks before it starts."""

    yes: Annotated[
        bool, Parameter(name=["--yes", "-y"], negative="", help="Start an expensive sweep without asking.")
    ] = False
    ask_above: Annotated[float, Parameter(help="Core-hours above which a sweep asks before it starts.")] = 24.0
    sample: Annotated[
        bool | None,
        Parameter(help="Measure the cost by short runs [default: if the sweep takes over two minutes of a core]."),
    ] = None

    def measured(self, default: bool | None) -> bool | None:
        """Return whether to measure a sample: as given, else `default`."""
        return default if self.sample is None else self.sample

    def announce(self, expected: Any) -> None:
        """Print the estimated cost of a sweep on stderr; ask if it is above the limit."""
        if not expected.left:
            return
        screen.err().print(cost_line(expected))
        if expected.core_hours <= self.ask_above or self.yes:
            return
        question = f"start a sweep of about {_hours(expected.core_hours)}?"
        if sys.stdin.isatty() and input(f"{question} [y/N] ").strip().lower() in ("y", "yes"):
            return
        raise exits.UserError(
            f"the sweep takes about {_hours(expected.core_hours)}, more than {self.ask_above:g} core-hours; nothing "
            "was started. --yes starts it, --ask-above HOURS changes the limit"
        )


def cost_line(expected: Any) -> str:
    """Return the cost of a sweep in one line."""
    from firstlight.runs import size

    programs = f"{expected.programs:,} program{'s' * (expected.programs != 1)} to compile"
    took = "" if expected.workers is None else f", about {screen.duration(expected.seconds)}"
    return (
        f"{expected.left:,} of {expected.points:,} points to run, {programs}, about {_hours(expected.core_hours)} and "
        f"{size(expected.disk)} ({_source(expected)}), {_memory(expected)}{took}"
    )


def show_sweep(expected: Any) -> None:
    """Print the estimated cost of a sweep as a small table."""
    from firstlight.runs import size

    done = expected.points - expected.left
    measured = expected.sampled + expected.recorded
    how = f"{_source(expected)}, {measured} of {expected.programs}" if measured else "to a factor of three"
    on_one = "with one worker" if expected.workers is None else ""
    screen.print_table(
        ("estimate", "about", ""),
        [
            ("points", f"{expected.points:,}", f"{expected.left:,} to run, {done:,} in the store"),
            ("programs", f"{expected.programs:,}", "to compile"),
            ("memory", size(expected.memory * (expected.workers or 1)), _memory(expected)),
            ("disk", size(expected.disk), ""),
            ("processor", _hours(expected.core_hours), how),
            ("time", screen.duration(expected.seconds), on_one),
        ],
    )


def _source(expected: Any) -> str:
    """Return where the numbers of an estimate come from."""
    if expected.sampled:
        return "measured"
    return "from earlier runs" if expected.recorded else "from sizes"


def _hours(hours: float) -> str:
    if hours < 0.1:
        return f"{hours * 3600:.0f} core-seconds"
    return f"{hours:,.0f} core-hours" if hours >= 10 else f"{hours:.2g} core-hours"


def _memory(expected: Any) -> str:
    from firstlight.runs import size

    if expected.workers is None:
        return f"{size(expected.memory)} for each worker of the cluster"
    return f"{expected.workers} worker{'s' * (expected.workers != 1)} of {size(expected.memory)}"
