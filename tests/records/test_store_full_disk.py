"""A disk that takes no more: clear words, nothing lost, no store that is damaged from the start."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from firstlight.records import RunSpec, Store, StoreError, check_store, repair_store
from firstlight.records._store import _creation, _repair, _runs, _schema

from .store_worker import spec, whole

ROOT = Path(__file__).parents[2]
WORDS = "no space left to write the store .*: the disk is full, or a quota or a limit .* Free some space and try again"


def outcomes(folder: Path, how: str, sizes: range | list[int]) -> list[dict]:
    command = [sys.executable, "-m", "tests.records.full_disk", str(folder), how, *map(str, sizes)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=1200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def require_clear_and_whole(outcome: dict) -> None:
    assert "no space left to write the store" in outcome["error"], outcome
    assert "Free some space and try again" in outcome["error"], outcome
    assert outcome["leftovers"] == [], outcome
    assert not outcome["created"] or " is sound: " in outcome["sound"], outcome
    assert outcome["lost"] == [], outcome
    assert (outcome["again"], outcome["ok"]) == ("finished", True), outcome


def test_a_store_that_meets_a_limit_is_whole_or_absent_and_goes_on_later(tmp_path):
    sizes = [0, 100, 4096, 20000, 33000, 72000, 90000, 150000, 250000]
    results = outcomes(tmp_path, "limit", sizes)
    assert [outcome["size"] for outcome in results] == sizes
    for outcome in results:
        require_clear_and_whole(outcome)
    # Both kinds were met: no room to create the store, and no room to go on.
    assert {outcome["created"] for outcome in results} == {False, True}


@pytest.mark.soak
def test_a_store_on_a_full_disk_is_whole_or_absent_and_goes_on_later(tmp_path):
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", tmp_path], capture_output=True, text=True)
    if mount.returncode:
        pytest.skip(f"needs the right to mount a small disk: {mount.stderr.strip()}")
    try:
        for outcome in outcomes(tmp_path, "fill", range(0, 400 * 1024, 4096)):
            require_clear_and_whole(outcome)
    finally:
        subprocess.run(["umount", tmp_path], check=True)


PAGES = 19


@pytest.mark.parametrize("left", [0, 100, *(4096 * pages for pages in (1, 2, 5, 11, 15, 16))])
def test_a_new_store_that_is_cut_short_never_gets_its_name(tmp_path, monkeypatch, left):
    """A full disk cuts the file when the log is folded into it, which SQLite does without a word."""
    path = tmp_path / "runs.sqlite"
    lay_out = _creation._lay_out

    def cut_short(new: Path) -> None:
        lay_out(new)
        assert new.stat().st_size == PAGES * _schema.PAGE_SIZE
        os.truncate(new, left)

    with monkeypatch.context() as patch:
        patch.setattr(_creation, "_lay_out", cut_short)
        with pytest.raises(StoreError, match=WORDS):
            Store(path, "rw")
    assert [file.name for file in tmp_path.iterdir()] == ["runs.sqlite.lock"]
    with Store(path, "rw") as store:
        store.put_run(*whole(1))
    assert check_store(path).ok


def test_a_new_store_whose_log_is_left_or_whose_tables_lack_never_gets_its_name(tmp_path, monkeypatch):
    path = tmp_path / "runs.sqlite"
    lay_out = _creation._lay_out

    def with_log(new: Path) -> None:
        lay_out(new)
        new.with_name(f"{new.name}-wal").write_bytes(b"frames")

    monkeypatch.setattr(_creation, "_lay_out", with_log)
    with pytest.raises(StoreError, match=WORDS):
        Store(path, "rw")
    monkeypatch.setattr(_creation, "_lay_out", lay_out)
    monkeypatch.setattr(_schema, "_set_version", lambda *_: None)
    with pytest.raises(StoreError, match="the new file lacks its tables"):
        Store(path, "rw")
    assert [file.name for file in tmp_path.iterdir()] == ["runs.sqlite.lock"]


def test_a_run_that_begins_with_rows_replaces_the_old_ones_or_leaves_them(tmp_path, monkeypatch):
    rows = [(step, {"loss": 1.0 / (step + 1)}) for step in range(150)]
    with Store(tmp_path / "runs.sqlite", "rw") as store:
        with store.open_run(RunSpec(), rows=rows[:100]) as run:
            assert len(store.get_run(run.id).table) == 100
        append, calls = _runs.append, []

        def full(*arguments) -> None:
            calls.append(arguments)
            if len(calls) == 2:
                raise StoreError("no space left")
            append(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(_runs, "append", full)
            with pytest.raises(StoreError, match="no space left"):
                store.open_run(RunSpec(), restart=True, rows=rows)
        assert len(store.get_run(run.id).table) == 100
        with store.open_run(RunSpec(), restart=True, rows=rows) as run:
            assert store.get_run(run.id).steps == 149


def test_closing_commits_every_run_that_can_be_committed(tmp_path, monkeypatch):
    path = tmp_path / "runs.sqlite"
    store = Store(path, "rw")
    runs = [store.open_run(spec(seed)) for seed in range(3)]
    for run in runs:
        run.append(0, {"loss": 1.0})
    append = _runs.append

    def full(connection, id, rows) -> None:
        if id == runs[1].id:
            raise StoreError("no space left")
        append(connection, id, rows)

    monkeypatch.setattr(_runs, "append", full)
    with pytest.raises(StoreError, match="no space left"):
        store.close()
    with Store(path, "rw") as again:
        assert [len(again.get_run(run.id).table) for run in runs] == [1, 0, 1]


def test_a_repair_that_finds_no_space_can_be_repeated(tmp_path, monkeypatch):
    path, new = tmp_path / "runs.sqlite", tmp_path / "new.sqlite"
    with Store(path, "rw") as store:
        store.put_run(*whole(1))

    def full(*_) -> None:
        raise StoreError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(_repair, "_insert", full)
        with pytest.raises(StoreError, match="no space left"):
            repair_store(path, new)
    assert repair_store(path, new).lines()[-1] == "nothing was lost"
