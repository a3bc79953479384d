"""A damaged store says so, never lies, and gives back what is left."""

import random
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from firstlight.records import (
    ClaimRecord,
    FitRecord,
    ProbeRecord,
    RunRecord,
    RunSpec,
    Store,
    StoreError,
    Table,
    check_store,
    repair_store,
)
from firstlight.records.figure import Series, curves

RUNS, CLAIMS = 16, 9
WAY_OUT = r"firstlight store repair .*runs.sqlite NEW.sqlite"
FIGURE = curves([Series("loss", [0, 1], [1.0, 0.5])], x="step", y="loss")


def build(path: Path, runs: int, claims: int) -> Path:
    """A store with every kind of record."""
    rng = np.random.default_rng(0)
    with Store(path, "rw") as store:
        for seed in range(runs):
            table = Table(np.arange(60), {"loss": rng.random(60), "accuracy": rng.random(60)})
            figures = (FIGURE, FIGURE) if seed % 2 else ()
            record = RunRecord(spec=RunSpec(seed=seed), status="finished", steps=60, table=table, figures=figures)
            store.put_run(record, {"final": {"W": rng.random((3, 3))}} if seed % 5 == 0 else None)
        words = {"paper": "li2", "title": "", "scale": "quick", "statement": "x" * 300}
        for number in range(claims):
            verdicts = {"status": "holds", "expected_verdict": "holds"}
            store.put_claim(ClaimRecord(id=f"li2.lemma-{number}", **words, **verdicts))
        store.put_figure(FIGURE)
        store.put_fit(FitRecord(estimator="RFMRegressor", data="0" * 64, figures=(FIGURE,)))
        store.put_probe(ProbeRecord(name="model", samples=3, figures=(FIGURE,)))
        with store.open_run(RunSpec(seed=999)) as run:
            for step in range(50):
                run.append(step, {"loss": 1 / (step + 1), "v": np.arange(3.0)})
    return path


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("sound") / "runs.sqlite", RUNS, CLAIMS)


@pytest.fixture
def path(sound, tmp_path) -> Path:
    """A copy to be damaged."""
    shutil.copytree(sound.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / "runs.sqlite"


def everything(path: Path) -> tuple:
    with Store(path) as store:
        runs = store.runs()
        weights = [store.weights(record.id)["W"].tolist() for record in runs if record.weights]
        return runs, weights, store.claims(), store.fits(), store.probes(), store.get_figure(FIGURE.digest)


def test_a_sound_store_is_found_sound_while_it_is_read(path):
    report = check_store(path)
    assert report.ok
    assert report.lines() == [f"{path} is sound: {RUNS + 1} runs, {CLAIMS} claims, 1 fits, 1 figures, 1 probes."]


@pytest.mark.parametrize("length", [0, 1, 99, 100, 4095, 4096, 0.85, -4096, -1])
def test_a_truncated_store_says_so_and_keeps_what_is_left(path, tmp_path, length):
    content = path.read_bytes()
    path.write_bytes(content[: int(length * len(content)) if isinstance(length, float) else length])
    for mode in ("r", "rw"):
        with pytest.raises(StoreError, match=rf"(?s)is damaged: .*It was left as it is\..*{WAY_OUT}"):
            Store(path, mode)
    before = path.read_bytes()
    report = check_store(path)
    assert not report.ok
    assert report.lines()[0] == f"{path} is damaged."
    assert "store check" not in "\n".join(report.lines())
    if len(before) > 20_000:
        repaired = repair_store(path, tmp_path / "new.sqlite")
        assert "lost: whatever was in the damaged parts of the file" in "\n".join(repaired.lines())
        assert dict(repaired.saved)["runs"] > RUNS // 4
        assert check_store(tmp_path / "new.sqlite").ok
    else:
        with pytest.raises(StoreError, match=r"nothing in .* is readable. 5 files of arrays are still in"):
            repair_store(path, tmp_path / "new.sqlite")
        assert not (tmp_path / "new.sqlite").exists()
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["garbage", "text", "foreign"])
def test_what_is_not_a_store_is_refused(path, kind, tmp_path):
    path.unlink()
    if kind == "garbage":
        path.write_bytes(random.Random(0).randbytes(50_000))
    elif kind == "text":
        path.write_text("steps = 3\n" * 1000)
    elif kind == "foreign":
        connection = sqlite3.connect(path)
        connection.executescript("CREATE TABLE runs (id TEXT); INSERT INTO runs VALUES ('a');")
        connection.close()
    for mode in ("r", "rw"):
        with pytest.raises(StoreError, match=rf"is damaged: .*{WAY_OUT}"):
            Store(path, mode)
    assert not check_store(path).ok
    with pytest.raises(StoreError, match=r"nothing in .* is readable"):
        repair_store(path, tmp_path / "new.sqlite")


