"""The examples in the guides run as written."""

import doctest
from pathlib import Path

import pytest

GUIDES = sorted(
    page for page in (Path(__file__).parents[1] / "docs").glob("*.md") if ">>> " in page.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda page: page.stem)
def test_guide(guide: Path) -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, _ = doctest.testfile(str(guide), module_relative=False, encoding="utf-8", optionflags=flags)
    assert failed == 0


def test_every_theory_has_a_guide_with_examples() -> None:
    assert {"li2", "cogo", "agf", "fact", "manifold", "rfm", "probes"} <= {page.stem for page in GUIDES}
