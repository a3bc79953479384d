"""The guide's examples run as written."""

import doctest
from pathlib import Path


def test_guide():
    guide = Path(__file__).parents[3] / "docs" / "li2.md"
    failed, attempted = doctest.testfile(str(guide), module_relative=False, encoding="utf-8")
    assert attempted > 15
    assert failed == 0
