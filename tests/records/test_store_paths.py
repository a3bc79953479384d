"""One file is one store, whatever it is called; what cannot be a store is refused and nothing is left beside it."""

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from firstlight.records import Store, StoreError, check_store, repair_store
from firstlight.records._store import _creation

from .store_worker import spec, whole


@pytest.fixture
def path(tmp_path) -> Path:
    """A sound store with one run."""
    path = tmp_path / "real" / "runs.sqlite"
    with Store(path, "rw") as store:
        store.put_run(*whole(1))
    return path


def another_name(kind: str, path: Path, folder: Path, monkeypatch) -> str | Path:
    match kind:
        case "symlink":
            (folder / "link.sqlite").symlink_to(path)
            return folder / "link.sqlite"
        case "symlink of a symlink":
            (folder / "link.sqlite").symlink_to("real/runs.sqlite")
            (folder / "second.sqlite").symlink_to("link.sqlite")
            return folder / "second.sqlite"
        case "symlinked folder":
            (folder / "door").symlink_to(path.parent, target_is_directory=True)
            return folder / "door" / path.name
        case "relative":
            monkeypatch.chdir(path.parent)
            return path.name
        case _:
            return f"{path.parent}/../real/./{path.name}"


def attempts(new: Path):
    """All that can be done with a store, `new` being the store that a repair writes."""
    return Store, lambda path: Store(path, "rw"), check_store, lambda path: repair_store(path, new)


NAMES = ("symlink", "symlink of a symlink", "symlinked folder", "relative", "dots")


@pytest.mark.parametrize("kind", NAMES)
def test_two_names_of_a_file_have_one_writer_and_one_folder_of_arrays(path, tmp_path, monkeypatch, kind):
    name = another_name(kind, path, tmp_path, monkeypatch)
    for first, second in ((path, name), (name, path)):
        with Store(first, "rw") as store:
            with pytest.raises(StoreError, match=rf"is being written by process {os.getpid()} .this one."):
                Store(second, "rw")
            record = store.put_run(*whole(2 if first is path else 3))
            with Store(second) as reader:
                assert reader.weights(record.id)["state"].tolist() == store.weights(record.id)["state"].tolist()
    assert check_store(path).ok
    assert check_store(name).ok
    assert [*tmp_path.rglob("*.blobs"), *tmp_path.rglob("*.lock")] == [
        path.with_name("runs.sqlite.blobs"),
        path.with_name("runs.sqlite.lock"),
    ]


def test_a_store_keeps_its_place_when_the_process_changes_its_folder(path, tmp_path, monkeypatch):
    monkeypatch.chdir(path.parent)
    with Store("runs.sqlite", "rw") as store:
        monkeypatch.chdir(tmp_path)
        store.put_run(*whole(2))
        assert store.path == path
    assert check_store(path).ok
    assert not (tmp_path / "runs.sqlite.blobs").exists()


def test_a_hard_linked_store_is_refused_until_it_has_one_name(path, tmp_path):
    second = tmp_path / "second.sqlite"
    second.hardlink_to(path)
    before = sorted(tmp_path.rglob("*"))
    for name in (path, second):
        for attempt in attempts(tmp_path / "new.sqlite"):
            with pytest.raises(StoreError, match=r"has 2 names \(hard links\).*Delete the other names"):
                attempt(name)
    assert sorted(tmp_path.rglob("*")) == before
    second.unlink()
    with Store(path, "rw") as store:
        assert store.run_status(spec(1)) == "finished"


def test_a_writer_stops_when_its_file_or_its_lock_is_taken_away(path, tmp_path):
    with Store(path, "rw") as store:
        path.rename(tmp_path / "moved.sqlite")
        with pytest.raises(StoreError, match="was moved, replaced or deleted while it was open"):
            store.put_run(*whole(2))
        (tmp_path / "moved.sqlite").rename(path)
        store.put_run(*whole(2))
        path.with_name("runs.sqlite.lock").unlink()
        with Store(path, "rw") as second:
            with pytest.raises(StoreError, match=r"lock .* was deleted or moved .* another process may write it"):
                store.put_run(*whole(3))
            second.put_run(*whole(4))
    assert check_store(path).ok
    with Store(path) as store:
        assert {record.spec.seed for record in store.runs()} == {1, 2, 4}


def fifo(place: Path) -> Path:
    os.mkfifo(place)
    return place


def a_socket(place: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(place))
    return place


def dangling(place: Path) -> Path:
    place.symlink_to("nowhere.sqlite")
    return place


def looping(place: Path) -> Path:
    place.symlink_to("other")
    place.with_name("other").symlink_to(place)
    return place


def folder(place: Path) -> Path:
    place.mkdir()
    return place


def below_a_file(place: Path) -> Path:
    place.write_text("text")
    return place / "deep" / "runs.sqlite"


def below_a_dangling_link(place: Path) -> Path:
    return dangling(place) / "runs.sqlite"


