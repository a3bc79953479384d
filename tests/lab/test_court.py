"""Claims court without a browser: pages, addresses, refusals."""

import json

import pytest

from firstlight import claims
from tests.lab.conftest import HEADERS


def test_every_claim_is_in_the_table_once_with_its_verdicts(browser):
    page = browser.get("/court").text
    for claim in claims.all_claims():
        assert page.count(f'href="/court/{claim.id}"') == 1
    assert "<script>" not in page


@pytest.mark.parametrize("ending", ["", ".html"])
def test_a_claim_has_one_address(browser, ending):
    page = browser.get(f"/court/li2.theorem-2{ending}")
    assert page.status_code == 200
    assert "What it rests on" in page.text
    assert 'id="rerun"' in page.text
    assert "Required" in page.text


def test_exports_are_complete_in_themselves(browser):
    for path in ("/api/court/cogo.lemma-3/export", "/api/court/export"):
        answer = browser.get(path)
        assert "attachment" in answer.headers["content-disposition"]
        assert "src=" not in answer.text.split("<main>")[0]
        assert "complete in itself" in answer.text


def test_unknown_claims_are_refused(browser):
    assert browser.get("/court/li2.nothing").status_code == 404
    assert browser.get("/court/..%2fx").status_code == 404
    answer = browser.post("/api/court", content=json.dumps({"claim": "li2.nothing"}), headers=HEADERS)
    assert answer.status_code == 409
