"""A sweep on a real Dask cluster of two worker processes, which are killed while it runs."""

import os
import signal

import pytest

from firstlight import runs
from firstlight.records import Store
from firstlight.sweeps import ClusterError, _cluster, run_sweep, sweep_from_mapping

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
        from firstlight.runs import Outcome

        if any(spec.seed == 5 for spec in specs):
            os._exit(1)
        return [Outcome(RunRecord(spec=spec, status="finished")) for spec in specs]

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
