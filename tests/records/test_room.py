"""Free memory and disk, from a system made of files."""

import os
from types import SimpleNamespace

import pytest

from firstlight.records import _room as room


@pytest.fixture
def system(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "PROC", tmp_path / "proc")
    monkeypatch.setattr(room, "CGROUPS", tmp_path / "cgroup")

    def write(**files: str) -> None:
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


def test_memory_is_what_linux_says_it_can_give(system):
    system(proc__meminfo="MemTotal: 100 kB\nMemAvailable: 40 kB\n")
    assert room.available_memory() == 40 * 1024


def test_the_limit_of_a_container_counts_and_cached_files_do_not(system, tmp_path):
    system(proc__meminfo="MemAvailable: 4000 kB\n", proc__self__cgroup="0::/jobs/mine\n")
    job = tmp_path / "cgroup" / "jobs"
    (job / "mine").mkdir(parents=True)
    (job / "mine" / "memory.max").write_text("max\n")
    for name, text in {"max": "1000000", "current": "900000", "stat": "anon 1\ninactive_file 50000\n"}.items():
        (job / f"memory.{name}").write_text(text)
    assert room.available_memory() == 150_000


def test_the_older_form_of_limits_is_read_too(system, tmp_path):
    system(proc__meminfo="MemAvailable: 4000 kB\n", proc__self__cgroup="5:cpu:/\n4:memory:/\n")
    (tmp_path / "cgroup" / "memory").mkdir(parents=True)
    for name, text in {"limit_in_bytes": "10000", "usage_in_bytes": "4000", "stat": "cache 1\n"}.items():
        (tmp_path / "cgroup" / "memory" / f"memory.{name}").write_text(text)
    assert room.available_memory() == 6000


def test_without_linux_half_of_the_memory_or_nothing_is_known(system, monkeypatch):
    sizes = {"SC_PHYS_PAGES": 100, "SC_PAGE_SIZE": 10}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__, raising=False)
    assert room.available_memory() == 500
    monkeypatch.delattr(os, "sysconf")
    assert room.available_memory() is None


def test_disk_is_that_of_the_nearest_folder(tmp_path):
    free = room.free_disk(tmp_path / "a" / "b" / "c.sqlite")
    assert free is not None
    assert free > 0
    assert room.free_disk("\0") is None or room.free_disk("\0") > 0


def test_a_link_to_a_store_is_measured_where_the_store_is(monkeypatch, tmp_path):
    (tmp_path / "large").mkdir()
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "large" / "store.sqlite")
    asked = []
    monkeypatch.setattr(room.shutil, "disk_usage", lambda folder: asked.append(folder) or SimpleNamespace(free=1))
    assert room.free_disk(tmp_path / "link.sqlite") == 1
    assert asked == [(tmp_path / "large").resolve()]
