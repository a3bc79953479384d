"""A store written by version 0.1, before records kept figures and verdicts, still opens and means the same."""

import shutil
from pathlib import Path

import pytest

from firstlight import runs
from firstlight.cli import main
from firstlight.records import ProbeRecord, RunRecord, Store, check_store, repair_store, run_id

FIXTURES = Path(__file__).parent / "fixtures"
RUN = "5a3d96ab3beed9cb574633b697d9ee53cc8202185e5583ee9cd43957d54876ee"


@pytest.fixture
def path(tmp_path) -> Path:
    """A copy, since a reader of a store writes an index beside it."""
    shutil.copytree(FIXTURES, tmp_path, dirs_exist_ok=True)
    return tmp_path / "version-0.1.sqlite"


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_its_records_keep_their_identities(path, mode):
    with Store(path, mode) as store:
        (record,) = store.runs()
        digests = {claim.id: claim.digest[:12] for claim in store.claims()}
        assert store.weights(RUN, "step-0")["W"].shape == (10, 16)
        assert store.integrity_check().ok
        assert store.fits() == store.probes() == []
    assert record.id == run_id(record.spec) == RUN
    assert record.digest[:12] == "2990e8666f21"
    assert record.result_digest[:12] == "bfaf668b0459"
    assert (record.figures, record.verdicts) == ((), ())
    assert RunRecord.from_json(record.to_json()) == record
    assert digests == {"li2.theorem-2": "de3a1a6ff4e7", "cogo.lemma-3": "f977e6b77ef1"}
    assert check_store(path).ok


def test_a_completed_record_can_take_the_place_of_the_earlier_one(path):
    with Store(path, "rw") as store:
        (record,) = store.runs()
        completed = store.put_run(runs.complete(record), replace=True)
        assert completed.result_digest == record.result_digest
        assert len(completed.figures) > len(record.spec.lenses)
        assert store.weights(RUN, "final")["W"].shape == (10, 16)
    with Store(path) as store:
        assert store.get_run(RUN) == completed


def test_the_command_line_lists_shows_and_reports_it(path, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["runs", "list", "--store", str(path)]) == 0
    assert main(["runs", "show", RUN[:12], "--store", str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("a run of version 0.1") == 2
    assert "accuracy" in shown
    assert main(["report", str(page), "--store", str(path)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "Norms of the weights" in text
    assert text.count("<svg") > 8


# 60 probes fill several pages.
@pytest.mark.parametrize(("migrated", "probes"), [(False, 0), (True, 0), (True, 1), (True, 60)])
def test_a_damaged_one_is_saved(path, tmp_path, migrated, probes):
    with Store(path, "rw" if migrated else "r") as store:
        for number in range(probes):
            store.put_probe(ProbeRecord(name=f"model {number}", samples=3))
        expected = store.runs(), store.claims(), store.probes()
    path.write_bytes(bytes(4096) + path.read_bytes()[4096:])
    report = repair_store(path, tmp_path / "new.sqlite")
    assert dict(report.saved) == {"runs": 1, "claims": 2, "fits": 0, "figures": 1, "probes": probes}
    (lost,) = report.lost
    assert lost.startswith("whatever was in the damaged parts of the file: it does not begin like an SQLite file")
    with Store(tmp_path / "new.sqlite") as store:
        assert (store.runs(), store.claims(), store.probes()) == expected


def test_damaged_probes_of_a_migrated_one_are_named(path, tmp_path):
    with Store(path, "rw") as store:
        for number in range(60):
            store.put_probe(ProbeRecord(name=f"model {number}", samples=3))
    content = path.read_bytes()
    page = content.index(b"model 30") // 4096
    content = content[: page * 4096] + bytes(4096) + content[(page + 1) * 4096 :]
    path.write_bytes(bytes(4096) + content[4096:])
    report = repair_store(path, tmp_path / "new.sqlite")
    assert 40 < dict(report.saved)["probes"] < 60
    assert any(line.startswith("some of the table probes") for line in report.lost)
