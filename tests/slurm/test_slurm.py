"""A sweep on a real Slurm of one node: run, preempted, cancelled and gathered, it ends with the local numbers."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import pytest

from firstlight.sweeps import collect_sweep, load_sweep, run_sweep
from tools.slurm import one_node, why_not

pytestmark = [pytest.mark.slurm, pytest.mark.skipif(bool(why_not()), reason=why_not() or "Slurm is here")]

SPEC = """
seeds = 3
[base]
steps = {steps}
recording.every = 50
[base.task]
split.fraction = 0.6
[base.model]
width = 64
[grid]
"task.group" = ["Z7", "Z11"]
"""


@pytest.fixture(scope="module")
def cluster():
    # A folder of pytest is closed to other users, and munged runs as its own user.
    with tempfile.TemporaryDirectory(prefix="slurm") as folder, one_node(Path(folder)) as environment:
        yield environment


def command(*words: str, environment: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-m", "firstlight.cli", *words],
        env=environment | {"PYTHONPATH": paths},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=240,
    )


def submitted(folder: Path, steps: int, environment: dict[str, str], *more: str) -> None:
    (folder / "phase.toml").write_text(SPEC.format(steps=steps), encoding="utf-8")
    (folder / "prelude.sh").write_text(f"export PYTHONPATH={os.pathsep.join(filter(None, sys.path))}\n")
    words = ["sweep", "phase.toml", "--slurm", "--array", "2", "--time", "01:00:00", "--prelude", "prelude.sh"]
    done = command(*words, "--submit", "--bundles", "shared", *more, environment=environment, cwd=folder)
    assert "submitted as Slurm job" in done.stdout, done.stderr


def status(folder: Path, environment: dict[str, str]) -> dict:
    return json.loads(command("sweeps", "status", "shared", "--json", environment=environment, cwd=folder).stdout)


def wait_for(condition, seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} within {seconds} s"
        time.sleep(1)


def table(folder: Path, store: str) -> pd.DataFrame:
    frame = collect_sweep(load_sweep(folder / "phase.toml"), folder / store).frame
    return frame.drop(columns=["seconds"]).sort_values("id").reset_index(drop=True)


def require_local_numbers(folder: Path, environment: dict[str, str]) -> None:
    done = command("sweeps", "gather", "shared", "--store", "gathered.sqlite", environment=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    run_sweep(load_sweep(folder / "phase.toml"), folder / "local.sqlite", jobs=1, progress="off")
    pd.testing.assert_frame_equal(table(folder, "gathered.sqlite"), table(folder, "local.sqlite"), check_exact=True)


def test_an_array_job_gives_the_numbers_of_a_local_sweep(cluster, tmp_path):
    submitted(tmp_path, 200, cluster)
    wait_for(lambda: status(tmp_path, cluster)["left"] == 0, 240, "all points")
    require_local_numbers(tmp_path, cluster)


def test_a_preempted_sweep_is_queued_again_and_ends_with_the_same_numbers(cluster, tmp_path):
    submitted(tmp_path, 6000, cluster)
    wait_for(lambda: status(tmp_path, cluster)["running"] > 0, 120, "a running task")
    time.sleep(8)
    urgent = ["sbatch", "--partition=high", "--ntasks=2", "--output=/dev/null", "--wrap", "sleep 5"]
    subprocess.run(urgent, env=cluster, check=True, capture_output=True)
    wait_for(lambda: "PD" in states(cluster) or "interrupted" in logs(tmp_path), 120, "a preempted task")
    wait_for(lambda: status(tmp_path, cluster)["left"] == 0, 480, "all points")
    require_local_numbers(tmp_path, cluster)


def test_a_cancelled_sweep_goes_on_when_it_is_submitted_again(cluster, tmp_path):
    submitted(tmp_path, 6000, cluster)
    wait_for(lambda: status(tmp_path, cluster)["running"] > 0, 120, "a running task")
    assert command("sweeps", "cancel", "shared", environment=cluster, cwd=tmp_path).returncode == 0
    wait_for(lambda: not states(cluster), 120, "an empty queue")
    assert status(tmp_path, cluster)["cancelled"]
    submitted(tmp_path, 6000, cluster)
    wait_for(lambda: status(tmp_path, cluster)["left"] == 0, 480, "all points")
    require_local_numbers(tmp_path, cluster)


def states(environment: dict[str, str]) -> str:
    done = subprocess.run(["squeue", "-h", "-o", "%t"], env=environment, capture_output=True, text=True)
    return done.stdout.strip()


def logs(folder: Path) -> str:
    return "".join(path.read_text() for path in (folder / "shared" / "logs").glob("*.txt"))
