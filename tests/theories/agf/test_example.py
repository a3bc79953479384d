"""The example script runs as written."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_example(tmp_path, capsys):
    main = runpy.run_path(str(ROOT / "examples" / "agf_your_network.py"))["main"]
    assert main(str(tmp_path / "steps.png")) < 0.05
    assert "measured_time" in capsys.readouterr().out
    assert (tmp_path / "steps.png").stat().st_size > 1000
