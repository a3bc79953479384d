"""The example script runs as written."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_example(capsys):
    runpy.run_path(str(ROOT / "examples" / "cogo_craft.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "Z4xZ6: 66 hidden units, loss " in printed
    assert "<OrderCensus of Z11: 4 F4, 1 F6; 0 idle, 0 shared hidden units>" in printed
