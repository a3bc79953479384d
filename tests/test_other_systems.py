"""What only Linux or today's SciPy offers is taken away, piece by piece and all at once."""

import builtins
import fcntl
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from firstlight.records import RunSpec, Store, StoreError
from firstlight.records import _facts as facts
from firstlight.records import _room as room
from firstlight.rfm._solvers import memory


def byte_locks() -> types.ModuleType:
    """Windows's `msvcrt`, with the byte locks of POSIX for open files."""
    module = types.ModuleType("msvcrt")
    module.LK_NBLCK = 2

    def locking(file: int, mode: int, count: int) -> None:
        assert (mode, count) == (2, 1)
        assert os.lseek(file, 0, os.SEEK_CUR) > 1000, "the holder's name must stay readable"
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    module.locking = locking
    return module


def test_without_fcntl_a_locked_byte_admits_one_writer(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "msvcrt", byte_locks())
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with Store(tmp_path / "runs.sqlite", "rw") as store:
        with pytest.raises(StoreError, match=rf"is being written by process {os.getpid()} \(this one\)"):
            Store(tmp_path / "runs.sqlite", "rw")
        assert store.run_status(RunSpec()) is None
    Store(tmp_path / "runs.sqlite", "rw").close()


def test_without_any_lock_a_store_can_be_read_but_not_written(tmp_path, monkeypatch):
    Store(tmp_path / "runs.sqlite", "rw").close()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    with pytest.raises(StoreError, match=r"needs file locks.*mode='r'"):
        Store(tmp_path / "runs.sqlite", "rw")
    with Store(tmp_path / "runs.sqlite") as store:
        assert store.run_ids() == []


@pytest.fixture
def bare(monkeypatch):
    """No /proc, no `sched_getaffinity`, no `sysconf`."""
    monkeypatch.setattr(builtins, "open", without_proc(builtins.open))
    monkeypatch.setattr(room, "PROC", Path("/not/there"))
    for name in ("sched_getaffinity", "sysconf"):
        monkeypatch.delattr(os, name)
    caches = [value for value in vars(facts).values() if hasattr(value, "cache_clear")]
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def without_proc(plain):
    """`open` where /proc tells nothing about the machine; threadpoolctl asks for other files of it on Linux alone."""

    def opened(file, *args, **kwargs):
        if str(file) in ("/proc/cpuinfo", "/proc/meminfo"):
            raise FileNotFoundError(file)
        return plain(file, *args, **kwargs)

    return opened


def test_facts_about_a_machine_that_says_little(bare):
    described = facts.machine_facts()
    assert described["cores"] == os.cpu_count()
    assert described["memory_bytes"] == 0
    assert isinstance(described["processor"], str)


def test_memory_of_a_machine_that_says_little_is_taken_to_be_4_gib(bare):
    assert room.available_memory() is None
    assert memory.available() == 4 * 2**30
    assert memory.fits(20_000, np.dtype(np.float32))
    assert not memory.fits(30_000, np.dtype(np.float32))


WITHOUT_ALL = """
import builtins, os, sys
from tests.test_other_systems import byte_locks, without_proc

sys.modules["msvcrt"] = byte_locks()
# What other packages do without these is their own affair.
import diffrax, joblib, optax, pandas, scipy.optimize, sklearn.kernel_ridge, sklearn.model_selection

sys.modules["fcntl"] = None
for kind in ("blas", "lapack"):
    del sys.modules[f"scipy.linalg.cython_{kind}"].__pyx_capi__
for name in ("sched_getaffinity", "sysconf", "register_at_fork"):
    if hasattr(os, name):
        delattr(os, name)
builtins.open = without_proc(builtins.open)

import numpy as np
from firstlight import rfm, runs
from firstlight.records import _room as room
from firstlight.records import spec_from_mapping
from pathlib import Path

room.PROC = Path("/not/there")

X = np.random.default_rng(0).standard_normal((60, 3))
assert rfm.RFMRegressor().fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.9
spec = spec_from_mapping({"task": {"group": "Z5"}, "model": {"width": 16}, "steps": 20})
print(runs.run(spec, store=sys.argv[1], progress="off").status)
"""


def test_with_all_of_it_gone_a_run_is_stored_and_a_table_is_fitted(tmp_path):
    command = [sys.executable, "-c", WITHOUT_ALL, str(tmp_path / "runs.sqlite")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["finished"]
