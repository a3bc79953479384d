"""A sweep on a `dask-jobqueue` SLURMCluster over TLS: workers come, go and run out of memory; the numbers stay."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import cloudpickle
import pytest

from firstlight import runs
from firstlight.records import RunRecord
from firstlight.runs import RunOutcome
from firstlight.sweeps import PoolExecutor, boundary, cluster_progress, run_sweep, sweep_from_mapping
from tests.slurm.conftest import wait_for

pytestmark = pytest.mark.slurm
_ctrl_c = signal.getsignal(signal.SIGINT)
jobqueue = pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed; make test-slurm installs it")
signal.signal(signal.SIGINT, _ctrl_c)  # its import replaces the handler, for every other test of the process
cloudpickle.register_pickle_by_value(sys.modules[__name__])

BASE = {
    "task": {"group": "Z7", "split": {"fraction": 0.6}},
    "model": {"width": 64},
    "steps": 60_000,
    "recording": {"every": 5000},
}
SWEEP = sweep_from_mapping({"name": "on Slurm", "base": BASE, "seeds": 8})


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Certificates made with the commands of the guide; Dask's configuration names them."""
    folder = tmp_path_factory.mktemp("tls")
    guide = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    script = guide.partition("```sh\nopenssl")[2].partition("```")[0]
    subprocess.run(["sh", "-ec", f"openssl{script}"], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def cluster(slurm, certificates, monkeypatch, tmp_path):
    from distributed.security import Security

    for name, value in slurm.items():
        monkeypatch.setenv(name, value)
    files = {"ca": certificates / "ca.pem", "cert": certificates / "cert.pem", "key": certificates / "key.pem"}
    roles = ("scheduler", "worker", "client")
    security = Security(
        tls_ca_file=str(files["ca"]),
        require_encryption=True,
        **{f"tls_{role}_{part}": str(files[part]) for role in roles for part in ("cert", "key")},
    )
    paths = os.pathsep.join(filter(None, sys.path))
    with jobqueue.SLURMCluster(
        cores=1,
        processes=1,
        memory="1200MB",
        walltime="00:20:00",
        interface="lo",
        protocol="tls://",
        security=security,
        local_directory=str(tmp_path / "workers"),
        log_directory=str(tmp_path / "logs"),
        job_script_prologue=[f"export PYTHONPATH={paths}"],
        scheduler_options={"dashboard_address": None, "interface": "lo", "allowed_failures": 1},
        job_extra_directives=["--mem=0"],
        silence_logs=60,
    ) as running:
        yield running
    subprocess.run(["scancel", "--user=root", "--full"], env=slurm, check=False, capture_output=True)


def test_workers_that_come_and_go_lose_nothing_and_change_nothing(cluster, tmp_path):
    assert cluster.scheduler_address.startswith("tls://")
    cluster.scale(jobs=1)
    killed = []

    def disturb(moment) -> None:
        if moment.done == 2:
            cluster.scale(jobs=2)
        if moment.done == 4 and not killed:  # a job is cancelled by its owner or preempted
            job = next(iter(cluster.workers.values())).job_id
            killed.append(job)
            subprocess.run(["scancel", "--signal=KILL", "--full", job], check=True)
            cluster.scale(jobs=3)

    result = run_sweep(
        SWEEP,
        tmp_path / "runs.sqlite",
        cluster=cluster,
        bundles=tmp_path / "shared",
        wait_for_workers=300,
        progress=disturb,
    )
    assert killed
    assert set(result.frame.status) == {"finished"}
    alone = runs.run_many(SWEEP.expand(), progress="off")
    assert [r.table for r in result.records] == [r.table for r in alone]
    returned = run_sweep(SWEEP, tmp_path / "b.sqlite", cluster=cluster, wait_for_workers=300, progress="off")
    assert [r.table for r in returned.records] == [r.table for r in alone]
    states = cluster_progress(cluster)
    assert [state["state"] for state in states.values()] == ["done", "done"]
    assert all(state["done"] == 8 for state in states.values())


def greedy(specs):
    """Takes more memory than its worker has, for one of the seeds."""
    import time

    if any(spec.seed == 2 for spec in specs):
        taken = [bytearray(b"1" * 2**26) for _ in range(40)]
        time.sleep(10 + len(taken))
    return [RunOutcome(RunRecord(spec=spec, status="finished")) for spec in specs]


def test_a_point_that_needs_more_memory_than_its_job_has_fails_alone(cluster, tmp_path):
    cluster.scale(jobs=1)
    sweep = sweep_from_mapping({"base": BASE, "seeds": 4})
    result = run_sweep(
        sweep, tmp_path / "runs.sqlite", cluster=cluster, worker=greedy, wait_for_workers=300, progress="off"
    )
    frame = result.frame.set_index("seed")
    assert frame.status.to_dict() == {0: "finished", 1: "finished", 2: "failed", 3: "finished"}
    assert "died while running this point alone; it may need more memory than is available" in frame.message[2]


def test_another_terminal_follows_a_sweep_and_cancels_it(cluster, certificates, tmp_path):
    cluster.scale(jobs=1)
    config = tmp_path / "config"
    config.mkdir()
    guide = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    settings = guide.partition("```yaml\n")[2].partition("```")[0].replace("/home/me/tls", str(certificates))
    (config / "tls.yaml").write_text(settings)

    def terminal(*words: str) -> subprocess.CompletedProcess[str]:
        paths = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "PYTHONPATH": paths, "DASK_CONFIG": str(config)}
        line = [sys.executable, "-m", "firstlight.cli", "sweeps", *words]
        return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120)

    many = sweep_from_mapping({"name": "on Slurm", "base": BASE, "seeds": 400})
    ends = []

    def drive() -> None:
        try:
            ends.append(run_sweep(many, cluster=cluster, wait_for_workers=300, progress="off"))
        except KeyboardInterrupt as stopped:
            ends.append(stopped)

    thread = threading.Thread(target=drive)
    thread.start()
    wait_for(lambda: any(s["done"] >= 1 for s in cluster_progress(cluster).values()), 240, "a finished point")
    shown = terminal("status", cluster.scheduler_address)
    assert "on Slurm" in shown.stdout, shown.stderr
    assert "running" in shown.stdout
    assert "asked 1 sweep to stop" in terminal("cancel", cluster.scheduler_address).stdout
    thread.join(120)
    assert "sweep cancelled with" in str(ends[0])


def test_a_boundary_is_searched_on_the_cluster(cluster):
    cluster.scale(jobs=1)
    base = {**BASE, "steps": 300}
    search = {"seeds": 2, "precision": 0.5, "axis": "log", "progress": "off"}
    here = boundary(base, "optimizer.learning_rate", (1e-3, 1e-1), **search)
    with PoolExecutor(cluster=cluster, wait_for_workers=300) as execute:
        there = boundary(base, "optimizer.learning_rate", (1e-3, 1e-1), executor=execute, **search)
    columns = ["optimizer.learning_rate", "seed", "success", "steps", "id"]
    assert there.frame[columns].equals(here.frame[columns])
