"""The guide's examples and the example script run as written."""

import doctest
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_guide():
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    guide = str(ROOT / "docs" / "rfm.md")
    failed, attempted = doctest.testfile(guide, module_relative=False, encoding="utf-8", optionflags=flags)
    assert attempted > 10
    assert failed == 0


def test_example(tmp_path, capsys):
    main = runpy.run_path(str(ROOT / "examples" / "rfm_interactions.py"))["main"]
    learned, plain, pair = main(str(tmp_path / "interactions.png"))
    assert learned > plain + 0.05
    assert pair == (0, 1)
    assert "the pair that interacts most: x0 and x1" in capsys.readouterr().out
    assert (tmp_path / "interactions.png").stat().st_size > 1000
