"""Results by bundle instead of by return, and drivers that another terminal follows and cancels."""

import os
import signal
import sys
import threading
import time

import cloudpickle
import pytest

from firstlight import runs
from firstlight.records import FileError, RunRecord, Store, run_id
from firstlight.records._bundle import bundle_paths
from firstlight.runs import RunOutcome
from firstlight.sweeps import (
    SweepCancelled,
    SweepFolder,
    _control,
    _delivery,
    cancel_on_cluster,
    cluster_progress,
    open_folder,
    run_sweep,
    sweep_from_mapping,
    sweep_status,
)
from firstlight.sweeps._delivery import collect, run_bundled
from firstlight.sweeps._pool import Delivery

distributed = pytest.importorskip("distributed")
cloudpickle.register_pickle_by_value(sys.modules[__name__])

BASE = {"task": {"group": "Z5", "split": {"fraction": 0.8}}, "model": {"width": 16}, "steps": 40}
SWEEP = sweep_from_mapping({"name": "tiny", "base": BASE, "seeds": 16})


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=60
    ) as running:
        yield running


def slow(specs):
    """Pretends to train for a while; made by value in the workers, which cannot import this file."""
    time.sleep(0.3)
    return [RunOutcome(RunRecord(spec=spec, status="finished")) for spec in specs]


def test_a_worker_leaves_bundles_and_the_driver_reads_them(tmp_path):
    folder = SweepFolder.create(tmp_path / "shared", SWEEP, 0)
    specs = SWEEP.expand()[:3]
    (delivery,) = run_bundled(specs, str(folder.path))
    assert delivery.ids == tuple(map(run_id, specs))
    back = collect(folder, delivery)
    alone = runs.run_many(specs, progress="off")
    assert [run.record.table for run in back] == [record.table for record in alone]
    assert run_bundled(specs, str(folder.path)) == [delivery]  # nothing is trained twice
    assert run_bundled(specs[:1], str(folder.path))[0].ids == delivery.ids[:1]


def test_bundles_that_the_driver_cannot_see_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(_delivery, "VISIBLE_SECONDS", 0.1)
    folder = SweepFolder.create(tmp_path / "shared", SWEEP, 0)
    (delivery,) = run_bundled(SWEEP.expand()[:1], str(folder.path))
    with pytest.raises(FileError, match="must be the same shared filesystem on every machine"):
        collect(folder, Delivery((*delivery.ids, "0" * 64), delivery.paths))
    next(bundle_paths(folder.bundles)).unlink()
    with pytest.raises(FileError, match="is not a whole bundle of runs"):
        collect(folder, delivery)


def test_a_file_that_becomes_visible_late_is_waited_for(tmp_path):
    folder = SweepFolder.create(tmp_path / "shared", SWEEP, 0)
    (delivery,) = run_bundled(SWEEP.expand()[:1], str(folder.path))
    path = folder.bundles / delivery.paths[0]
    hidden = path.rename(tmp_path / "hidden")
    threading.Timer(0.5, lambda: hidden.rename(path)).start()
    assert len(collect(folder, delivery)) == 1


def test_a_sweep_by_bundle_on_a_cluster_has_the_numbers_of_one_by_return(cluster, tmp_path):
    options = {"cluster": cluster, "progress": "off"}
    bundled = run_sweep(SWEEP, tmp_path / "a.sqlite", bundles=tmp_path / "shared", **options)
    returned = run_sweep(SWEEP, tmp_path / "b.sqlite", **options)
    assert [r.result_digest for r in bundled.records] == [r.result_digest for r in returned.records]
    status = sweep_status(open_folder(tmp_path / "shared"))
    assert (status.finished, status.left) == (16, 0)
    # A new driver with an empty store gathers what is there, and trains nothing.
    ran = []
    again = run_sweep(SWEEP, tmp_path / "c.sqlite", bundles=tmp_path / "shared", cluster=cluster, progress=ran.append)
    assert not ran
    assert [r.result_digest for r in again.records] == [r.result_digest for r in returned.records]
    without = run_sweep(SWEEP, bundles=tmp_path / "shared", **options)
    assert [r.result_digest for r in without.records] == [r.result_digest for r in returned.records]


def test_a_sweep_by_bundle_goes_on_though_a_worker_is_killed(cluster, tmp_path):
    sweep = sweep_from_mapping({"base": {**BASE, "steps": 3000}, "seeds": 16})
    killed = []

    def kill(moment) -> None:
        if moment.done >= 3 and not killed:
            victim = next(iter(cluster.workers.values()))
            killed.append(victim.pid)
            os.kill(victim.process.pid, signal.SIGKILL)

    result = run_sweep(sweep, tmp_path / "a.sqlite", bundles=tmp_path / "shared", cluster=cluster, progress=kill)
    assert killed
    assert set(result.frame.status) == {"finished"}
    with Store(tmp_path / "a.sqlite") as store:
        assert len(store.run_ids()) == 16


def in_background(**options):
    """Run a sweep in a thread; return the thread and a list that gets how it ended."""
    ends = []

    def run() -> None:
        try:
            ends.append(run_sweep(SWEEP, progress="off", **options))
        except SweepCancelled as stopped:
            ends.append(stopped)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, ends


def test_another_terminal_follows_and_cancels_a_driver_by_the_scheduler(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(_control, "_SECONDS", 0.1)
    address = cluster.scheduler_address
    before = set(cluster_progress(address))
    thread, ends = in_background(store=tmp_path / "a.sqlite", cluster=address, worker=slow)
    deadline = time.monotonic() + 60
    while not (new := {id: s for id, s in cluster_progress(address).items() if id not in before and s["done"] >= 2}):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    ((id, state),) = new.items()
    assert (state["name"], state["state"], state["total"], state["bad"]) == ("tiny", "running", 16, 0)
    assert cancel_on_cluster(address, "no such sweep") == []
    assert cancel_on_cluster(address, id[:4]) == [id]
    thread.join(60)
    assert isinstance(ends[0], SweepCancelled)
    assert str(ends[0]).startswith("sweep cancelled with")
    assert cluster_progress(address)[id]["state"] == "cancelled"
    with Store(tmp_path / "a.sqlite") as store:
        assert 2 <= len(store.run_ids("finished")) < 16
    rest = run_sweep(SWEEP, tmp_path / "a.sqlite", cluster=address, worker=slow, progress="off")
    assert set(rest.frame.status) == {"finished"}


def test_another_terminal_follows_and_cancels_a_driver_by_its_folder(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(_control, "_SECONDS", 0.1)
    options = {"cluster": cluster.scheduler_address, "bundles": tmp_path / "shared", "worker": slow}
    thread, ends = in_background(store=tmp_path / "a.sqlite", **options)
    folder = SweepFolder(tmp_path / "shared")
    deadline = time.monotonic() + 60
    while folder.states().get("driver", {}).get("done", 0) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert sweep_status(folder).running > 0
    folder.cancel()
    thread.join(60)
    assert isinstance(ends[0], SweepCancelled)
    assert sweep_status(folder).cancelled
    assert set(run_sweep(SWEEP, tmp_path / "a.sqlite", progress="off", **options).frame.status) == {"finished"}
