"""kill -9 at any moment of a run or a sweep: nothing finished is lost, and what follows is the same to the bit."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from firstlight import runs
from firstlight.records import Store, spec_from_mapping
from firstlight.sweeps import run_sweep, sweep_from_mapping

BASE = {
    "task": {"group": "Z5", "split": {"fraction": 0.8}},
    "model": {"width": 16},
    "optimizer": {"learning_rate": 0.01},
    "snapshots": 2,
}
MANY = {"base": {**BASE, "steps": 2000, "recording": {"every": 100}}, "seeds": 10}

# Imports once and forks before JAX has started any thread, so that each victim costs little.
NURSERY = """
import json, os, sys
from firstlight import runs, sweeps
from firstlight.records import spec_from_mapping

def start(kind, path, values, jobs=1):
    if kind == "run":
        runs.run(spec_from_mapping(values), store=path, progress="off", checkpoint_seconds=0.02)
    elif kind == "run, checkpoints without a pause":
        runs.run(spec_from_mapping(values), store=path, progress="off", checkpoint_seconds=0)
    elif kind == "run_many":
        specs = sweeps.sweep_from_mapping(values).expand()
        runs.run_many(specs, store=path, progress="off", checkpoint_seconds=0.05)
    else:
        sweeps.run_sweep(sweeps.sweep_from_mapping(values), path, jobs=jobs, progress="off", keep_weights=True)

for line in sys.stdin:
    arguments = json.loads(line)
    pid = os.fork()
    if not pid:
        os.dup2(2, 1)
        start(*arguments)
        os._exit(0)
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


@pytest.fixture(scope="module")
def nursery():
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", NURSERY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    yield process
    process.stdin.close()
    process.wait(30)


class Victim:
    """A process that runs or sweeps into a store until it is done or killed."""

    def __init__(self, nursery, kind: str, path, values: dict, jobs: int = 1) -> None:
        self._nursery = nursery
        nursery.stdin.write(json.dumps([kind, str(path), values, jobs]) + "\n")
        nursery.stdin.flush()
        self.pid = int(nursery.stdout.readline())

    def workers(self) -> list[int]:
        """The processes that it started and that still run."""
        try:
            with open(f"/proc/{self.pid}/task/{self.pid}/children") as file:
                return [int(pid) for pid in file.read().split()]
        except FileNotFoundError:
            return []

    def kill(self) -> bool:
        """Kill it, and say whether it was still at work."""
        workers = self.workers()
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            workers = []
        killed = self.wait() == signal.SIGKILL
        deadline = time.monotonic() + 20
        while any(os.path.exists(f"/proc/{pid}") for pid in workers):
            assert time.monotonic() < deadline, "a worker outlived its driver"
            time.sleep(0.02)
        return killed

    def wait(self) -> int:
        return int(self._nursery.stdout.readline())


def until(seen, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def sound(path) -> Store:
    store = Store(path)
    report = store.integrity_check()
    assert report.ok, report
    ids = store.run_ids()
    assert len(ids) == len(set(ids))
    return store


@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        ("run", 3),
        pytest.param("run", 30, marks=pytest.mark.soak),
        pytest.param("run, checkpoints without a pause", 30, marks=pytest.mark.soak),
    ],
)
def test_a_run_killed_again_and_again_ends_as_if_it_had_not_been(nursery, tmp_path, kind, kills):
    path, chance = tmp_path / "runs.sqlite", random.Random(kills)
    bystander = runs.run(spec_from_mapping({**BASE, "steps": 10}), store=path, progress="off")
    # Three kills are not worth a longer run.
    values = {**BASE, "steps": (15_000 if kills == 3 else 45_000) * kills, "recording": {"every": 50 * kills}}
    spec = spec_from_mapping(values)
    whole = runs.run(spec, store=tmp_path / "whole.sqlite", progress="off")
    interrupted = resumable = 0
    checkpoint = "runs.sqlite.checkpoints/*/*.safetensors"
    for attempt in range(kills):
        victim = Victim(nursery, kind, path, values)
        if attempt == 0:
            until(lambda: any(tmp_path.glob(checkpoint)))
        # Together the pauses are shorter than the run, however fast the machine.
        time.sleep(chance.uniform(0, 0.1 if attempt == 0 else min(2.0, whole.seconds / kills)))
        interrupted += victim.kill()
        resumable += any(tmp_path.glob(checkpoint))
        with sound(path) as store:
            assert store.get_run(bystander.id).digest == bystander.digest
            status = store.run_status(spec)
            assert status in (None, "interrupted", "finished")
            if status is not None:
                partial = store.get_run(spec).table
                rows = np.searchsorted(whole.table.step, partial.step)
                assert (whole.table.step[rows] == partial.step).all()
                for name, column in partial.columns.items():
                    assert (column == whole.table[name][rows]).all()
    assert interrupted >= 2 * kills // 3
    assert resumable >= 1
    final = runs.run(spec, store=path, progress="off", on_record=lambda row: None)
    assert final.result_digest == whole.result_digest
    assert not list(tmp_path.glob("runs.sqlite.checkpoints/*"))
    with sound(path) as store:
        assert len(store.run_ids()) == 2


