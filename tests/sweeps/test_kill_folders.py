"""kill -9 at any moment of Dask workers and of gatherers: no record is lost, doubled or torn."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

from firstlight import runs
from firstlight.records import RunRecord, RunSpec, Store, Table, check_store
from firstlight.records._bundle import BundledRun, bundle_paths, read_bundle, write_bundle
from firstlight.sweeps import gather, run_sweep, sweep_from_mapping

BASE = {"task": {"group": "Z5", "split": {"fraction": 0.8}}, "model": {"width": 16}, "steps": 4000}
MANY = {"base": {**BASE, "recording": {"every": 400}}, "seeds": 48}

GATHERER = """
import json, os, sys
from firstlight.sweeps import gather
for line in sys.stdin:
    bundles, store = json.loads(line)
    pid = os.fork()
    if not pid:
        os.dup2(2, 1)
        gather(bundles, store)
        os._exit(0)
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


def bundled(folder) -> dict[str, str]:
    """Read every bundle: none may be torn, and no run may have two results."""
    results: dict[str, str] = {}
    for path in bundle_paths(folder) if folder.is_dir() else ():
        for run in read_bundle(path):
            if run.record.status in runs.OVER:
                assert results.setdefault(run.record.id, run.record.result_digest) == run.record.result_digest
    return results


@pytest.mark.parametrize("kills", [3, pytest.param(80, marks=pytest.mark.soak)])
def test_gatherers_killed_again_and_again_lose_double_and_tear_nothing(tmp_path, kills):
    folder, chance = tmp_path / "runs", random.Random(kills)
    count = 40 * min(kills, 30)
    expected = {}
    for seed in range(count):
        record = RunRecord(spec=RunSpec(seed=seed), status="finished", steps=5, table=Table([5], {"loss": [seed / 7]}))
        write_bundle(folder, [BundledRun(record, {})])
        expected[record.id] = record.result_digest
    words = [sys.executable, "-W", "ignore", "-c", GATHERER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    killed = stores = 0
    with subprocess.Popen(words, **pipes) as nursery:
        while killed < kills:
            path, stores, known = tmp_path / f"{stores}.sqlite", stores + 1, {}
            while killed < kills and len(known) < count:
                nursery.stdin.write(json.dumps([str(folder), str(path)]) + "\n")
                nursery.stdin.flush()
                pid = int(nursery.stdout.readline())
                time.sleep(chance.uniform(0, 0.5))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                killed += os.waitstatus_to_exitcode(int(nursery.stdout.readline())) == -signal.SIGKILL
                if path.exists():
                    assert check_store(path).ok
                    with Store(path) as store:
                        now = {record.id: record.result_digest for record in store.runs()}
                    assert known.items() <= now.items() <= expected.items()
                    known = now
            report = gather(folder, path)
            assert (report.added, report.known) == (count - len(known), len(known))
            with Store(path) as store:
                assert {record.id: record.result_digest for record in store.runs()} == expected
        nursery.stdin.close()


@pytest.mark.soak
def test_dask_workers_killed_again_and_again_lose_double_and_tear_nothing(tmp_path):
    distributed = pytest.importorskip("distributed")
    sweep, chance, kills = sweep_from_mapping(MANY), random.Random(1), 60
    calm = {record.id: record.result_digest for record in runs.run_many(sweep.expand(), progress="off")}
    killed = sweeps = 0
    limits = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 60}
    with distributed.LocalCluster(processes=True, **limits) as cluster:
        over = threading.Event()

        def killer() -> None:
            nonlocal killed
            while not over.wait(chance.uniform(0.5, 5)):
                # A nanny gives up if its worker dies while it starts: only workers that the scheduler knows.
                nannies = [n for n in cluster.workers.values() if n.worker_address in cluster.scheduler.workers]
                workers = [nanny.pid for nanny in nannies if nanny.pid]
                if len(workers) < 2:  # wait for the last victim's successor; a nanny that gave up is replaced
                    cluster.sync(cluster._correct_state)
                elif killed < kills:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(chance.choice(workers), signal.SIGKILL)
                        killed += 1
                        print(f"{killed} kills", flush=True)

        thread = threading.Thread(target=killer)
        thread.start()
        try:
            while killed < kills:
                place, sweeps = tmp_path / str(sweeps), sweeps + 1
                bundles = place / "shared" if sweeps % 2 else None  # by bundle and by return, in turns
                options = {"cluster": cluster, "bundles": bundles, "wait_for_workers": 300, "progress": "off"}
                result = run_sweep(sweep, place / "runs.sqlite", **options)
                while set(result.frame.status) != {"finished"}:  # a point whose workers were all killed
                    result = run_sweep(sweep, place / "runs.sqlite", **options)
                assert {record.id: record.result_digest for record in result.records} == calm
                assert check_store(place / "runs.sqlite").ok
                with Store(place / "runs.sqlite") as store:
                    assert {record.id: record.result_digest for record in store.runs()} == calm
                if bundles is not None:
                    assert bundled(bundles / "runs") == calm
        finally:
            over.set()
            thread.join()
    print(f"{killed} workers killed in {sweeps} sweeps")