REFUSED = [
    (fifo, r"it is a pipe \(FIFO\), not a regular file"),
    (lambda place: Path("/dev/null"), "it is a device, not a regular file"),
    (a_socket, "it is a socket, not a regular file"),
    (dangling, "is a symbolic link to nowhere.sqlite, which does not exist"),
    (looping, "is a symbolic link that leads back to itself"),
    (folder, "is a folder; name the file of the store, such as .*/runs.sqlite"),
    (below_a_file, "place is a file, not a folder"),
    (below_a_dangling_link, "place is a symbolic link to nowhere.sqlite, which does not exist"),
    (lambda place: f"{place}/", "place/ ends like a folder; name the file of the store, such as .*place/runs.sqlite"),
    (lambda place: "", "the path of the store is empty"),
    (lambda place: f"{place}\0", "contains a NUL character"),
    (lambda place: place.with_name("n" * 300), r"cannot be reached \(File name too long\)"),
]


@pytest.mark.parametrize(("make", "words"), REFUSED)
def test_what_cannot_be_a_store_is_refused_and_nothing_is_created(tmp_path, monkeypatch, make, words):
    monkeypatch.chdir(tmp_path)
    path = make(tmp_path / "place")
    before = sorted(tmp_path.rglob("*"))
    for attempt in attempts(tmp_path / "new.sqlite"):
        with pytest.raises(StoreError, match=words):
            attempt(path)
    assert sorted(tmp_path.rglob("*")) == before
    assert not list(Path("/dev").glob("null?*"))


@pytest.mark.parametrize("content", ["text", "sqlite"])
def test_a_file_of_another_kind_is_refused_and_nothing_is_created(tmp_path, content):
    path = tmp_path / "notes"
    if content == "text":
        path.write_text("something else entirely")
    else:
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE t (x)")
        other.close()
    for mode in ("r", "rw"):
        with pytest.raises(
            StoreError, match=r"does not begin like an SQLite file|without the marks of a firstlight store"
        ):
            Store(path, mode)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", [".lock", "-wal", "-shm"])
@pytest.mark.parametrize("make", [fifo, dangling, folder])
def test_only_files_lie_beside_a_store(path, suffix, make):
    beside = path.with_name(path.name + suffix)
    beside.unlink(missing_ok=True)
    make(beside)
    for mode in ("r", "rw"):
        with pytest.raises(StoreError, match=rf"{suffix} is a .*, not a file. Move it away"):
            Store(path, mode)


@pytest.mark.parametrize("suffix", [".blobs", ".checkpoints"])
def test_a_folder_that_another_store_may_share_is_not_written(path, tmp_path, suffix):
    own = path.with_name(path.name + suffix)
    own.mkdir(exist_ok=True)
    own.rename(tmp_path / "shared")
    own.symlink_to(tmp_path / "shared", target_is_directory=True)
    with pytest.raises(StoreError, match=rf"{suffix} is a symbolic link, not a folder. Put the folder itself there"):
        Store(path, "rw")
    with Store(path) as store:
        assert store.weights(store.run_ids()[0])
    own.unlink()
    own.write_text("")
    with pytest.raises(StoreError, match=rf"{suffix} is a file, not a folder"):
        Store(path, "rw")


def test_a_name_that_is_no_text_can_be_a_store(tmp_path):
    path = os.fsencode(tmp_path) + b"/r\xfens %2f?#.sqlite"
    with Store(os.fsdecode(path), "rw") as store:
        store.put_run(*whole(1))
    assert check_store(os.fsdecode(path)).ok
    assert os.path.exists(path)


CREATE = """
import sys
from firstlight.records import Store, StoreError
from tests.records.store_worker import whole
input()
for path in sys.argv[2:]:
    with Store(path, "rw", wait=60) as store:
        store.put_run(*whole(int(sys.argv[1])))
"""


def test_processes_that_create_one_store_at_once_all_write_it(tmp_path):
    (tmp_path / "door").symlink_to(tmp_path, target_is_directory=True)
    names = [f"{number}.sqlite" for number in range(5)]
    places = (tmp_path, tmp_path / "door", tmp_path)
    root = Path(__file__).parents[2]
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", CREATE, str(seed), *(str(place / name) for name in names)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        for seed, place in enumerate(places)
    ]
    threads = [threading.Thread(target=racer.communicate, args=("\n",)) for racer in racers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    for name in names:
        report = check_store(tmp_path / name)
        assert report.ok, report.lines()
        with Store(tmp_path / name) as store:
            assert {record.spec.seed for record in store.runs()} == {0, 1, 2}
    assert not list(tmp_path.glob(".*"))


def test_a_store_that_appears_while_another_is_created_is_not_overwritten(tmp_path, monkeypatch):
    path = tmp_path / "runs.sqlite"
    lay_out = _creation._lay_out

    def slowly(new: Path) -> None:
        lay_out(new)
        shutil.copyfile(new, path)

    monkeypatch.setattr(_creation, "_lay_out", slowly)
    with pytest.raises(StoreError, match=r"another program has just created .*; it was left as it is"):
        Store(path, "rw")
    assert not list(tmp_path.glob(".*"))
    Store(path, "rw").close()
