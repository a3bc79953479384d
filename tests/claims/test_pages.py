"""The generated pages are those of the registry, and say all there is to say."""

from pathlib import Path

import pytest

from firstlight import claims

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", sorted(claims.pages()))
def test_pages_in_the_documentation_are_up_to_date(name):
    page = (DOCS / name).read_text(encoding="utf-8")
    assert page == claims.pages()[name], f"docs/{name} is out of date; run `firstlight claims docs`"


def test_errata_hold_every_correction_and_nothing_else():
    page = claims.pages()["errata.md"]
    for claim in claims.all_claims():
        corrected = claim.corrected is not None
        assert (f"### {claim.id}: " in page) == corrected
        if claim.corrected is not None:
            assert all(text in page for text in (claim.statement, claim.corrected, claim.counterexample))


def test_verdicts_that_differ_by_scale_are_named_with_it():
    claim = claims.Claim(
        "li2.lemma-0",
        "A | B",
        "Lemma 0",
        "…",
        lambda setting: claims.Outcome("holds", 0, 0),
        expected_verdict={"quick": "inconclusive", "paper": "holds"},
        needs=("torch",),
    )
    page = claims.claims_page([claim])
    assert r"| A \| B | `inconclusive` at quick scale, `holds` at paper scale | torch |" in page
