"""What a store keeps it gives back, once, whole, and under the same name."""

import contextlib
import csv
import errno
import json
import sqlite3
import threading

import numpy as np
import pytest
from safetensors.numpy import load_file

from firstlight.records import (
    ClaimRecord,
    FitRecord,
    GroupTask,
    ProbedLayer,
    ProbeRecord,
    RunRecord,
    RunSpec,
    Store,
    StoreError,
    Table,
    TheoryVerdict,
    load_spec,
)
from firstlight.records._store import _blobs, _schema
from firstlight.records.figure import Series, curves, heatmap, panels

TABLE = Table([0, 10, 20], {"loss": [1.0, 0.5, np.nan], "weights": np.arange(12.0).reshape(3, 2, 2)})
WEIGHTS = {"final": {"W": np.arange(6.0).reshape(2, 3).T, "V": np.float32([[1, 2]])}, "step-10": {"W": np.eye(2)}}


def run(seed=0, status="finished", **fields):
    fields = {"steps": 20, "table": TABLE, "summary": {"accuracy": 0.9}, **fields}
    return RunRecord(spec=RunSpec(name=f"run {seed}", seed=seed), status=status, **fields)


def claim(id="li2.theorem-2", scale="quick", **fields):
    words = {"paper": "li2", "title": "Maxima", "statement": "…", "status": "holds", "expected_verdict": "holds"}
    return ClaimRecord(id=id, scale=scale, **{**words, **fields})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "records" / "runs.sqlite"


@pytest.fixture
def store(path):
    with Store(path, "rw") as store:
        yield store


def test_a_run_is_kept_with_its_weights(store, path):
    record = store.put_run(run(), WEIGHTS)
    with Store(path) as reader:
        for key in (record.id, record.id[:6], record.spec):
            assert reader.get_run(key) == record
        assert record.table == TABLE
        np.testing.assert_array_equal(reader.weights(record.id)["W"], WEIGHTS["final"]["W"])
        assert reader.weights(record.id)["V"].dtype == np.float32
        np.testing.assert_array_equal(reader.weights(record.id, "step-10")["W"], np.eye(2))
        with pytest.raises(StoreError, match="has no weights under 'first'; its weights are: final, step-10"):
            reader.weights(record.id, "first")


def test_a_run_is_inserted_once_and_only_an_unfinished_one_gives_way(store):
    first = store.put_run(run(seconds=1.0))
    assert store.put_run(run(seconds=2.0)) == first
    assert store.put_run(run(seconds=3.0), replace=True).seconds == 3.0
    for status in ("failed", "diverged", "interrupted"):
        store.put_run(run(1, status, message="as it was"))
        assert store.run_status(run(1).spec) == status
    assert store.put_run(run(1)).status == "finished"
    assert [record.spec.seed for record in store.runs()] == [0, 1]
    assert store.run_ids("failed") == []


def test_a_run_is_kept_with_its_figures_and_verdicts(store, path, tmp_path):
    matrix = heatmap(np.array([[np.nan, 1.0]], dtype=np.float32), x="a", y="b", value="c")
    curve = curves([Series("loss", [0, 1], [1.0, 0.5])], x="step", y="loss")
    verdict = TheoryVerdict(theory="li2", agrees="no", sentence="The network generalised too early.")
    record = run(figures=(curve, matrix, panels([curve, matrix])), verdicts=(verdict,))
    assert store.put_run(record, WEIGHTS).figures == record.figures
    with Store(path) as reader:
        stored = reader.get_run(record.id)
        assert (stored.figures, stored.verdicts, stored.table) == (record.figures, record.verdicts, record.table)
        assert reader.integrity_check().ok
        folder = reader.export_run(record.id, tmp_path / "export")
    assert RunRecord.from_json((folder / "record.json").read_text(encoding="utf-8")) == stored
    store.delete_run(record.id)
    assert list(path.with_name("runs.sqlite.blobs").glob("??/*")) == []


def test_runs_are_found_by_the_beginning_of_their_ids(store):
    ids = [store.put_run(run(seed)).id for seed in range(40)]
    assert store.run_ids() == ids
    with pytest.raises(StoreError, match=r"several runs begin with .* give more digits"):
        store.get_run(ids[0][:1])
    for key in ("zz", "", "%", "f" * 70):
        with pytest.raises(StoreError, match="no run in this store has an id that begins with"):
            store.get_run(key)


