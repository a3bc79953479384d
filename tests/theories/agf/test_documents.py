"""The guide's examples and the example script run as written."""

import doctest
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_guide():
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    guide = str(ROOT / "docs" / "agf.md")
    failed, attempted = doctest.testfile(guide, module_relative=False, encoding="utf-8", optionflags=flags)
    assert attempted > 8
    assert failed == 0


def test_example(tmp_path, capsys):
    main = runpy.run_path(str(ROOT / "examples" / "agf_your_network.py"))["main"]
    assert main(str(tmp_path / "steps.png")) < 0.05
    assert "measured_time" in capsys.readouterr().out
    assert (tmp_path / "steps.png").stat().st_size > 1000
