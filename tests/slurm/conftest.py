"""A real Slurm of one node for the tests of this folder, and the commands of a user on its login node."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from firstlight import runs
from firstlight.sweeps import SweepStatus, collect_sweep, load_sweep, open_folder, sweep_status
from tools.slurm import one_node, why_not

SPEC = """
seeds = 3
[base]
steps = {steps}
recording.every = {every}
[base.task]
split.fraction = 0.6
[base.model]
width = 64
[grid]
"task.group" = ["Z7", "Z11"]
"""


@pytest.fixture(scope="session")
def slurm():
    if reason := why_not():
        pytest.skip(reason)
    # A folder of pytest is closed to other users, and munged runs as its own user.
    with tempfile.TemporaryDirectory(prefix="slurm") as folder, one_node(Path(folder)) as environment:
        yield environment


def wait_for(condition: Callable[[], object], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} within {seconds} s"
        time.sleep(0.2)


class Site:
    """A user's folder on the cluster."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        self.shared = folder / "shared"

    def slurm(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=check, cwd=self.folder)
        return done.stdout

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "firstlight.cli", *words]
        environment = self.environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        return subprocess.run(line, env=environment, cwd=self.folder, capture_output=True, text=True, timeout=240)

    def submit(self, steps: int, *more: str) -> str:
        """Submit a sweep of two groups and three seeds as two tasks; return the id of the job."""
        self.folder.joinpath("phase.toml").write_text(SPEC.format(steps=steps, every=max(steps // 20, 1)))
        # What a site does with `module load`: without the prelude the tasks would not find the package.
        paths = os.pathsep.join(filter(None, sys.path))
        self.folder.joinpath("prelude.sh").write_text(f"export PYTHONPATH={paths}\nexport FROM_PRELUDE=yes\n")
        words = ["sweep", "phase.toml", "--slurm", "--submit", "--array", "2", "--bundles", "shared"]
        done = self.command(*words, "--prelude", "prelude.sh", *more)
        assert "submitted as Slurm job" in done.stdout, done.stderr
        return done.stdout.partition("Slurm job ")[2].split()[0]

    def status(self) -> SweepStatus:
        return sweep_status(open_folder(self.shared))

    def states(self) -> list[str]:
        return self.slurm("squeue", "--noheader", "--array", "--format=%T").split()

    def logs(self) -> str:
        return "".join(path.read_text() for path in sorted((self.shared / "logs").glob("*.txt")))

    def checkpoints(self) -> list[Path]:
        return list((self.shared / "checkpoints").glob("*/*/*.safetensors"))

    def wait_until_done(self, seconds: float = 300) -> None:
        wait_for(lambda: self.status().left == 0 and not self.states(), seconds, "all points")

    def require_local_numbers(self) -> None:
        """Gather; the table must equal that of a local run, bit for bit, times aside."""
        done = self.command("sweeps", "gather", "shared", "--store", "gathered.sqlite", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["added"] == 6
        sweep = load_sweep(self.folder / "phase.toml")
        runs.run_many(sweep.expand(), store=self.folder / "local.sqlite", progress="off", keep_weights=False)
        gathered, local = (self._table(sweep, name) for name in ("gathered.sqlite", "local.sqlite"))
        pd.testing.assert_frame_equal(gathered, local, check_exact=True)

    def _table(self, sweep, store: str) -> pd.DataFrame:
        frame = collect_sweep(sweep, self.folder / store).frame
        return frame.drop(columns=["seconds"]).sort_values("id").reset_index(drop=True)


@pytest.fixture
def site(slurm, tmp_path):
    made = Site(tmp_path, slurm)
    yield made
    subprocess.run(["scancel", "--user=root", "--full"], env=slurm, check=False, capture_output=True)
    wait_for(lambda: not made.states(), 120, "an empty queue")
