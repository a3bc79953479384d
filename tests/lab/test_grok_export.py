"""The export of a run: one file that needs nothing from outside, also for a run without figures."""

import re

from firstlight.records import RunRecord, Store, Table
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
