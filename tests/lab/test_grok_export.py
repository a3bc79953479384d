"""The export of a run: one file that needs nothing from outside, also for a run without figures."""

import re

from firstlight.records import RunRecord, Store, Table, TheoryVerdict
from tests.lab.conftest import spec


def test_a_run_is_exported_complete_in_itself(browser, places):
    record = RunRecord(
        spec=spec(), status="finished", steps=60, table=Table([0, 60], {"train_loss": [1.0, 0.1], "extra": [0.0, 1.0]})
    )
    with Store(places.store, "rw") as store:
        store.put_run(record)
    answer = browser.get(f"/api/runs/{record.id}/export")
    assert answer.status_code == 200
    assert f"firstlight-{record.id[:12]}.html" in answer.headers["content-disposition"]
    assert not re.findall(r"""(?:src|href)=["'](?:https?:|/)""", answer.text)
    assert "Z5" in answer.text
    assert browser.get("/api/runs/" + "0" * 64 + "/export").status_code == 404


def test_export_and_scoreboard_say_why_a_theory_has_no_verdict(browser, places):
    known = TheoryVerdict(theory="li2", predicted="epoch 5", measured="epoch 6", agrees="no", sentence="It was late.")
    record = RunRecord(spec=spec(), status="finished", steps=60, table=Table([0], {"a": [1.0]}), verdicts=(known,))
    with Store(places.store, "rw") as store:
        store.put_run(record)
    page = browser.get(f"/api/runs/{record.id}/export").text
    part = browser.get(f"/api/runs/{record.id}/result").json()["html"]
    for text in (page, part):
        assert "It was late." in text
        assert "The theory does not describe this run: it needs an Abelian group, and S3 is not one." in text
    silent = "its lens is not among those of the run."
    assert part.count(silent) == 3
    assert page.count(silent) == 4  # three rows, and once in the answers
    assert part.count("<tr>") == 1 + 5
