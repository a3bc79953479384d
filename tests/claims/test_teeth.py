"""A check that cannot fail shows nothing: every judge is given something false and must refuse it."""

import importlib
import math

import pytest

from firstlight import claims
from firstlight.claims import Setting
from tests.claims.falsehoods import Falsehood, everywhere

QUICK = [claim for claim in claims.all_claims() if "quick" in claim.scales]
CONFIRMING = ("holds", "holds-as-corrected", "partial")


def falsehoods(paper: str) -> dict[str, dict[str, Falsehood]]:
    return importlib.import_module(f"tests.claims.falsehoods.{paper}").FALSEHOODS


@pytest.mark.parametrize("claim", QUICK, ids=lambda claim: claim.id)
def test_a_quick_claim_has_its_recorded_verdict_and_refuses_what_is_false(claim):
    check = claim.load_check()
    measurement, judge = check.measure(Setting("quick")), check.judge
    criteria = judge(measurement.data)
    missing = claims.differences(measurement.setting, claim.paper_setting)
    evidence = claims.recorded(claim.id).get("quick")
    assert evidence is not None, f"not recorded; run `firstlight reproduce {claim.id} --record`"
    rows = [(row.clause, row.quantity, row.measured, row.required, row.passed) for row in criteria]
    assert claims.verdict(criteria, missing=missing) == evidence.status, rows

    for name, falsify in {
        "NaN everywhere": everywhere(lambda x: math.nan),
        **falsehoods(claim.paper).get(claim.id, {}),
    }.items():
        status = _verdict_of(judge, falsify(dict(measurement.data)))
        assert status not in CONFIRMING, f"{name}: judged as {status}"


def _verdict_of(judge, data) -> str:
    """Return the verdict on data; data that a judge cannot read are refused as well."""
    try:
        return claims.verdict(judge(data))
    except (ValueError, KeyError, IndexError, ZeroDivisionError, FloatingPointError, OverflowError, RuntimeWarning):
        return "refused"


def test_every_claim_has_a_falsehood_of_its_own():
    assert [claim.id for claim in claims.all_claims() if not falsehoods(claim.paper).get(claim.id)] == []
