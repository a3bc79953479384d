"""Whatever happens inside a check, a record says what."""

import dataclasses
import time

import pytest

from firstlight import claims, report
from firstlight._elapsed import credit
from firstlight.claims import Check, Claim, Measurement, Setting, at_most, equals, untested
from firstlight.claims import _needs as needs
from firstlight.claims import _verify as verifying
from firstlight.records import Store, figure


def shown() -> figure.FigureData:
    return figure.curves([figure.Series("a", [0, 1], [0.0, 1.0])], x="x", y="y")


def held(setting: Setting) -> Measurement:
    setting.progress(0.5, "half way")
    return Measurement({"error": 1e-9}, {"width": 64}, setting.seeds_or((0,)), (shown(),))


def broken(setting: Setting) -> Measurement:
    raise RuntimeError("the numbers ran out")


def judge(data):
    return [at_most("0 = 0", "error", data["error"], 1e-6, reason="rounding")]


def make(number: int, measure=held, judge=judge, **changes) -> Claim:
    return Claim(f"li2.lemma-{number}", "Zero", f"Lemma {number}", "0 = 0.", Check(measure, judge), **changes)


def test_a_record_says_what_was_checked_and_how_to_check_it_again():
    record, figures = claims.verify(make(1), Setting(seeds=(3,)))
    assert (record.id, record.paper, record.locator, record.status) == ("li2.lemma-1", "li2", "Lemma 1", "holds")
    (row,) = record.criteria
    assert (row.measured, row.required, row.reason, row.seeds) == (1e-9, "≤ 1e-06", "rounding", (3,))
    assert (record.setting, record.seeds, record.seconds > 0) == ({"width": 64}, (3,), True)
    assert record.command == "firstlight reproduce li2.lemma-1 --seed 3"
    assert record.figures == (figures[0].digest,)
    assert record.as_expected


def test_what_was_not_tested_is_listed_and_allows_at_most_partial():
    setting = {"width": 1024, "learning rate": None}
    record, _ = claims.verify(make(1, paper_setting=setting), Setting())
    assert (record.status, record.untested) == ("partial", ("width: 64; in the paper 1024",))
    record, _ = claims.verify(make(1, judge=lambda d: [*judge(d), untested("no other", "a search")]), Setting())
    assert (record.status, record.untested) == ("partial", ("no other: not tested: a search",))


def test_paper_cannot_be_said_of_less():
    small = make(1, paper_setting={"width": 1024})
    record, _ = claims.verify(small, Setting("paper"))
    assert record.raised
    assert "is not at the paper's scale: width: 64; in the paper 1024; call this scale reduced" in record.evidence
    reduced = make(1, paper_setting={"width": 1024}, scales=("quick", "reduced"), reduced_because="no data")
    assert claims.verify(reduced, Setting("reduced"))[0].status == "partial"
    assert claims.verify(make(1, paper_setting={"width": 64}), Setting("paper"))[0].status == "holds"


def test_a_judge_without_criteria_is_an_error():
    record, _ = claims.verify(make(1, judge=lambda data: []), Setting())
    assert record.raised
    assert "judge returned no criteria" in record.evidence


def test_an_exception_is_inconclusive_with_its_traceback_and_never_as_expected():
    record, _ = claims.verify(make(1, broken), Setting())
    assert record.status == "inconclusive"
    assert record.evidence.startswith("the check raised RuntimeError: the numbers ran out\nTraceback")
    assert "in broken" in record.evidence
    assert record.raised
    assert not record.as_expected
    assert not report.claim_view(record).as_expected


def test_a_correction_that_is_not_registered_is_an_error():
    def corrected(data):
        return [equals("1", "number", 2, 1, form="printed"), equals("2", "number", 2, 2, form="corrected")]

    record, _ = claims.verify(make(1, judge=corrected), Setting())
    assert record.raised
    assert "has criteria of a corrected statement, but none is registered" in record.evidence
    assert claims.verify(make(1, judge=corrected, corrected="2."), Setting())[0].status == "holds-as-corrected"


def test_missing_extras_and_data_are_inconclusive_with_the_way_to_get_them(monkeypatch, tmp_path):
    monkeypatch.setitem(needs.EXTRAS, "torch", "a_module_that_is_not_there")
    record, _ = claims.verify(make(1, broken, needs=("torch", "mnist")), Setting("paper", data=tmp_path))
    assert record.status == "inconclusive"
    assert "extra torch is missing: pip install 'firstlight[torch]'" in record.evidence
    assert f"there is no mnist/ in {tmp_path}" in record.evidence
    assert not record.raised
    (tmp_path / "mnist").mkdir()
    assert claims.missing(("mnist",), tmp_path) == ()
    with pytest.raises(ValueError, match=r"a need is an extra .* or a data set .*; got 'tensorflow'"):
        claims.missing(("tensorflow",), None)


def test_a_scale_that_is_not_offered_is_refused_or_left_out():
    small = make(1, scales=("quick",))
    with pytest.raises(ValueError, match="is checked at scale quick; got 'paper'"):
        claims.verify(small, Setting("paper"))
    assert [r.id for r in claims.reproduce([small, make(2)], "paper")] == ["li2.lemma-2"]


def test_reproduce_reports_its_progress():
    moments = []
    claims.reproduce([make(1), make(2, broken)], progress=moments.append)
    rows = [(m.index, m.count, m.fraction, m.note, m.record and m.record.status) for m in moments]
    assert rows == [
        (0, 2, 0.0, "", None),
        (0, 2, 0.5, "half way", None),
        (0, 2, 1.0, "", "holds"),
        (1, 2, 0.0, "", None),
        (1, 2, 1.0, "", "inconclusive"),
    ]