def test_a_folder_is_not_a_damaged_store(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    new = tmp_path / "new.sqlite"
    for use in (Store, lambda f: Store(f, "rw"), check_store, lambda f: repair_store(f, new)):
        with pytest.raises(StoreError, match=r"runs is a folder; name the file of the store, such as .*runs\.sqlite"):
            use(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_a_flipped_byte_anywhere_in_the_header_is_harmless_or_found_and_can_be_mended(tmp_path):
    path = build(tmp_path / "runs.sqlite", runs=2, claims=1)
    expected, content, detected = everything(path), path.read_bytes(), []
    for position in range(100):
        path.write_bytes(content[:position] + bytes([content[position] ^ 0x41]) + content[position + 1 :])
        try:
            assert everything(path) == expected
        except StoreError as error:
            detected.append((position, str(error)))
    assert {0, 16, 17, 28, 60, 68} <= {position for position, _ in detected}
    assert all("firstlight store repair" in message for _, message in detected)
    for position, _ in detected[::7]:
        path.write_bytes(content[:position] + bytes([content[position] ^ 0x41]) + content[position + 1 :])
        repair_store(path, tmp_path / f"{position}.sqlite")
        assert everything(tmp_path / f"{position}.sqlite") == expected


def test_a_store_without_its_first_page_is_saved_whole_even_after_a_vacuum(path, tmp_path):
    with Store(path, "rw") as store:
        for id in store.run_ids()[1:8:2]:
            store.delete_run(id)
        store.vacuum()
    expected = everything(path)
    path.write_bytes(bytes(4096) + path.read_bytes()[4096:])
    repair_store(path, tmp_path / "new.sqlite")
    assert everything(tmp_path / "new.sqlite") == expected


def damage(content: bytes, rng: random.Random) -> bytes:
    """Flip a bit, scramble the head of a page, blank a page, or overwrite a stretch."""
    page = rng.randrange(1, len(content) // 4096) * 4096
    place = rng.randrange(4096, len(content) - 64)
    kind = rng.randrange(4)
    if kind == 0:
        return content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]
    if kind == 1:
        return content[: page + 3] + rng.randbytes(5) + content[page + 8 :]
    if kind == 2:
        return content[:page] + bytes(4096) + content[page + 4096 :]
    return content[:place] + rng.randbytes(64) + content[place + 64 :]


def never_lies(path: Path, sound: Path, tmp_path: Path, trials: int, seed: int) -> None:
    expected, content, rng = everything(sound), sound.read_bytes(), random.Random(seed)
    ids = {record.id for record in expected[0]}
    detected, saved = 0, []
    for trial in range(trials):
        path.write_bytes(damage(content, rng))
        try:
            assert everything(path) == expected, f"trial {trial}: silent loss"
        except StoreError:
            detected += 1
            assert not check_store(path).ok
            if trial % 4 == 0:
                report = repair_store(path, tmp_path / f"{trial}.sqlite")
                with Store(tmp_path / f"{trial}.sqlite") as store:
                    assert set(store.run_ids()) <= ids
                    assert store.integrity_check().ok
                saved.append(sum(count for _, count in report.saved))
                assert report.lost or saved[-1] == RUNS + CLAIMS + 4
    assert detected > trials // 4
    assert sorted(saved)[len(saved) // 2] >= RUNS  # one damaged page rarely takes more than a few records


def test_damage_inside_is_found_and_the_rest_saved(path, sound, tmp_path):
    never_lies(path, sound, tmp_path, trials=40, seed=0)


@pytest.mark.soak
def test_much_damage_inside_is_found(path, sound, tmp_path):
    never_lies(path, sound, tmp_path, trials=600, seed=1)


def test_lost_and_damaged_files_are_named_and_the_rest_is_kept(path, tmp_path):
    with Store(path) as store:
        first, second = [record for record in store.runs() if record.weights][:2]
    blobs = path.with_name("runs.sqlite.blobs")
    lost = blobs / first.weights["final"][:2] / f"{first.weights['final']}.safetensors"
    hurt = blobs / second.weights["final"][:2] / f"{second.weights['final']}.safetensors"
    lost.unlink()
    hurt.write_bytes(hurt.read_bytes()[:-1] + b"\0")
    with Store(path, "rw") as store:
        with pytest.raises(StoreError, match=rf"{lost.name} is missing; what it held cannot be read"):
            store.weights(first.id)
        with pytest.raises(StoreError, match=rf"{hurt.name} is damaged"):
            store.weights(second.id)
        report = store.integrity_check()
    assert (report.missing, report.corrupt) == ((lost.name,), (hurt.name,))
    repaired = repair_store(path, tmp_path / "new.sqlite")
    assert dict(repaired.saved)["runs"] == RUNS + 1
    assert len(repaired.lost) == 2
    with Store(tmp_path / "new.sqlite", "rw") as store:
        assert store.get_run(first.id).weights == {}
        assert store.get_run(first.id).table == first.table
        assert len(store.get_run(RunSpec(seed=999)).table) == 50


def test_a_store_whose_log_is_left_is_read_with_it_and_a_log_alone_is_not_a_new_store(path, tmp_path):
    store = Store(path, "rw")
    record = store.put_run(RunRecord(spec=RunSpec(seed=77), status="finished"))
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", tmp_path / f"copy.sqlite{suffix}")
    store.close()
    with Store(tmp_path / "copy.sqlite") as copy:
        assert copy.get_run(record.id) == record
    repair_store(tmp_path / "copy.sqlite", tmp_path / "new.sqlite")
    with Store(tmp_path / "new.sqlite") as new:
        assert new.get_run(record.id) == record
    (tmp_path / "copy.sqlite").unlink()
    with pytest.raises(StoreError, match=r"the file is gone, but copy.sqlite-wal is there"):
        Store(tmp_path / "copy.sqlite", "rw")


def test_names_in_a_forged_store_lead_nowhere(path, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    with Store(path) as store:
        id = store.run_ids()[0]
    connection = sqlite3.connect(path)
    connection.execute("UPDATE links SET blob = '../../victim' WHERE owner = ?", (f"run:{id}",))
    connection.commit()
    connection.close()
    with Store(path, "rw") as store:
        for care in (store.collect_garbage, lambda: store.delete_run(id)):
            with pytest.raises(StoreError, match="is not the name of a file of arrays"):
                care()
    assert victim.read_text() == "mine"


def test_repair_does_not_overwrite_and_needs_a_source(path, tmp_path):
    with pytest.raises(StoreError, match="exists already; name a file that does not"):
        repair_store(path, path)
    with pytest.raises(StoreError, match="there is no store at"):
        repair_store(tmp_path / "none.sqlite", tmp_path / "new.sqlite")
    with pytest.raises(StoreError, match="there is no store at"):
        check_store(tmp_path / "none.sqlite")
    with Store(path, "rw"), pytest.raises(StoreError, match="is being written by process"):
        repair_store(path, tmp_path / "new.sqlite")
    assert repair_store(path, tmp_path / "new.sqlite").lines()[-1] == "nothing was lost"
