"""The example script runs as written."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_example(tmp_path, capsys):
    main = runpy.run_path(str(ROOT / "examples" / "probe_digits.py"))["main"]
    assert main(str(tmp_path / "digits.png")) > 0.99
    assert "converged" in capsys.readouterr().out
    assert (tmp_path / "digits.png").stat().st_size > 1000
