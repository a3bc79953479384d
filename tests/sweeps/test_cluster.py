"""A sweep on a real Dask cluster of two worker processes, which are killed while it runs."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import cloudpickle
import pytest

from firstlight import runs
from firstlight.cli import _signals as signals
from firstlight.records import Store
from firstlight.sweeps import ClusterError, SweepInterrupted, _cluster, run_sweep, sweep_from_mapping

distributed = pytest.importorskip("distributed")

BASE = {"task": {"group": "Z5", "split": {"fraction": 0.8}}, "model": {"width": 16}, "steps": 40}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=60
    ) as running:
        yield running


def test_every_point_is_there_once_though_a_worker_is_killed(cluster, tmp_path):
    sweep = sweep_from_mapping({"base": BASE, "grid": {"optimizer.weight_decay": [0, 0.01]}, "seeds": 12})
    path = tmp_path / "runs.sqlite"
    killed = []

    def kill(moment) -> None:
        if moment.done >= 3 and not killed:
            victim = next(iter(cluster.workers.values()))
            killed.append(victim.pid)
            os.kill(victim.process.pid, signal.SIGKILL)

    result = run_sweep(sweep, path, cluster=cluster.scheduler_address, progress=kill)
    assert killed
    assert result.frame.status.tolist() == ["finished"] * 24
    with Store(path) as store:
        assert sorted(store.run_ids()) == sorted(record.id for record in result.records)
    alone = runs.run_many(list(result.specs), progress="off")
    assert [r.table for r in alone] == [r.table for r in result.records]


def test_a_point_that_kills_every_worker_fails_and_the_rest_go_on(cluster, monkeypatch):
    def deadly(specs):
        import os

        from firstlight.records import RunRecord
        from firstlight.runs import RunOutcome

        if any(spec.seed == 5 for spec in specs):
            os._exit(1)
        return [RunOutcome(RunRecord(spec=spec, status="finished")) for spec in specs]

    # With the three failures that Dask allows, the deadly point would kill eight workers.
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    sweep = sweep_from_mapping({"base": BASE, "seeds": 8})
    result = run_sweep(sweep, cluster=cluster.scheduler_address, progress="off", worker=deadly)
    frame = result.frame.set_index("seed")
    assert frame.status.drop(5).tolist() == ["finished"] * 7
    assert frame.status[5] == "failed"
    assert "1 worker of the cluster died while running this point alone" in frame.message[5]


def test_a_cluster_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setattr(_cluster, "CONNECT_SECONDS", 0.5)
    sweep = sweep_from_mapping({"base": BASE})
    with pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1 "):
        run_sweep(sweep, cluster="tcp://127.0.0.1:1")


def slow(specs):
    """Pretends to train for a while; made by value in the workers, which cannot import this file."""
    import time

    from firstlight.records import RunRecord
    from firstlight.runs import RunOutcome

    time.sleep(0.2)
    return [RunOutcome(RunRecord(spec=spec, status="finished")) for spec in specs]


cloudpickle.register_pickle_by_value(sys.modules[__name__])

EIGHT = sweep_from_mapping({"base": BASE, "seeds": 8})


def finished(path) -> int:
    with Store(path) as store:
        return len(store.run_ids("finished"))


def test_a_worker_that_dies_while_the_driver_starts_is_not_a_missing_package(cluster, monkeypatch, tmp_path):
    marker = tmp_path / "died"

    def die_once() -> str:
        import os

        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            import firstlight

            return firstlight.__version__
        os._exit(1)

    monkeypatch.setattr(_cluster, "_version", die_once)
    result = run_sweep(EIGHT, cluster=cluster.scheduler_address, progress="off", worker=slow)
    assert marker.exists()
    assert result.frame.status.tolist() == ["finished"] * 8


def test_a_worker_without_the_package_is_named(cluster, monkeypatch):
    def missing() -> str:
        raise ModuleNotFoundError("No module named 'firstlight'")

    monkeypatch.setattr(_cluster, "_version", missing)
    with pytest.raises(ClusterError, match=r"worker .* cannot import firstlight \(No module named 'firstlight'\)"):
        run_sweep(EIGHT, cluster=cluster.scheduler_address, progress="off", worker=slow)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_keeps_what_is_done_and_the_same_sweep_goes_on(cluster, tmp_path, number):
    path = tmp_path / "runs.sqlite"

    def stop(moment) -> None:
        if moment.done == 2:
            os.kill(os.getpid(), number)

    options = {"cluster": cluster.scheduler_address, "worker": slow}
    with signals.listening(), pytest.raises(SweepInterrupted, match="of 8 points done; run it again"):
        run_sweep(EIGHT, path, progress=stop, **options)
    before = finished(path)
    assert 2 <= before < 8
    ran = []
    assert run_sweep(EIGHT, path, progress=ran.append, **options).frame.status.tolist() == ["finished"] * 8
    assert len(ran) == 8 - before


def test_tls_without_certificates_is_one_line():
    with pytest.raises(ClusterError, match=r"tls://127\.0\.0\.1:1 needs TLS, but no certificate is configured; set"):
        run_sweep(EIGHT, cluster="tls://127.0.0.1:1")


class Machines:
    """A scheduler and a worker as processes of their own, as on a cluster."""

    def __init__(self, folder, *words, **settings: str) -> None:
        self.environment = {**os.environ, **settings}
        file = folder / "scheduler.json"
        self.scheduler = self._start(
            "dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file, *words
        )
        deadline = time.monotonic() + 120
        while not file.exists() or not file.read_text().endswith("}"):
            assert time.monotonic() < deadline, "the scheduler did not start"
            time.sleep(0.05)
        self.address = json.loads(file.read_text())["address"]
        words = ("--nthreads", "1", "--nworkers", "1", "--no-dashboard", "--no-nanny")
        self.worker = self._start("dask_worker", self.address, *words)

    def _start(self, program: str, *words) -> subprocess.Popen:
        line = [sys.executable, "-m", f"distributed.cli.{program}", *map(str, words)]
        return subprocess.Popen(line, env=self.environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def __enter__(self) -> "Machines":
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self.worker, self.scheduler):
            process.terminate()
        for process in (self.worker, self.scheduler):
            process.wait(30)


def test_a_lost_scheduler_is_one_line_and_the_same_sweep_goes_on(cluster, tmp_path, capfd):
    path = tmp_path / "runs.sqlite"
    with Machines(tmp_path) as machines:

        def lose(moment) -> None:
            if moment.done == 2:
                machines.scheduler.kill()

        with pytest.raises(ClusterError, match=r"lost the scheduler at tcp:.*all finished points are recorded"):
            run_sweep(EIGHT, path, cluster=machines.address, progress=lose, worker=slow)
    assert capfd.readouterr().err == ""
    assert 2 <= finished(path) < 8
    again = run_sweep(EIGHT, path, cluster=cluster.scheduler_address, progress="off", worker=slow)
    assert again.frame.status.tolist() == ["finished"] * 8


@pytest.mark.soak
def test_a_point_that_needs_more_memory_than_a_worker_has_fails_and_the_rest_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(_cluster, "WAIT_FOR_WORKERS", 600.0)  # the nanny starts a new worker, slowly on a busy machine

    def greedy(specs):
        import time

        from firstlight.records import RunRecord
        from firstlight.runs import RunOutcome

        if any(spec.seed == 2 for spec in specs):
            taken = [bytearray(b"1" * 2**26) for _ in range(32)]
            time.sleep(5 + len(taken))
        return [RunOutcome(RunRecord(spec=spec, status="finished")) for spec in specs]

    limits = {"memory_limit": "1GB", "dashboard_address": None, "silence_logs": 60}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, **limits) as small:
        small.scheduler.allowed_failures = 0
        sweep = sweep_from_mapping({"base": BASE, "seeds": 4})
        result = run_sweep(sweep, tmp_path / "runs.sqlite", cluster=small.scheduler_address, worker=greedy)
    frame = result.frame.set_index("seed")
    assert frame.status.to_dict() == {0: "finished", 1: "finished", 2: "failed", 3: "finished"}
    assert "died while running this point alone; it may need more memory than is available" in frame.message[2]


@pytest.mark.soak
def test_a_sweep_over_tls_with_the_commands_of_the_guide(tmp_path):
    guide = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    script = guide.partition("```sh\nopenssl")[2].partition("```")[0]
    subprocess.run(["sh", "-ec", f"openssl{script}"], cwd=tmp_path, check=True, capture_output=True)
    settings = guide.partition("```yaml\n")[2].partition("```")[0].replace("/home/me/tls", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "tls.yaml").write_text(settings)
    (tmp_path / "sweep.toml").write_text("seeds = 2\n[base]\nsteps = 5\nmodel.width = 8\ntask.group = 'Z5'\n")
    with Machines(tmp_path, "--protocol", "tls", DASK_CONFIG=str(tmp_path / "config")) as machines:
        assert machines.address.startswith("tls://")
        line = [sys.executable, "-m", "firstlight.cli", "sweep", "sweep.toml", "--cluster", machines.address]
        options = {"cwd": tmp_path, "capture_output": True, "text": True, "check": False}
        done = subprocess.run(line, env=machines.environment, **options)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert "2 points: 2 finished" in done.stdout
        refused = subprocess.run([*line, "--force"], env=os.environ, **options)
        assert refused.returncode == 2
        estimate, refusal = refused.stderr.splitlines()
        assert estimate.startswith("2 of 2 points to run")
        assert "needs TLS, but no certificate is configured" in refusal
