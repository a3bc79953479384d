"""The staircase room without a browser: cases, pasted data, predictions in a thread, records."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from firstlight.lab._cases import CONTROLS, KINDS, default_case, parse_case, whole_form
from firstlight.lab._climb import climb_of
from firstlight.lab._form import FormError
from firstlight.lab._outcomes import pack_fits, unpack_fits
from firstlight.lab._pasted import keep_pasted, read_pasted
from firstlight.lab._steps import Predictions, run_staircase, staircase
from firstlight.records import STAIRCASE, FitRecord, Store
from firstlight.report import staircase_view
from firstlight.theories import agf
from tests.lab.conftest import HEADERS
from tests.lab.line import Line


@pytest.mark.parametrize("case", list(KINDS))
def test_the_defaults_of_every_case_are_valid(case):
    parsed = parse_case(default_case(case), None)
    assert parsed["case"] == case
    assert set(default_case(case)) <= {"case", *(control.name for control in CONTROLS)}


@pytest.mark.parametrize(
    ("form", "control", "words"),
    [
        ({"case": "cubic"}, "case", "choose one of"),
        ({"case": "diagonal", "alpha": "0"}, "alpha", "between 1e-100 and 0.5"),
        ({"case": "diagonal", "alpha": "nan"}, "alpha", "between"),
        ({"case": "diagonal", "alpha": "tiny"}, "alpha", "must be a number"),
        ({"case": "diagonal", "values": ""}, "values", "from 1 to 12"),
        ({"case": "diagonal", "values": "0, 0"}, "values", "nothing to learn"),
        ({"case": "diagonal", "values": "1, inf"}, "values", "finite"),
        ({"case": "diagonal", "samples": "1e9"}, "samples", "whole number"),
        ({"case": "attention", "values": "-1"}, "values", "above 0"),
        ({"case": "modular", "template": "0, 0, 0, 0, 0"}, "template", "flat"),
        ({"case": "modular", "template": "1, 2"}, "template", "from 5 to 24"),
        ({"case": "modular", "width": "1000"}, "width", "between 1 and 40"),
        ({"case": "network", "dataset": "mnist"}, "dataset", "choose one of"),
        ({"case": "network", "activation": "<b>"}, "activation", "choose one of"),
        ({"case": "linear", "data": "../../etc/passwd"}, "data", "paste them again"),
        ({"case": "linear", "data": "0" * 24 + ".csv"}, "data", "paste them again"),
    ],
)
def test_a_wrong_control_is_named(tmp_path, form, control, words):
    with pytest.raises(FormError) as caught:
        parse_case(form, tmp_path)
    assert words in caught.value.problems[control]


def test_controls_of_other_cases_do_not_change_the_record():
    assert whole_form({"case": "linear", "context": "3"}) == whole_form({"case": "linear"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "at least two lines"),
        (None, "at least two lines"),
        ("1 2\n3 abc", "line 2 has 'abc'"),
        ("1 2\n3", "line 2 has 1"),
        ("1 2\n3 nan", "no finite number"),
        ("1\n2", "from 2 to 50"),
        ("1 2\n" * 2001, "at most 2000"),
    ],
)
def test_pasted_text_that_is_no_data_is_refused_with_its_line(browser, text, words):
    answer = browser.post("/api/staircase/data", content=json.dumps({"text": text}), headers=HEADERS)
    assert answer.status_code == 422
    assert words in answer.json()["problems"]["data"]


def test_pasted_data_come_back_bit_for_bit(tmp_path):
    numbers = np.random.default_rng(0).standard_normal((7, 3))
    stored = keep_pasted(tmp_path, "\n".join("\t".join(map(repr, row)) for row in numbers.tolist()))
    assert (read_pasted(tmp_path, stored["data"]) == numbers).all()
    with pytest.raises(ValueError, match="paste them again"):
        read_pasted(tmp_path, f"../{tmp_path.name}/{stored['data']}")


def test_the_prediction_is_that_of_the_theory(tmp_path):
    stored = keep_pasted(tmp_path, "\n".join(f"{a} {b} {2 * a - b}" for a in (-1, 0, 2) for b in (1, 3, -2)))
    case = climb_of({"case": "diagonal", "alpha": "1e-5", "data": stored["data"]}, tmp_path)
    data = read_pasted(tmp_path, stored["data"])
    expected = agf.predict_diagonal(data[:, :2], data[:, 2], 1e-5)
    assert case.steps.jump_times.tolist() == expected.jump_times.tolist()
    assert case.eta == expected.eta


@pytest.mark.parametrize(
    "form",
    [
        {"case": "diagonal", "values": "2, -1", "samples": "12"},
        {"case": "linear", "values": "2, 1", "width": "3"},
        {"case": "attention", "values": "1, 0.5", "width": "2", "alpha": "0.05"},
    ],
    ids=lambda form: form["case"],
)
def test_a_flow_is_streamed_and_recorded(form):
    line = Line()
    line.do(run_staircase, {"form": form, "data": ""})
    message, arrays = line.end
    assert message["state"] == "finished"
    (record,) = unpack_fits(FitRecord, message["fits"], arrays)
    assert record.estimator == STAIRCASE
    assert record.id == climb_of(form, None).id
    assert len(record.scores["predicted_time"]) == len(record.scores["measured_time"]) == 2
    assert 0 <= record.scores["distance"] < 0.2
    curves = [m["notes"]["curve"] for m, _ in line.messages if m.get("event") == "notes"]
    assert len(curves) >= 2
    assert curves[-1] is None
    assert len(curves[0]["time"]) == len(curves[0]["loss"]) == len(curves[0]["predicted"])


def test_smaller_weights_follow_the_staircase_more_closely():
    distances = []
    for alpha in ("0.1", "1e-3", "1e-9"):
        case = climb_of({"case": "linear", "values": "3, 1", "alpha": alpha}, None)
        run = case.flow(case.times, lambda t, loss: None)
        distances.append(case.record(run, 0.0).scores["distance"])
    assert distances == sorted(distances, reverse=True)


def test_a_stopped_flow_leaves_no_record():
    line = Line(stop_after=30)
    line.do(run_staircase, {"form": {"case": "linear"}, "data": ""})
    assert line.end[0]["state"] == "stopped"
    assert "fits" not in line.end[0]


def test_a_failing_flow_says_why():
    line = Line()
    line.do(run_staircase, {"form": {"case": "linear", "alpha": "9"}, "data": ""})
    assert line.end[0]["state"] == "failed"
    assert "between" in line.end[0]["message"]


def test_a_long_prediction_is_computed_while_the_page_asks_again(monkeypatch):
    from firstlight.lab import _steps

    form = {"case": "linear", "alpha": "0.01"}

    def slow(form, folder):
        time.sleep(0.3)
        return climb_of(form, folder)

    monkeypatch.setattr(_steps, "climb_of", slow)
    predictions = Predictions()
    assert predictions.get(form, "", seconds=0.0) is None
    end = time.monotonic() + 60
    while (answer := predictions.get(form, "", seconds=0.05)) is None:
        assert time.monotonic() < end
    assert answer.form["alpha"] == "0.01"


def test_a_prediction_that_takes_too_long_is_given_up(monkeypatch):
    from firstlight.lab import _climb

    monkeypatch.setattr(_climb, "PREDICT_SECONDS", -1.0)
    with pytest.raises(FormError, match="more than"):
        climb_of({"case": "attention"}, None)


def test_problems_are_answered_by_their_controls():
    answer = staircase({"form": {"case": "linear", "alpha": "9"}, "data": ""})
    assert list(answer["problems"]) == ["alpha"]


@pytest.fixture
def record(places, browser):
    case = climb_of({"case": "linear", "values": "2, 1"}, None)
    made = case.record(case.flow(case.times, lambda t, loss: None), 0.5)
    with Store(places.store, "rw") as store:
        store.put_fit(made)
        store.put_fit(FitRecord(estimator="Ridge", data="1" * 64))
    return made


def test_a_record_is_listed_opened_and_exported(browser, record):
    (row,) = browser.get("/api/staircases").json()["staircases"]
    assert row["id"] == record.id
    assert "case=linear" in row["address"]
    page = browser.get(row["address"]).text
    assert 'value="2, 1"' in page
    answer = browser.get(f"/api/staircase/{record.id}/result").json()
    assert answer["html"].count("<tr>") == 3
    levels = np.array(answer["curve"]["predicted"])
    assert set(levels.round(6)) == set(np.round([2.5, 0.5, *[0.0]], 6))
    export = browser.get(f"/api/staircase/{record.id}/export")
    assert "attachment" in export.headers["content-disposition"]
    assert "complete in itself" in export.text
    assert "<svg" in export.text
    facts = dict(staircase_view(record).facts)
    assert facts["case"] == "linear"
    assert "data" not in facts  # none were pasted
    pasted = record.model_copy(update={"params": {**record.params, "data": "5" * 64}})
    assert dict(staircase_view(pasted).facts)["data"] == "5" * 64


def test_other_records_are_no_staircases(browser, record):
    other = FitRecord(estimator="Ridge", data="1" * 64).id
    for id in (other, "0" * 64, "..%2f..%2fstore"):
        assert browser.get(f"/api/staircase/{id}/result").status_code == 404
        assert browser.get(f"/api/staircase/{id}/export").status_code == 404


def test_markup_in_the_address_is_text(browser):
    page = browser.get("/staircase", params={"case": "<script>", "values": '"><img src=x>', "alpha": "<b>"}).text
    assert "<img" not in page
    assert "<script>" not in page


def test_records_of_fits_survive_a_message(record):
    assert unpack_fits(FitRecord, *pack_fits([record, record])) == [record, record]


def test_the_rooms_import_neither_jax_nor_torch():
    code = "import sys, firstlight.lab._app; assert not {'jax', 'torch', 'pandas'} & set(sys.modules), 'too much'"
    subprocess.run([sys.executable, "-c", code], check=True)
