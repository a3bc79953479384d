"""Output of `--dry-run` for runs and sweeps: the estimated cost, and their status in the store."""

from pathlib import Path
from typing import Any

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


def announce(expected: Any) -> None:
    """Print the estimated cost of a sweep on stderr, before it starts."""
    if expected.left:
        screen.err().print(
            f"{expected.left} of {expected.points} points to run, {_memory(expected)}, "
            f"about {screen.duration(expected.seconds)}"
        )


def show_sweep(expected: Any) -> None:
    """Print the estimated cost of a sweep as a small table."""
    from firstlight.runs import size

    done = expected.points - expected.left
    screen.print_table(
        ("estimate", "about", ""),
        [
            ("points", f"{expected.points:,}", f"{expected.left:,} to run, {done:,} in the store"),
            ("memory", size(expected.memory * (expected.workers or 1)), _memory(expected)),
            ("disk", size(expected.disk), ""),
            ("time", screen.duration(expected.seconds), "to a factor of three"),
        ],
    )


def _memory(expected: Any) -> str:
    from firstlight.runs import size

    if expected.workers is None:
        return f"{size(expected.memory)} for each worker of the cluster"
    return f"{expected.workers} worker{'s' * (expected.workers != 1)} of {size(expected.memory)}"
