"""kill -9 of Slurm tasks at any moment: nothing is lost, doubled or torn; the numbers are those of a calm sweep."""

import contextlib
import os
import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from firstlight import runs
from firstlight.records import Store, check_store
from firstlight.sweeps import (
    SlurmOptions,
    SweepFolder,
    gather,
    submit,
    sweep_from_mapping,
    sweep_status,
    write_script,
)
from firstlight.sweeps._slurm import job_states
from tests.sweeps.test_kill_folders import bundled

pytestmark = [pytest.mark.slurm, pytest.mark.soak]

KILLS = int(os.environ.get("FIRSTLIGHT_KILLS", "60"))
SWEEP = sweep_from_mapping(
    {
        "base": {
            "task": {"group": "Z5", "split": {"fraction": 0.8}},
            "model": {"width": 16},
            "steps": 20_000,
            "recording": {"every": 2000},
        },
        "seeds": 48,
    }
)


def tasks_of(folder: SweepFolder) -> list[int]:
    """The processes that train for a sweep."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # a process that has just ended
            words = path.read_bytes().decode(errors="replace").split("\0")
            if "firstlight.cli" in words and str(folder.path.resolve()) in words:
                pids.append(int(path.parent.name))
    return pids


@dataclass
class Doom:
    """When to kill a task: some seconds after its birth, or after its sweep has written something since."""

    born: float
    waits_for_writing: bool
    delay: float
    begun: float | None = None

    def is_due(self, folder: SweepFolder) -> bool:
        if self.begun is None and (not self.waits_for_writing or has_written(folder, self.born)):
            self.begun = time.time() if self.waits_for_writing else self.born
        return self.begun is not None and time.time() - self.begun > self.delay


def has_written(folder: SweepFolder, since: float) -> bool:
    """Return whether a bundle or a checkpoint of the sweep is newer than `since`."""
    for path in folder.path.rglob("*.safetensors"):
        with contextlib.suppress(OSError):  # a checkpoint that was replaced meanwhile
            if path.stat().st_mtime > since:
                return True
    return False


def test_slurm_tasks_killed_again_and_again_lose_double_and_tear_nothing(site, monkeypatch):
    for name, value in site.environment.items():
        monkeypatch.setenv(name, value)
    calm = {record.id: record.result_digest for record in runs.run_many(SWEEP.expand(), progress="off")}
    chance, killed, in_training, sweeps = random.Random(2), 0, 0, 0
    while killed < KILLS:
        folder = SweepFolder.create(site.folder / str(sweeps), SWEEP, 2)
        sweeps += 1
        script, known = write_script(folder, SlurmOptions(time="00:30:00")), {}
        doomed: dict[int, Doom] = {}
        while (status := sweep_status(folder)).left or status.failed:
            if not folder.plan().job or not job_states(folder.plan().job):
                submit(folder, script)  # a task that was killed ten times is not queued again
            time.sleep(0.2)
            for task in tasks_of(folder):
                doom = doomed.setdefault(task, Doom(time.time(), chance.random() < 0.5, 4 * chance.random()))
                if killed < KILLS and doom.is_due(folder):
                    with contextlib.suppress(ProcessLookupError):
                        in_training += has_written(folder, doom.born)
                        os.kill(task, signal.SIGKILL)
                        killed += 1
                        print(f"{killed} kills, {in_training} in training, {status.finished} points", flush=True)
            now = bundled(folder.bundles)
            assert known.items() <= now.items() <= calm.items()
            known = now
        assert bundled(folder.bundles) == calm
        assert gather(folder.bundles, site.folder / f"{sweeps}.sqlite").conflicts == ()
        assert check_store(site.folder / f"{sweeps}.sqlite").ok
        with Store(site.folder / f"{sweeps}.sqlite") as store:
            assert {record.id: record.result_digest for record in store.runs()} == calm
    print(f"{killed} Slurm tasks killed in {sweeps} sweeps, {in_training} of them after they had written something")
    assert in_training > KILLS / 5