def test_a_deleted_run_takes_its_files_with_it_unless_another_needs_them(store, path):
    a, b = store.put_run(run(0), WEIGHTS), store.put_run(run(1), {"final": WEIGHTS["final"]})
    assert store.delete_run(a.id[:10]) == a.id
    assert store.run_ids() == [b.id]
    assert len(list(path.parent.glob("*.blobs/??/*"))) == 1
    store.delete_run(b.spec)
    assert list(path.parent.glob("*.blobs/??/*")) == []
    assert store.integrity_check().ok


def test_weights_must_be_there_and_storable(store):
    with pytest.raises(
        StoreError, match="the weights 'final' of the record are missing in this store; pass the arrays"
    ):
        store.put_run(run(weights={"final": "ab" * 32}))
    with pytest.raises(ValueError, match="array 'W' has dtype complex128, which a store cannot hold"):
        store.put_run(run(), {"final": {"W": np.array([1j])}})
    with pytest.raises(ValueError, match="weights"):
        store.put_run(run(), {"../../escape": {"W": np.eye(2)}})
    assert store.runs() == []


def test_a_full_disk_leaves_the_store_as_it_was(store, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    record = store.put_run(run(0, "failed"))
    monkeypatch.setattr(_blobs, "write_atomically", full)
    with pytest.raises(StoreError, match=r"cannot write .*No space left on device.; the record was not written"):
        store.put_run(run(0), WEIGHTS)
    assert store.runs() == [record]


def test_a_store_open_for_reading_refuses_to_write(store, path):
    with Store(path) as reader, pytest.raises(StoreError, match="is open for reading; open it with mode='rw'"):
        reader.put_run(run())
    reader.close()
    with pytest.raises(StoreError, match="is closed; open it again"):
        reader.runs()


def test_an_exported_run_needs_no_firstlight(store, tmp_path):
    record = store.put_run(run(), WEIGHTS)
    folder = store.export_run(record.id, tmp_path / "out")
    assert RunRecord.from_json((folder / "record.json").read_text()) == record
    assert json.loads((folder / "record.json").read_text())["summary"] == {"accuracy": 0.9}
    assert load_spec(folder / "spec.toml") == record.spec
    with (folder / "table.csv").open() as file:
        assert list(csv.reader(file)) == [["step", "loss"], ["0", "1.0"], ["10", "0.5"], ["20", "nan"]]
    np.testing.assert_array_equal(load_file(folder / "table.safetensors")["weights"], TABLE["weights"])
    np.testing.assert_array_equal(load_file(folder / "weights/final.safetensors")["W"], WEIGHTS["final"]["W"])


def test_an_export_takes_the_place_of_an_earlier_one(store, tmp_path):
    folder = tmp_path / "out"
    store.export_run(store.put_run(run(), WEIGHTS).id, folder)
    (folder / "weights" / "mine.safetensors").write_bytes(b"")
    plain = RunRecord(spec=RunSpec(seed=77), status="finished", table=Table([0], {"loss": [1.0]}))
    store.export_run(store.put_run(plain, {"final": WEIGHTS["final"]}).id, folder)
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert files == [
        "record.json",
        "spec.toml",
        "table.csv",
        "weights/final.safetensors",
        "weights/mine.safetensors",
    ]


def test_claims_are_kept_and_the_latest_is_shown(store):
    old, new = claim(measured=1.0), claim(measured=2.0, status="fails")
    for record in (old, new, new, claim(scale="paper"), claim("agf.figure-5")):
        store.put_claim(record)
    assert store.get_claim("li2.theorem-2", "quick") == new
    assert store.get_claim("li2.theorem-2").scale == "paper"
    assert [record.measured for record in store.claims(latest=False)][:2] == [1.0, 2.0]
    frame = store.claims_frame()
    assert list(zip(frame["id"], frame["scale"], frame["as_expected"], strict=True)) == [
        ("li2.theorem-2", "quick", False),
        ("li2.theorem-2", "paper", True),
        ("agf.figure-5", "quick", True),
    ]
    with pytest.raises(StoreError, match=r"no outcome of claim 'x.y'; `firstlight reproduce x.y` makes one"):
        store.get_claim("x.y")


def test_probes_are_kept(store, path):
    layer = ProbedLayer(name="0.weight", kind="Linear", inputs=3, outputs=2, state="lazy", alignments={"FACT": np.nan})
    shown = curves([Series("loss", [0, 1], [1.0, 0.5])], x="step", y="loss")
    record = ProbeRecord(name="a model", layers=(layer,), untreated={"bias": "no matrix"}, samples=9, figures=(shown,))
    store.put_probe(record)
    store.put_probe(record)
    with Store(path) as reader:
        assert reader.probes() == [record]
        assert reader.probes()[0].figures == (shown,)
    again = record.model_copy(update={"created": "2026-01-01"})
    assert (again.id, again.digest == record.digest) == (record.id, False)


def test_figures_and_fits_are_kept(store, path):
    figure = curves([Series("loss", [0, 1], [1.0, np.nan])], x="step", y="loss")
    fit = FitRecord(estimator="RFMClassifier", params={"depth": 3}, data="0" * 64, scores={"accuracy": 0.9})
    digest = store.put_figure(figure)
    store.put_figure(figure)
    store.put_fit(fit)
    with Store(path) as reader:
        assert reader.get_figure(digest) == figure
        assert reader.fits() == [fit]
        with pytest.raises(StoreError, match="no figure with the digest 0000"):
            reader.get_figure("0" * 64)


def test_the_latest_fit_and_probe_are_read_by_their_ids(store):
    fits = [FitRecord(estimator="Ridge", data="0" * 64, scores={"mean": mean}) for mean in (0.1, 0.9)]
    probes = [ProbeRecord(name="model", samples=3, created=created) for created in ("2026-01-01", "2026-01-02")]
    assert fits[0].id == fits[1].id
    assert probes[0].id == probes[1].id
    for fit, probe in zip(fits, probes, strict=True):
        store.put_fit(fit)
        store.put_probe(probe)
    store.put_fit(FitRecord(estimator="other", data="0" * 64))
    assert store.get_fit(fits[0].id) == fits[1]
    assert store.get_probe(probes[0].id) == probes[1]
    with pytest.raises(StoreError, match="no fit '0000"):
        store.get_fit("0" * 64)
    with pytest.raises(StoreError, match="no probe '0000"):
        store.get_probe("0" * 64)


def test_the_frame_of_runs_is_tidy(store):
    assert list(store.runs_frame()["status"]) == list(store.claims_frame()["status"]) == []
    store.put_run(run(0))
    store.put_run(RunRecord(spec=RunSpec(task=GroupTask(group="S4")), status="failed", message="too hot"))
    frame = store.runs_frame().set_index("status")
    assert list(frame.loc["finished", ["task.group", "seed", "accuracy"]]) == ["Z71", 0, 0.9]
    assert list(frame.loc["failed", ["task.group", "message", "model.width"]]) == ["S4", "too hot", 2048]


def test_a_run_in_progress_is_seen_as_interrupted_with_the_rows_so_far(store, path):
    with Store(path) as reader, store.open_run(RunSpec()) as handle:
        handle.append(0, {"loss": 1.0, "v": np.zeros(2)})
        assert len(reader.get_run(handle.id).table) == 0
        handle.commit()
        handle.append(10, {"loss": 0.5, "v": np.ones(2)})
        seen = reader.get_run(handle.id)
        assert (seen.status, seen.table["loss"].tolist()) == ("interrupted", [1.0])
        record = handle.finish("finished", steps=12, summary={"best": 0.5}, weights=WEIGHTS)
        assert reader.get_run(handle.id) == record
    assert (record.steps, record.table["v"].tolist()) == (12, [[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(StoreError, match="is closed; open it again with open_run"):
        handle.append(20, {"loss": 0.1})
    with pytest.raises(StoreError, match="already finished; read it with get_run, or pass restart=True"):
        store.open_run(RunSpec())


def test_many_rows_are_committed_as_they_come(store, path):
    with store.open_run(RunSpec()) as handle, Store(path) as reader:
        for step in range(100):
            handle.append(step, {"loss": 1.0})
        assert 0 < len(reader.get_run(handle.id).table) < 100
    assert len(store.get_run(RunSpec()).table) == 100


def test_an_interrupted_run_shows_what_was_seen_until_it_is_begun_anew(store):
    with store.open_run(RunSpec()) as handle:
        handle.append(30, {"loss": 1.0})
        before = handle.finish("interrupted", message="Ctrl-C")
    assert (before.message, before.steps, len(before.table)) == ("Ctrl-C", 30, 1)
    with store.open_run(RunSpec()) as again:
        assert len(store.get_run(RunSpec()).table) == 0
        with pytest.raises(StoreError, match="is open in this process; finish it first"):
            store.open_run(RunSpec())
        again.append(0, {"loss": 2.0})
        assert again.finish().table["loss"].tolist() == [2.0]
    with pytest.raises(StoreError, match="is already finished"):
        store.open_run(RunSpec())
    assert store.open_run(RunSpec(), restart=True).is_open


def test_an_observable_keeps_its_shape_and_its_name(store):
    with store.open_run(RunSpec()) as handle:
        handle.append(0, {"v": np.zeros(2)})
        with pytest.raises(ValueError, match=r"observable 'v' had shape .2,.; got .3,."):
            handle.append(1, {"v": np.zeros(3)})
        with pytest.raises(ValueError, match="'step' is the index of a table"):
            handle.append(1, {"step": 1.0})


def test_closing_the_store_commits_what_open_runs_have_seen(path):
    with Store(path, "rw") as store:
        handle = store.open_run(RunSpec())
        handle.append(7, {"loss": 1.0})
    with Store(path) as reader:
        assert reader.get_run(handle.id).table.step.tolist() == [7]


def test_threads_take_turns(store):
    errors = []

    def work(seed):
        try:
            store.put_run(run(seed), WEIGHTS)
            store.runs()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(store.runs()) == 8


def test_garbage_is_what_no_record_needs(store, path):
    record = store.put_run(run(), WEIGHTS)
    stray = path.with_name("runs.sqlite.blobs") / "ab" / f"{'ab' * 32}.safetensors"
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"left by a killed writer")
    (stray.parent / ".half.partial").write_bytes(b"half")
    assert store.integrity_check().orphans == (stray.name,)
    assert set(store.collect_garbage()) == {stray.name, ".half.partial"}
    store.vacuum()
    assert store.get_run(record.id) == record
    assert store.weights(record.id).keys() == {"W", "V"}


def test_an_older_store_is_migrated_by_a_writer_and_a_newer_one_refused(path, monkeypatch):
    with Store(path, "rw") as store:
        record = store.put_run(run())
    with monkeypatch.context() as later:
        later.setattr(_schema, "SCHEMA_VERSION", 4)
        later.setattr(_schema, "OLDEST_READABLE", 4)
        later.setattr(
            _schema, "MIGRATIONS", {2: ("CREATE TABLE notes (text TEXT)",), 3: ("INSERT INTO notes VALUES ('hi')",)}
        )
        with pytest.raises(StoreError, match=r"has schema 2; this firstlight reads 4. Open it once with mode='rw'"):
            Store(path)
        with Store(path, "rw") as store:
            assert store.get_run(record.id) == record
        with contextlib.closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT * FROM notes").fetchall() == [("hi",)]
        with Store(path) as store:
            assert store.integrity_check().ok
    for mode in ("r", "rw"):
        with pytest.raises(StoreError, match=r"written by a newer firstlight \(schema 4; this one knows up to 2\)"):
            Store(path, mode)


def test_a_migration_that_fails_changes_nothing(path, monkeypatch):
    with Store(path, "rw") as store:
        record = store.put_run(run())
    with monkeypatch.context() as later:
        later.setattr(_schema, "SCHEMA_VERSION", 3)
        later.setattr(_schema, "MIGRATIONS", {2: ("CREATE TABLE notes (text TEXT)", "NONSENSE")})
        with pytest.raises(StoreError, match="syntax error"):
            Store(path, "rw")
    with Store(path) as store:
        assert store.get_run(record.id) == record
