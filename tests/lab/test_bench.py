"""The bench without a browser: the folder and its ids, what is refused, fits, probes."""

import json
import os

import numpy as np
import pytest
from starlette.testclient import TestClient

from firstlight.lab import _folder
from firstlight.lab._app import application
from firstlight.lab._fitting import columns, fit_table, open_probe
from firstlight.lab._folder import Folder
from firstlight.lab._form import FormError
from firstlight.lab._outcomes import unpack_fits
from firstlight.lab._reading import Reading
from firstlight.records import FitRecord, LayerCourse, ProbedCheckpoint, ProbedLayer, ProbeRecord, Store, figure
from tests.lab.conftest import HEADERS, TOKEN, Silent
from tests.lab.curve import write_curve
from tests.lab.line import Line


def write_table(path, rows=40):
    x = np.random.default_rng(0).standard_normal((rows, 2))
    lines = [f"{a:.4f},{b:.4f},{'<b>yes</b>' if a * b > 0 else 'no'},same" for a, b in x]
    path.write_text("\n".join(["a,<i>b</i>,label,constant", *lines]) + "\n", encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "tables"
    (made / "more").mkdir(parents=True)
    write_table(made / "own.csv")
    write_curve(made / "curve.csv")
    (made / "more" / "deep.tsv").write_text("a\tb\n1\t2\n")
    (made / "notes.txt").write_text("no table")
    (made / ".hidden.csv").write_text("a,b\n")
    return made


class Desk(Silent):
    """A client that reads columns in this process and notes what is submitted."""

    def __init__(self, places):
        super().__init__(places)
        self.submitted = []

    async def ask(self, what, given):
        assert what == "columns"
        return columns(given)

    async def submit(self, id, kind, title, payload):
        self.submitted.append((kind, payload))
        return {"id": id, "kind": kind, "title": title, "state": "queued"}


@pytest.fixture
def bench(places, folder):
    Store(places.store, "rw").close()
    reading = Reading(places.store)
    desk = Desk(places)
    client = TestClient(application(desk, reading, TOKEN, folder), base_url="http://127.0.0.1:8765")
    client.desk = desk
    yield client
    reading.close()


def id_of(client, name):
    return next(row["id"] for row in client.get("/api/bench/files").json()["files"] if row["name"] == name)


def post(client, **body):
    return client.post("/api/bench", content=json.dumps({"task": "auto", "folds": "3", "seed": "0", **body}),
                       headers=HEADERS)  # fmt: skip


def test_files_are_listed_under_opaque_ids(bench, folder):
    rows = bench.get("/api/bench/files").json()["files"]
    assert [row["name"] for row in rows] == ["curve.csv", "more/deep.tsv", "own.csv"]
    assert all(row["id"].isalnum() and len(row["id"]) == 20 for row in rows)
    assert str(folder) not in bench.get("/bench").text


@pytest.mark.parametrize(
    "id", ["own.csv", "../store.sqlite", "/etc/passwd", "0" * 20, "%2e%2e%2f", "own.csv\x00", "x" * 300]
)
def test_a_path_or_a_forged_id_opens_nothing(bench, id):
    answer = bench.get("/api/bench/columns", params={"file": id})
    assert answer.status_code == 422
    assert "no file of the folder" in answer.json()["problems"]["file"]
    assert post(bench, file=id, target="a").status_code == 422
    probe = bench.post("/api/bench/probe", content=json.dumps({"file": id}), headers=HEADERS)
    assert probe.status_code == 422
    assert not bench.desk.submitted


def test_links_that_lead_out_of_the_folder_are_left_out(folder, tmp_path):
    secret = tmp_path / "secret.csv"
    write_table(secret)
    try:
        (folder / "out.csv").symlink_to(secret)
        (folder / "outside").symlink_to(tmp_path, target_is_directory=True)
        (folder / "circle").symlink_to(folder, target_is_directory=True)
        (folder / "inside.csv").symlink_to(folder / "own.csv")
        (folder / "broken.csv").symlink_to(folder / "nowhere.csv")
    except OSError:
        pytest.skip("this system makes no symbolic links")
    assert [file.name for file in Folder(folder).files()] == ["curve.csv", "inside.csv", "more/deep.tsv", "own.csv"]


def test_a_file_that_became_a_link_is_refused_by_the_worker(folder, tmp_path):
    secret = tmp_path / "secret.csv"
    write_table(secret)
    given = {"path": str(folder / "own.csv"), "root": str(folder)}
    (folder / "own.csv").unlink()
    try:
        (folder / "own.csv").symlink_to(secret)
    except OSError:
        pytest.skip("this system makes no symbolic links")
    assert "not in the folder any more" in columns(given)["problems"]["file"]


def test_a_large_file_is_refused_with_the_limit(bench, monkeypatch):
    id = id_of(bench, "own.csv")
    monkeypatch.setattr(_folder, "LARGEST_FILE", 100)
    answer = bench.get("/api/bench/columns", params={"file": id})
    assert answer.status_code == 422
    assert "at most 100" in answer.json()["problems"]["file"]


def test_a_packed_file_that_grows_too_large_is_refused(bench, folder, monkeypatch):
    import gzip

    from firstlight.lab import _fitting

    (folder / "zeros.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"0,1\n" * 1000))
    assert bench.get("/api/bench/columns", params={"file": id_of(bench, "zeros.csv.gz")}).status_code == 422
    monkeypatch.setattr(_fitting, "LARGEST_UNPACKED", 1000)
    answer = bench.get("/api/bench/columns", params={"file": id_of(bench, "zeros.csv.gz")}).json()
    assert "more than 1,000 bytes" in answer["problems"]["file"]


def test_a_file_that_disappeared_is_named(bench, folder):
    id = id_of(bench, "own.csv")
    (folder / "own.csv").unlink()
    answer = bench.get("/api/bench/columns", params={"file": id}).json()
    assert "own.csv is not in the folder any more" in answer["problems"]["file"]


def test_columns_say_what_they_hold(bench):
    answer = bench.get("/api/bench/columns", params={"file": id_of(bench, "own.csv")}).json()
    reasons = {column["name"]: (column["kind"], column["reason"]) for column in answer["columns"]}
    assert reasons == {"a": ("numbers", ""), "<i>b</i>": ("numbers", ""), "label": ("text", ""),
                       "constant": ("text", "all values are equal")}  # fmt: skip
    assert answer["rows"] == 40


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe\x00\x01\x02", "cannot be read"),
        (b"", "cannot be read"),
        (b"a,b\n1,2\n", "at least 4 rows"),
        (b"a,b\n" + b"1,2\n" * 9, "no column of this table can be a target"),
        (b"a,b\n1,2,3\n4\n5,6\n7,8,9,10\n", "cannot be read"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_the_reason(bench, folder, content, words):
    (folder / "bad.csv").write_bytes(content)
    answer = bench.get("/api/bench/columns", params={"file": id_of(bench, "bad.csv")})
    assert answer.status_code == 422
    assert words in answer.json()["problems"]["file"]


@pytest.mark.parametrize(
    ("body", "control", "words"),
    [
        ({"target": ""}, "target", "choose a column"),
        ({"target": "labell"}, "target", "label"),
        ({"target": "constant"}, "target", "all values are equal"),
        ({"target": "label", "task": "clustering"}, "task", "choose one of"),
        ({"target": "label", "task": "regression"}, "task", "needs a target of numbers"),
        ({"target": "label", "folds": "1"}, "folds", "from 2 to 10"),
        ({"target": "label", "folds": "-3"}, "folds", "whole number"),
        ({"target": "label", "seed": "x"}, "seed", "whole number"),
    ],
)
def test_a_wrong_control_is_named(bench, body, control, words):
    answer = post(bench, file=id_of(bench, "own.csv"), **body)
    assert answer.status_code == 422
    assert words in answer.json()["problems"][control]
    assert not bench.desk.submitted


def test_without_a_folder_the_page_says_what_to_do(browser):
    assert "firstlight lab --folder DIR" in browser.get("/bench").text
    assert browser.get("/api/bench/files").json()["has_folder"] is False
    answer = browser.get("/api/bench/columns", params={"file": "x"})
    assert "--folder" in answer.json()["problems"]["file"]


@pytest.fixture
def fitted(bench):
    answer = post(bench, file=id_of(bench, "curve.csv"), target="y")
    assert answer.status_code == 200
    ((kind, payload),) = bench.desk.submitted
    line = Line()
    line.do(fit_table, payload)
    message, arrays = line.end
    assert (kind, message["state"]) == ("fit", "finished")
    notes = next(m["notes"] for m, _ in line.messages if m.get("event") == "notes")
    return unpack_fits(FitRecord, message["fits"], arrays), notes["fit"], line


def test_a_fit_is_compared_recorded_shown_and_exported(bench, places, fitted):
    records, id, line = fitted
    assert [record.params["method"] for record in records] == ["RFM", "kernel ridge", "gradient boosting"]
    assert [m["done"] for m, _ in line.messages if m.get("event") == "progress"][-1] > 0.5
    with Store(places.store, "rw") as store:
        for record in records:
            store.put_fit(record)
    part = bench.get(f"/api/bench/fits/{id}").text
    for words in ("RFM", "kernel ridge", "gradient boosting", "Which columns matter", "Top directions of M"):
        assert words in part
    assert "No feature learning helped" not in part
    scores = {record.params["method"]: record.scores["mean"] for record in records}
    assert scores["RFM"] > scores["kernel ridge"] + 0.1
    assert part.count('<details class="numbers">') >= 4
    assert "&lt;i&gt;x&lt;/i&gt;" in part
    assert "<i>x</i>" not in part
    (row,) = bench.get("/api/bench/records").json()["fits"]
    assert row["id"] == id
    assert "curve.csv" in row["words"]
    export = bench.get(f"/api/bench/fits/{id}/export")
    assert "attachment" in export.headers["content-disposition"]
    assert "complete in itself" in export.text
    assert "gradient boosting" in export.text


def test_a_stopped_fit_leaves_no_record(bench, folder):
    post(bench, file=id_of(bench, "own.csv"), target="label")
    line = Line(stop_after=2)
    line.do(fit_table, bench.desk.submitted[0][1])
    assert line.end[0]["state"] == "stopped"
    assert "fits" not in line.end[0]


def test_the_page_says_that_a_stopped_comparison_begins_again(bench):
    assert "A comparison has no checkpoint. If it is stopped, it begins again" in bench.get("/bench").text


def test_a_fit_whose_file_is_gone_fails_with_the_reason(bench, folder):
    post(bench, file=id_of(bench, "own.csv"), target="label")
    (folder / "own.csv").unlink()
    line = Line()
    line.do(fit_table, bench.desk.submitted[0][1])
    assert line.end[0]["state"] == "failed"
    assert "not in the folder any more" in line.end[0]["message"]


def probed():
    layers = tuple(
        ProbedLayer(name=f"{n}.weight", kind="Linear", inputs=4, outputs=8, alignments={"FACT": 0.5, "√AGOP": 0.9},
                    state="learning", evidence=f"evidence {n} <script>")
        for n in range(3)
    )  # fmt: skip
    course = LayerCourse(name="0.weight", kind="Linear", inputs=4, outputs=8, alignments={"FACT": [0.1, 0.5]},
                         states=("lazy", "learning"))  # fmt: skip
    drawn = figure.alignment(np.full((3, 2), 0.5), rows=[layer.name for layer in layers], columns=["FACT", "√AGOP"])
    steps = tuple(ProbedCheckpoint(name=f"c{n}", step=n, digest=str(n) * 64) for n in (1, 2))
    return ProbeRecord(
        name="my model", layers=layers, samples=64, figures=(drawn,), checkpoints=steps, courses=(course,)
    )


def test_a_probe_is_opened_layer_by_layer_and_exported(bench, places):
    record = probed()
    with Store(places.store, "rw") as store:
        store.put_probe(record)
        assert store.get_probe(record.id) == record
    part = bench.get(f"/api/bench/probes/{record.id}").text
    assert part.count('<details class="layer"') == 3
    assert "Checkpoints of 0.weight" in part
    assert "<script>" not in part
    assert bench.get("/api/bench/records").json()["probes"][0]["title"] == "my model"
    assert "complete in itself" in bench.get(f"/api/bench/probes/{record.id}/export").text
    for id in ("0" * 64, "..%2fstore"):
        assert bench.get(f"/api/bench/probes/{id}").status_code == 404
        assert bench.get(f"/api/bench/fits/{id}").status_code == 404


def test_a_saved_probe_file_becomes_a_record(bench, folder):
    torch = pytest.importorskip("torch")
    from firstlight import probes

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    with probes.FeatureProbe(model, torch.nn.MSELoss(), weight_decay=0.1) as probe:
        probe.step(torch.randn(16, 3), torch.randn(16, 1))
    probe.result().save(folder / "mine.safetensors")
    file = id_of(bench, "mine.safetensors")
    bench.post("/api/bench/probe", content=json.dumps({"file": file}), headers=HEADERS)
    line = Line()
    line.do(open_probe, bench.desk.submitted[0][1])
    message, arrays = line.end
    assert message["state"] == "finished"
    (record,) = unpack_fits(ProbeRecord, message["probes"], arrays)
    assert (record.name, len(record.layers)) == ("mine.safetensors", 2)


def test_another_safetensors_file_is_no_probe(folder):
    (folder / "weights.safetensors").write_bytes(b"\x00" * 20)
    line = Line()
    payload = {"path": str(folder / "weights.safetensors"), "root": str(folder), "name": "weights.safetensors"}
    line.do(open_probe, payload)
    assert line.end[0]["state"] == "failed"
    assert "no saved probe" in line.end[0]["message"]


def test_a_folder_that_cannot_be_read_is_empty(tmp_path):
    assert Folder(tmp_path / "nowhere").files() == []
    with pytest.raises(FormError, match="no file"):
        Folder(tmp_path).find("x", "table")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_odd_names_are_listed(tmp_path):
    (tmp_path / "<b>.csv").write_text("a\n")
    (tmp_path / "ü ; rm.csv").write_text("a\n")
    assert len(Folder(tmp_path).files()) == 2
