"""Commands and the store they are given: places where none can be, and writers that wait."""

import os

import pytest

from firstlight.cli import _exits as exits
from firstlight.records import Store

from .conftest import SPEC

WRITING = {
    "run": ("run", "spec.toml", "--store"),
    "sweep": ("sweep", "sweep.toml", "--jobs", "1", "--store"),
    "reproduce": ("reproduce", "li2.theorem-2", "--store"),
    "delete": ("runs", "delete", "ab", "--yes", "--store"),
    "gc": ("store", "gc"),
}
READING = {
    "dry run": ("run", "spec.toml", "--dry-run", "--store"),
    "dry sweep": ("sweep", "sweep.toml", "--dry-run", "--store"),
    "list": ("runs", "list", "--store"),
    "report": ("report", "page.html", "--store"),
    "check": ("store", "check"),
}


@pytest.fixture(autouse=True)
def specs(folder):
    (folder / "spec.toml").write_text(SPEC)
    (folder / "sweep.toml").write_text(
        'seeds = [0]\n[base]\nsteps = 20\n[base.task]\ngroup = "Z5"\n[base.model]\nwidth = 16\n'
    )


@pytest.mark.parametrize("command", [*READING, *WRITING])
def test_a_place_where_no_store_can_be_is_refused_and_left_as_it_is(cli, folder, command):
    os.mkfifo(folder / "pipe")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "file").write_text("text")
    before = sorted(folder.rglob("*"))
    words = (READING | WRITING)[command]
    for place, said in (
        ("pipe", "it is a pipe (FIFO), not a regular file"),
        ("dangling", "is a symbolic link to nowhere, which does not exist"),
        ("pipe/", "pipe/ ends like a folder; name the file of the store"),
        (".", ". is a folder; name the file of the store, such as runs.sqlite"),
        ("", "the path of the store is empty"),
        ("other.sqlite-wal", "other.sqlite-wal ends like a log of SQLite (-wal, -shm, -journal); name a file"),
        ("file/below/runs.sqlite", "file is a file, not a folder"),
    ):
        done = cli(*words, place)
        assert (done.code, done.out) == (exits.USER_ERROR, ""), place
        assert said in done.err
        assert len(done.err.splitlines()) == 1
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("command", [*WRITING, "repair"])
def test_every_command_that_writes_can_wait_for_another_writer(cli, folder, command):
    words = (
        ("store", "repair", "runs.sqlite", "new.sqlite") if command == "repair" else (*WRITING[command], "runs.sqlite")
    )
    with Store(folder / "runs.sqlite", "rw"):
        done = cli(*words, "--wait", 0.1)
    assert done.code == exits.USER_ERROR
    notice, error = done.err.splitlines()
    holder = f"{folder / 'runs.sqlite'} (process {os.getpid()}"
    assert notice.startswith(f"waiting up to 0.1 s for the writer of {holder}")
    assert "is still being written by process" in error
    assert "--wait SECONDS" in error
    assert "--wait" in cli(*words, "--wait", -1).err


@pytest.mark.parametrize("command", ["delete", "gc"])
def test_a_command_that_only_removes_creates_no_store(cli, folder, command):
    before = sorted(folder.rglob("*"))
    done = cli(*WRITING[command], "absent/runs.sqlite")
    assert (done.code, done.err) == (
        exits.USER_ERROR,
        "error: there is no store at absent/runs.sqlite; the first record written there creates it\n",
    )
    assert sorted(folder.rglob("*")) == before
