"""Room 2 without a browser: the packed features, the list of runs, the exported file, wrong ids."""

import base64
import json
import re

import numpy as np
import pytest

from firstlight import runs
from firstlight.lab._stage import theatre
from firstlight.records import RunRecord, Store, spec_from_mapping

SPEC = {"task": {"group": "S3"}, "model": {"width": 8}, "steps": 6, "snapshots": 3, "recording": {"every": 2}}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("theatre") / "store.sqlite"
    return runs.run(spec_from_mapping(SPEC), store=path, progress="off"), path


def unpacked(text, kind, shape):
    return np.frombuffer(base64.b64decode(text), kind).reshape(shape)


def test_packed_features_are_those_of_the_history(trained):
    record, path = trained
    history = runs.feature_history(record, path)
    shown = json.loads(json.dumps(theatre({"id": record.id, "store": str(path), "data": ""})))
    S, U, C = history.content.shape
    np.testing.assert_allclose(
        unpacked(shown["content"], "u1", (S, U, C)) / 255, history.content, atol=0.5 / 255 + 1e-9
    )
    for name, values in (("wave", history.waves), ("point", history.points)):
        sizes = np.array(shown[f"{name}_sizes"])[None, :, None, None]
        back = unpacked(shown[f"{name}s"], "<i2", values.shape) / 32767 * sizes
        assert np.all(np.abs(back - values) <= 0.5 / 32767 * sizes + 1e-9 * sizes)
    np.testing.assert_allclose(unpacked(shown["energies"], "<f4", (S, U)), history.energies, rtol=1e-6)
    assert shown["peaks"] == [None, 3.0, 1.5]
    assert shown["orders"] is None
    assert "Abelian" in shown["no_orders"]
    assert theatre({"id": record.id, "store": str(path), "data": ""}) is theatre(
        {"id": record.id, "store": str(path), "data": ""}
    )


def test_a_run_without_weights_is_a_problem_with_words(tmp_path):
    record = RunRecord(spec=spec_from_mapping(SPEC), status="interrupted")
    with Store(tmp_path / "s.sqlite", "rw") as store:
        store.put_run(record)
    answer = theatre({"id": record.id, "store": str(tmp_path / "s.sqlite"), "data": ""})
    assert "stored when a run ends" in answer["problem"]


def test_the_list_names_runs_with_weights_and_counts_the_others(browser, places, trained):
    record, path = trained
    assert browser.get("/api/theatre").json() == {"runs": [], "without": 0}
    with Store(path) as source:
        arrays = {name: source.weights(record.id, name) for name in record.weights}
    with Store(places.store, "rw") as store:
        store.put_run(record, arrays)
        store.put_run(RunRecord(spec=spec_from_mapping({**SPEC, "seed": 5}), status="interrupted"))
    listed = browser.get("/api/theatre").json()
    assert listed["without"] == 1
    (run,) = listed["runs"]
    assert run["id"] == record.id
    assert run["snapshots"] == 3
    assert run["title"].startswith("S3")


@pytest.mark.parametrize("id", ["0" * 64, "..%2f..%2fetc%2fpasswd", "a b", "x" * 200])
def test_wrong_ids_are_refused_with_a_clear_status(browser, id):
    assert browser.get(f"/api/theatre/{id}").status_code == 404
    assert browser.get(f"/api/theatre/{id}/export").status_code == 404


def test_an_exported_file_holds_everything_and_no_markup_from_outside(browser, places, trained, monkeypatch):
    record, path = trained
    with Store(places.store, "rw") as store:
        store.put_run(RunRecord(spec=record.spec, status="interrupted"))
    shown = {**theatre({"id": record.id, "store": str(path), "data": ""}), "title": "</script><img src=x>"}

    async def ask(what, given):
        return shown

    monkeypatch.setattr(browser.app._app.state.lab.client, "ask", ask)
    answer = browser.get(f"/api/theatre/{record.id}/export?at=4&units=1,2&irrep=%3Cb%3E")
    assert answer.headers["content-disposition"].endswith(f'features-{record.id[:12]}.html"')
    data = json.loads(re.search(r'id="data">(.*?)</script>', answer.text, re.S)[1])
    assert data["view"] == {"at": "4", "units": "1,2", "irrep": "<b>"}
    assert data["features"] == json.loads(json.dumps(shown))
    assert "<img" not in answer.text
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", re.sub(r"<script.*?</script>", "", answer.text, flags=re.S))
    assert "class Stage" in answer.text


def test_the_server_does_not_load_jax_for_the_room():
    import subprocess
    import sys

    code = "import sys, firstlight.lab._app; sys.exit(bool({'jax', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
