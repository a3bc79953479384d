"""The example script runs as written."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_example(tmp_path, capsys):
    main = runpy.run_path(str(ROOT / "examples" / "manifold_toy.py"))["main"]
    assert main(str(tmp_path / "toy.png")) < 0.05
    assert "constrained flow" in capsys.readouterr().out
    assert (tmp_path / "toy.png").stat().st_size > 1000
