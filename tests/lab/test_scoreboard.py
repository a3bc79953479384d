"""The scoreboard of the default run: at least three theories with a number on either side."""

import pytest

from firstlight import runs
from firstlight.lab import default_form, spec_of
from firstlight.lab._grok import _scoreboard, with_all_verdicts
from firstlight.lab._lenses import reasons


@pytest.mark.slow
def test_at_the_default_setting_at_least_three_theories_show_both_numbers():
    record = runs.run(runs.with_lenses(spec_of(default_form())), progress="off")
    board = {row["name"]: row for row in _scoreboard(with_all_verdicts(record, reasons(record.spec)))}
    assert len(board) == 5
    numbered = [
        name
        for name, row in board.items()
        if all(any(letter.isdigit() for letter in row[side]) for side in ("predicted", "measured"))
    ]
    print({name: (row["predicted"], row["measured"], row["agrees"]) for name, row in board.items()})
    assert {"Li₂", "Geometry", "FACT"} <= set(numbered)
    assert len([name for name in numbered if board[name]["agrees"] != "does not apply"]) >= 2
    assert all(row["sentence"] and row["silent"] for row in board.values())
