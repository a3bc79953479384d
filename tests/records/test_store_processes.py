"""Several processes and one store: readers beside a writer, and writers killed at any moment."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from firstlight.records import RunSpec, Store, StoreError, check_store
from firstlight.records._store import _head

from .store_worker import require_whole, spec, whole

WORKER = Path(__file__).with_name("store_worker.py")


def start(*arguments) -> subprocess.Popen:
    command = [sys.executable, str(WORKER), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


def test_two_readers_see_only_whole_records_while_a_writer_writes(tmp_path):
    path, runs = tmp_path / "runs.sqlite", 200
    Store(path, "rw").close()
    readers = [start("read", path, runs) for _ in range(2)]
    writer = start("write", path, runs)
    assert len(finish(writer).split()) == runs
    assert all(int(finish(reader)) > 2 for reader in readers)


def killed_writers(path: Path, kills: int, runs: int, seed: int) -> int:
    """Kill `kills` writers at random moments, let the next go on each time; return how many were cut short."""
    moments, said, cut = random.Random(seed), set(), 0
    for _ in range(kills):
        writer = start("write", path, runs)
        for _ in range(moments.randint(1, 5)):
            said.add(writer.stdout.readline().strip())
        time.sleep(moments.uniform(0, 0.02))
        writer.send_signal(signal.SIGKILL)
        out, _ = writer.communicate()
        said |= set(out.split())
        cut += writer.returncode == -signal.SIGKILL
        with Store(path) as store:
            finished = {record.spec.seed: record for record in store.runs("finished")}
        assert {int(line) for line in said if line} <= finished.keys()
        for number, record in finished.items():
            require_whole(record, whole(number)[0].table)
        report = check_store(path)
        assert report.ok, report.lines()
    return cut


def require_as_if_never_interrupted(path: Path, tmp_path: Path, runs: int) -> None:
    finish(start("write", path, runs))
    finish(start("write", tmp_path / "calm.sqlite", runs))
    with Store(path, "rw") as store, Store(tmp_path / "calm.sqlite") as calm:
        results = [record.result_digest for record in store.runs()]
        assert len(results) == runs
        assert set(results) == {record.result_digest for record in calm.runs()}
        store.collect_garbage()
        assert store.integrity_check().orphans == ()
        assert list(path.parent.glob("*.blobs/??/.*")) == []


def test_killing_writers_loses_nothing_and_resuming_changes_nothing(tmp_path):
    path, runs = tmp_path / "runs.sqlite", 60
    assert killed_writers(path, kills=5, runs=runs, seed=0) == 5
    require_as_if_never_interrupted(path, tmp_path, runs)


@pytest.mark.soak
def test_killing_many_writers_loses_nothing(tmp_path):
    path, runs = tmp_path / "runs.sqlite", 600
    assert killed_writers(path, kills=50, runs=runs, seed=1) == 50
    require_as_if_never_interrupted(path, tmp_path, runs)


def test_a_second_writer_is_told_who_the_first_is_and_a_dead_one_is_forgotten(tmp_path):
    path = tmp_path / "runs.sqlite"
    code = f"from firstlight.records import Store; s = Store({str(path)!r}, 'rw'); print(flush=True); input()"
    first = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    first.stdout.readline()
    with pytest.raises(StoreError, match=f"is being written by process {first.pid} on host .+ since .*mode='r'"):
        Store(path, "rw")
    with Store(path) as reader:
        assert reader.runs() == []
    first.kill()
    first.communicate()
    with Store(path, "rw") as store:
        assert store.runs() == []
        with pytest.raises(StoreError, match=rf"process {os.getpid()} .this one."):
            Store(path, "rw")


def count_with_sqlite(path: Path) -> int:
    """The runs that a program without firstlight sees; it folds and deletes a log that nobody seems to use."""
    code = (
        f"import sqlite3; c = sqlite3.connect({str(path)!r}); print(*c.execute('SELECT count(*) FROM runs').fetchone())"
    )
    return int(subprocess.run([sys.executable, "-c", code + "; c.close()"], capture_output=True, text=True).stdout)


def test_other_programs_see_a_writer_that_has_read_its_own_store(tmp_path):
    path = tmp_path / "runs.sqlite"
    with Store(path, "rw") as store:
        store.put_run(*whole(1))
        with Store(path) as reader:
            assert len(reader.runs()) == 1
        with pytest.raises(StoreError, match="is being written"):
            Store(path, "rw")
        assert check_store(path).ok
        assert count_with_sqlite(path) == 1
        assert path.with_name("runs.sqlite-wal").exists()
        store.put_run(*whole(2))
        assert count_with_sqlite(path) == 2
    file = path.stat().st_dev, path.stat().st_ino
    assert file not in _head._OPEN.connections
    assert file not in _head._OPEN.descriptors


READ_ONLY = """
import os, sys
from pathlib import Path
from firstlight.records import Store, StoreError
path = Path(sys.argv[1])
Store(path).runs()  # loads every module while this user may still read them
path.parent.chmod(0o555)
if os.getuid() == 0:
    os.setuid(65534)
with Store(path) as store:
    print(store.runs()[0].spec.seed)
try:
    Store(path, "rw")
except StoreError as error:
    print(error)
"""


def test_a_store_in_a_folder_that_cannot_be_written_can_be_read():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "runs.sqlite"
        with Store(path, "rw") as store:
            store.put_run(*whole(1))
        path.with_name("runs.sqlite.lock").chmod(0o444)
        done = subprocess.run([sys.executable, "-c", READ_ONLY, str(path)], capture_output=True, text=True)
        Path(folder).chmod(0o755)
    assert done.stdout.startswith("1\n"), done.stderr
    assert "cannot be written (Permission denied); choose another place" in done.stdout


def test_a_killed_creation_leaves_no_half_store(tmp_path):
    path = tmp_path / "runs.sqlite"
    (tmp_path / ".runs.sqlite.123.new").write_bytes(b"half")
    (tmp_path / ".runs.sqlite.123.new-wal").write_bytes(b"half")
    with pytest.raises(StoreError, match=r"there is no store at .*; the first record written there creates it"):
        Store(path)
    with Store(path, "rw") as store:
        assert store.run_status(spec(0)) is None
        assert store.run_status(RunSpec()) is None
    assert not list(tmp_path.glob(".*new*"))
