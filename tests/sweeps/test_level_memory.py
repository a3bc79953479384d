"""Long work holds no more memory at its end than once everything is compiled."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from firstlight.records import Store

SPEC = """
task.group = "Z31"
model.width = 64
steps = 1_000_000_000
recording.every = 2000
"""

SWEEP = """
seeds = 20

[base]
steps = 300
snapshots = 2
recording.every = 10
model.width = 32

[grid]
task.group = ["Z5", "Z7", "Z11"]
optimizer.learning_rate = [0.001, 0.002, 0.005, 0.01, 0.02]
"""


def resident(pid: int) -> int:
    """Bytes that a process and its children hold."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = [int(child) for child in file.read().split()]
        with open(f"/proc/{pid}/statm") as file:
            own = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return 0
    return own + sum(map(resident, children))


def watch(process: subprocess.Popen, seconds: float, pause: float) -> np.ndarray:
    """Bytes held at every look, until the process ends or the time is over."""
    held, end = [], time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        held.append(resident(process.pid))
        time.sleep(pause)
    return np.array(held)


def growth(held: np.ndarray) -> float:
    """How much more memory the last quarter holds than the third, relative to it."""
    quarter = len(held) // 4
    return float(np.median(held[-quarter:]) / np.median(held[-2 * quarter : -quarter])) - 1


def start(tmp_path, *words: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "firstlight.cli", *words, "--store", str(tmp_path / "runs.sqlite")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.soak
@pytest.mark.timeout(5400)
def test_an_hour_of_training_holds_level_memory_and_ends_at_sigterm(tmp_path):
    """FIRSTLIGHT_SOAK_SECONDS shortens the hour."""
    (tmp_path / "spec.toml").write_text(SPEC)
    process = start(tmp_path, "run", str(tmp_path / "spec.toml"), "--allow-large")
    held = watch(process, float(os.environ.get("FIRSTLIGHT_SOAK_SECONDS", "3600")), pause=2)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 143, error
    print(f"\nmemory: {held.max() / 2**20:.0f} MiB at most, growth {growth(held):+.2%} over {len(held) * 2} s")
    # A curve of 500 rows a second, two numbers each, is some 10 MiB an hour; XLA's arenas breathe by a few percent.
    assert growth(held) < 0.1
    with Store(tmp_path / "runs.sqlite") as store:
        assert store.runs()[0].status == "interrupted"


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_sweep_of_300_points_holds_level_memory(tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    process = start(tmp_path, "sweep", str(tmp_path / "sweep.toml"), "--jobs", "2")
    held = watch(process, 3000, pause=0.5)
    _, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    print(f"\nmemory: {held.max() / 2**20:.0f} MiB at most, growth {growth(held):+.2%} over 300 points")
    # Three programs are compiled, all in the first half; after that a point may leave nothing behind.
    assert growth(held) < 0.1
    with Store(tmp_path / "runs.sqlite") as store:
        assert len(store.run_ids("finished")) == 300
