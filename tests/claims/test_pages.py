"""The generated pages are those of the registry, and say all there is to say."""

from pathlib import Path

import pytest

from firstlight import claims

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", sorted(claims.pages()))
def test_pages_in_the_documentation_are_up_to_date(name):
    page = (DOCS / name).read_text(encoding="utf-8")
    assert page == claims.pages()[name], f"docs/{name} is out of date; run `firstlight claims docs`"


def test_errata_hold_every_printed_clause_that_failed_and_nothing_else():
    page = claims.pages()["errata.md"]
    for claim in claims.all_claims():
        evidence = [*claims.recorded(claim.id).values()][-1]
        failed = [row for row in evidence.criteria if row.form == "printed" and row.passed is False]
        assert (f"### {claim.id}: " in page) == bool(failed and evidence.status != "inconclusive"), claim.id
        if f"### {claim.id}: " in page:
            entry = page.partition(f"### {claim.id}: ")[2].partition("### ")[0]
            assert all(text in entry for text in (claim.statement, claim.corrected or "No corrected form is known"))
            assert all(row.clause.replace("|", "\\|") in entry for row in failed)
            assert ("**True.**" in entry) == (evidence.status != "fails"), "what has failed is called true"
            others = [row for row in evidence.criteria if row.passed is False and row.form != "printed"]
            assert evidence.status != "fails" or all(row.clause.replace("|", "\\|") in entry for row in others)


def test_a_claim_has_a_column_per_scale_and_says_what_was_not_run():
    claim = claims.Claim("li2.lemma-0", "A | B", "Lemma 0", "…", check="maxima:node_counts")
    assert r"| `li2.lemma-0` | Lemma 0 | A \| B | not run |  | not run |" in claims.claims_page([claim])
