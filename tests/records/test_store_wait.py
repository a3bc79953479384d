"""A writer that waits for another, and a repair that needs no right to write its source."""

import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from firstlight.records import Store, StoreError, repair_store
from firstlight.runs import writing

from .store_worker import whole


def test_a_writer_waits_for_another_with_one_line_of_notice(tmp_path, capsys):
    path = tmp_path / "runs.sqlite"
    first = Store(path, "rw")
    first.put_run(*whole(1))
    timer = threading.Timer(0.5, first.close)
    timer.start()
    with writing(path, wait=60.0) as store:
        assert store.run_ids() == [whole(1)[0].id]
    timer.join()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(
        f"waiting up to 60 s for the writer of {path} (process {os.getpid()} (this one) on host "
    )


def test_a_writer_that_has_waited_in_vain_says_for_how_long(tmp_path):
    path = tmp_path / "runs.sqlite"
    with Store(path, "rw"):
        begun = time.monotonic()
        words = rf"is still being written by process {os.getpid()} .this one. on host .+ since .+ \(waited 0.3 s\)"
        with pytest.raises(StoreError, match=words):
            Store(path, "rw", wait=0.3)
        assert time.monotonic() - begun >= 0.3
        with pytest.raises(StoreError, match=r"still being written .* \(waited 0.1 s\)"):
            repair_store(path, tmp_path / "new.sqlite", wait=0.1)
        with Store(path, wait=60.0) as reader:  # readers never wait
            assert reader.runs() == []
    for wait in (-1.0, math.nan):
        with pytest.raises(ValueError, match="wait is a number of seconds, at least 0"):
            Store(path, "rw", wait=wait)


def test_a_writer_does_not_wait_where_nobody_writes(tmp_path, capsys):
    with Store(tmp_path / "runs.sqlite", "rw", wait=60.0):
        pass
    (tmp_path / "runs.sqlite.lock").write_text("not JSON")
    with Store(tmp_path / "runs.sqlite", "rw", wait=60.0):
        assert capsys.readouterr().err == ""


READ_ONLY = """
import os, sys
from pathlib import Path
from firstlight.records import Store, StoreError, repair_store
calm, logged, new = map(Path, sys.argv[1:])
repair_store(calm, new / "first.sqlite")  # loads every module while this user may still read them
for path in (calm, logged):
    path.chmod(0o444)
    path.parent.chmod(0o555)
if os.getuid() == 0:
    os.setuid(65534)
for path in (calm, logged):
    report = repair_store(path, new / path.parent.name)
    print(len(Store(report.output).runs()), report.lines()[-1])
print(len(Store(calm).runs()))
for mode in ("r", "rw"):
    try:
        Store(logged, mode)
    except StoreError as error:
        print(error)
"""


def test_a_store_that_cannot_be_written_is_repaired():
    with tempfile.TemporaryDirectory() as folder:
        calm, logged = (Path(folder) / name / "runs.sqlite" for name in ("calm", "logged"))
        with Store(calm, "rw") as store:
            store.put_run(*whole(1))
            store.put_run(*whole(2))
            # As after a kill: the records are in the log, and there is neither an index of it nor a lock.
            shutil.copytree(calm.parent, logged.parent, ignore=shutil.ignore_patterns("*-shm", "*.lock"))
            assert logged.with_name("runs.sqlite-wal").stat().st_size
        new = Path(folder) / "new"
        new.mkdir()
        for place, mode in ((Path(folder), 0o755), (new, 0o777)):
            place.chmod(mode)
        calm.with_name("runs.sqlite.lock").chmod(0o444)
        command = [sys.executable, "-c", READ_ONLY, *map(str, (calm, logged, new))]
        done = subprocess.run(command, capture_output=True, text=True)
        for place in (calm.parent, logged.parent):
            place.chmod(0o755)
    lines = done.stdout.splitlines()
    assert lines[:3] == ["2 nothing was lost", "2 nothing was lost", "2"], done.stderr
    assert "records wait in runs.sqlite-wal, and reading them needs a folder that can be written" in lines[3]
    assert "runs.sqlite cannot be written (Permission denied); choose another place" in lines[4]


def test_a_file_that_cannot_be_written_is_refused_before_the_first_record(tmp_path, monkeypatch):
    path = tmp_path / "runs.sqlite"
    Store(path, "rw").close()
    # The superuser may write everything, so that the answer to the question is exchanged instead of the file.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StoreError, match=r"is read-only; allow writing"):
        Store(path, "rw")