@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        ("sweep", 2),
        pytest.param("sweep", 30, marks=pytest.mark.soak),
        pytest.param("run_many", 30, marks=pytest.mark.soak),
    ],
)
def test_a_sweep_killed_again_and_again_ends_as_if_it_had_not_been(nursery, tmp_path, kind, kills):
    path, chance = tmp_path / "runs.sqlite", random.Random(kills)
    # All lanes of `run_many` end together: they must outlast the kills.
    steps = 2000 if kind == "sweep" else 20_000 * kills
    many = {**MANY, "base": {**MANY["base"], "steps": steps, "recording": {"every": steps // 20}}}
    sweep = sweep_from_mapping(many)
    done: dict[str, str] = {}
    for attempt in range(kills):
        victim = Victim(nursery, kind, path, many)
        if attempt == 0:
            until(lambda: path.exists() and (finished(path) or kind == "run_many"))
        time.sleep(chance.uniform(0, 0.2) if attempt == 0 else chance.uniform(0, 5))
        victim.kill()
        if path.exists():
            with sound(path) as store:
                now = {id: store.get_run(id).digest for id in store.run_ids("finished")}
                assert len(store.run_ids()) == len(now) or kind == "run_many", "a point is there in part"
            assert done.items() <= now.items(), "a finished record was lost or written again"
            done = now
    ran = []
    result = run_sweep(sweep, path, jobs=1, keep_weights=True, progress=lambda m: ran.append(m.record.id))
    assert not set(ran) & done.keys()
    whole = runs.run_many(sweep.expand(), store=tmp_path / "whole.sqlite", progress="off")
    assert [r.result_digest for r in result.records] == [r.result_digest for r in whole]
    with sound(path) as store:
        assert sorted(store.run_ids()) == sorted(r.id for r in whole)


@pytest.mark.soak
def test_workers_of_sweeps_killed_again_and_again_lose_nothing(nursery, tmp_path):
    """Thirty workers die under drivers that live on; every sweep ends with the records of a calm one."""
    many, chance, killed, sweeps = {**MANY, "seeds": 40}, random.Random(0), 0, 0
    calm = runs.run_many(sweep_from_mapping(many).expand(), store=tmp_path / "calm.sqlite", progress="off")
    while killed < 30:
        path, sweeps = tmp_path / f"runs-{sweeps}.sqlite", sweeps + 1
        victim = Victim(nursery, "sweep", path, many, jobs=2)
        while (children := victim.workers()) or not path.exists() or finished(path) < len(calm):
            time.sleep(chance.uniform(0.5, 3))
            # loky's tracker of semaphores is a child too, and has no part in the work.
            workers = [pid for pid in children if is_worker(pid)]
            if workers and killed < 30:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(chance.choice(workers), signal.SIGKILL)
                    killed += 1
            if not os.path.exists(f"/proc/{victim.pid}"):
                break
        assert victim.wait() == 0, "the driver died with its worker"
        # A point whose worker was killed twice counts as failed, and the next sweep runs it again.
        result = run_sweep(sweep_from_mapping(many), path, jobs=1, keep_weights=True, progress="off")
        assert [r.result_digest for r in result.records] == [r.result_digest for r in calm]
        sound(path).close()


def is_worker(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return "popen_loky" in file.read()
    except (FileNotFoundError, ProcessLookupError):
        return False


def finished(path) -> int:
    with Store(path) as store:
        return len(store.run_ids("finished"))