def test_verdicts_are_stored_as_they_come_and_kept_on_resume(tmp_path):
    calls = []

    def counted(setting: Setting) -> Measurement:
        calls.append(setting.scale)
        return held(setting)

    def interrupted(setting: Setting) -> Measurement:
        raise KeyboardInterrupt

    first, second = make(1, counted), make(2, interrupted)
    with Store(tmp_path / "s.sqlite", "rw") as store:
        with pytest.raises(KeyboardInterrupt):
            claims.reproduce([first, second], store=store)
        assert store.get_figure(store.get_claim("li2.lemma-1").figures[0]) == shown()
        second = dataclasses.replace(second, check=Check(counted, judge))
        records = claims.reproduce([first, second], store=store, resume=True)
        assert [record.status for record in records] == ["holds", "holds"]
        assert len(calls) == 2
        claims.reproduce([first], store=store)
        claims.reproduce([first], "paper", store=store, resume=True)
        claims.reproduce([first], seeds=(7,), store=store, resume=True)
        assert calls == ["quick", "quick", "quick", "paper", "quick"]


def test_resume_redoes_what_was_missing_and_what_was_asked_with_other_seeds(tmp_path):
    with Store(tmp_path / "s.sqlite", "rw") as store:
        (lacking,) = claims.reproduce([make(1, needs=("mnist",))], "paper", store=store)
        assert lacking.status == "inconclusive"
        (tmp_path / "mnist").mkdir()
        (now,) = claims.reproduce([make(1, needs=("mnist",))], "paper", data=tmp_path, store=store, resume=True)
        assert (now.status, now.seeds, now.requested_seeds) == ("holds", (0,), ())
        claims.reproduce([make(1)], seeds=(7,), store=store)
        (own,) = claims.reproduce([make(1)], "quick", store=store, resume=True)
        assert own.seeds == (0,), "the verdict of a run with --seed 7 was taken for the claim's own"
        (same,) = claims.reproduce([make(1, broken)], seeds=(), store=store, resume=True)
        assert same.digest == own.digest


def test_a_broken_check_and_another_source_are_checked_again_on_resume(tmp_path):
    with Store(tmp_path / "s.sqlite", "rw") as store:
        claims.reproduce([make(1, broken)], store=store)
        assert claims.reproduce([make(1)], store=store, resume=True)[0].status == "holds"
        old = store.get_claim("li2.lemma-1").model_copy(update={"check_digest": "0" * 64})
        store.put_claim(old)
        assert claims.reproduce([make(1, broken)], store=store, resume=True)[0].status == "inconclusive"


def test_the_seconds_of_an_interrupted_measurement_count(tmp_path):
    def measure(setting):
        time.sleep(0.05)
        if not (tmp_path / "attempts").exists():
            raise KeyboardInterrupt
        return Measurement({})

    claim = Claim("li2.lemma-0", "Zero", "Lemma 0", "0 = 0.", Check(measure, lambda data: [equals("0", "0", 0, 0)]))
    with pytest.raises(KeyboardInterrupt):
        claims.verify(claim, Setting("paper", work=tmp_path))
    record, _ = claims.verify(claim, Setting("paper", work=tmp_path))
    assert record.seconds >= 0.1


def test_a_measurement_from_saved_parts_has_the_seconds_of_the_first_one(tmp_path):
    def measure(setting):
        if not (tmp_path / "part").exists():
            time.sleep(0.2)
            (tmp_path / "part").touch()
        return Measurement({})

    claim = Claim("li2.lemma-0", "Zero", "Lemma 0", "0 = 0.", Check(measure, lambda data: [equals("0", "0", 0, 0)]))
    first, again = (claims.verify(claim, Setting("paper", work=tmp_path))[0] for _ in range(2))
    assert again.seconds == first.seconds >= 0.2


def test_a_measurement_counts_the_seconds_of_another_claims_parts(tmp_path):
    def measure(setting):
        credit(1800)
        return Measurement({})

    claim = Claim("li2.lemma-0", "Zero", "Lemma 0", "0 = 0.", Check(measure, lambda data: [equals("0", "0", 0, 0)]))
    record, _ = claims.verify(claim, Setting("paper", work=tmp_path))
    assert 1800 <= record.seconds < 1860
    credit(60)  # outside a measurement: ignored


def test_a_reduced_run_is_partial_whatever_the_paper_prints(tmp_path):
    claim = Claim(
        "li2.lemma-0", "Zero", "Lemma 0", "0 = 0.", Check(held, judge), scales=("reduced",), reduced_because="a day"
    )
    record, _ = claims.verify(claim, Setting("reduced", work=tmp_path))
    assert record.status == "partial"
    assert record.untested == ("the paper's scale: a day",)


def test_saved_parts_belong_to_one_source_of_the_check(tmp_path, monkeypatch):
    folders = []

    def measure(setting):
        folders.append(setting.work)
        return Measurement({"error": 0.0})

    claim = Claim("li2.lemma-0", "Zero", "Lemma 0", "0 = 0.", Check(measure, judge))
    for source in ("a", "b", "a"):
        monkeypatch.setattr(verifying, "check_digest", lambda claim, source=source: source * 64)
        with Store(tmp_path / "store.sqlite", "rw") as store:
            claims.reproduce([claim], store=store)
    assert folders[0] == folders[2] != folders[1]
    assert all(tmp_path in folder.parents for folder in folders)
