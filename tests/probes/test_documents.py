"""The guide's examples and the example script run as written."""

import doctest
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_guide():
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    guide = str(ROOT / "docs" / "probes.md")
    failed, attempted = doctest.testfile(guide, module_relative=False, encoding="utf-8", optionflags=flags)
    assert attempted > 15
    assert failed == 0


def test_example(tmp_path, capsys):
    main = runpy.run_path(str(ROOT / "examples" / "probe_digits.py"))["main"]
    assert main(str(tmp_path / "digits.png")) > 0.99
    assert "converged" in capsys.readouterr().out
    assert (tmp_path / "digits.png").stat().st_size > 1000
