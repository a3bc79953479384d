"""Every claim has its recorded verdict, and a judge refuses what is false."""

import pytest
from firstlight import claims

from parseval import PACK
from parseval.checks import judge_parseval


@pytest.mark.parametrize("claim", PACK.claims, ids=lambda claim: claim.id)
def test_a_claim_has_its_recorded_verdict(claim):
    record, _ = claims.verify(claim, claims.Setting("quick"))
    evidence = claims.recorded(claim.id, PACK.paper.evidence)["quick"]
    assert not record.raised, record.evidence
    assert record.status == evidence.status
    assert not claims.is_stale(evidence, claim)


def test_a_wrong_factor_is_refused():
    assert claims.verdict(judge_parseval({"errors": {"a": 0.5}})) == "fails"
