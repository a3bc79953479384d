"""The scoreboard of a run in the terminal: what each theory predicted, what was measured, and who was right."""

from firstlight.cli._terminal import screen
from firstlight.records import RunRecord


def print_scoreboard(record: RunRecord) -> None:
    """Print a row per theory, then a sentence per theory; nothing for a run without lenses."""
    if not record.verdicts:
        return
    print()
    from firstlight.report import in_order, theory_name

    board = in_order(record)
    rows = [(theory_name(row.theory), row.predicted, row.measured, row.agrees) for row in board]
    screen.print_table(("theory", "predicted", "measured", "agrees?"), rows, wrap=("predicted", "measured"))
    print()
    for row in board:
        screen.say(f"{theory_name(row.theory)}: {row.sentence}")
