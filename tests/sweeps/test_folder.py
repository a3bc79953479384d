"""Sweeps as folders: planned, trained task by task, killed and resumed, they give the numbers of a local sweep."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from firstlight import _interrupts as interrupts
from firstlight import runs
from firstlight.records import FileError, RunRecord, RunSpec, Store, run_id
from firstlight.records._bundle import BundledRun, bundle_paths, read_bundle, read_header, write_bundle
from firstlight.sweeps import (
    FolderError,
    SweepFolder,
    TaskInterrupted,
    _task,
    collect_sweep,
    gather,
    open_folder,
    run_sweep,
    run_task,
    sweep_from_mapping,
    sweep_status,
)
from firstlight.sweeps._attempts import Attempts

BASE = {"task": {"group": "Z5", "split": {"fraction": 0.8}}, "model": {"width": 16}, "steps": 40}
SWEEP = sweep_from_mapping({"base": BASE, "grid": {"optimizer.weight_decay": [0, 0.01]}, "seeds": 12})


def table(frame):
    return frame.drop(columns="seconds").sort_values("id").reset_index(drop=True)


@pytest.fixture
def folder(tmp_path):
    return SweepFolder.create(tmp_path / "shared", SWEEP, 2)


def test_the_plan_holds_every_point_once_and_tasks_share_programs(folder):
    plan = open_folder(folder.path).plan()
    assert (plan.points, plan.tasks) == (24, 2)
    batches = [batch for task in range(2) for batch in folder.batches(task)]
    assert sorted(run_id(spec) for batch in batches for spec in batch) == sorted(map(run_id, SWEEP.expand()))
    assert all(len({runs.batch_key(spec) for spec in batch}) == 1 for batch in batches)


def test_a_plan_is_reused_and_another_one_refused(folder):
    assert SweepFolder.create(folder.path, SWEEP, 2).plan() == folder.plan()
    for change in ({"tasks": 3}, {"keep_weights": True}):
        with pytest.raises(FolderError, match=r"holds another sweep, or this one with other options"):
            SweepFolder.create(folder.path, SWEEP, **{"tasks": 2, **change})
    with pytest.raises(ValueError, match="has tasks 0 to 1; got 2"):
        folder.batches(2)
    (folder.path / "tasks" / "1.json.z").write_bytes(b"?")
    with pytest.raises(FileError, match=r"1\.json\.z cannot be read .*plan the sweep again"):
        folder.batches(1)
    with pytest.raises(FileError, match=r"holds no sweep: there is no sweep\.json"):
        open_folder(folder.path / "tasks")
    with pytest.raises(ValueError, match="at least one task; got -1"):
        SweepFolder.create(folder.path, SWEEP, -1)


def test_tasks_give_the_numbers_of_a_local_sweep(folder, tmp_path):
    moments = []
    for task in range(2):
        assert run_task(folder, task, on_point=lambda done, total: moments.append((done, total))) == 12
        assert moments[-1] == (12, 12)
        assert run_task(folder, task) == 0
    assert not list(folder.checkpoints.glob("*/*"))
    status = sweep_status(folder)
    assert (status.finished, status.left, status.running, status.remaining) == (24, 0, 0, 0.0)
    assert gather(folder.bundles, tmp_path / "gathered.sqlite").added == 24
    runs.run_many(SWEEP.expand(), store=tmp_path / "local.sqlite", progress="off", keep_weights=False)
    gathered, local = (collect_sweep(SWEEP, tmp_path / f"{name}.sqlite").frame for name in ("gathered", "local"))
    assert table(gathered).equals(table(local))


def test_the_status_counts_only_bundles_of_its_own_points(folder, tmp_path):
    foreign = RunRecord(spec=RunSpec(seed=99), status="finished", seconds=1e6)
    write_bundle(folder.bundles, [BundledRun(foreign, {})])
    now = sweep_status(folder)
    assert (now.finished, now.left, now.seconds) == (0, 24, None)
    listed = SweepFolder.create(tmp_path / "listed", [RunSpec(seed=99), RunSpec(seed=100)], 0)
    write_bundle(listed.bundles, [BundledRun(foreign, {})])
    assert (sweep_status(listed).finished, sweep_status(listed).left) == (1, 1)
    points = listed.path / "points.bin"
    points.write_bytes(points.read_bytes()[:32])
    with pytest.raises(FileError, match=r"points\.bin does not list the points of the plan; plan the sweep in a new"):
        sweep_status(listed)
    points.unlink()  # a folder of an earlier version
    assert sweep_status(listed).finished == 1


def test_the_status_counts_and_expects(folder):
    now = sweep_status(folder)
    assert (now.left, now.running, now.seconds, now.remaining) == (24, 0, None, None)
    run_task(folder, 0)
    folder.report("1", {"state": "running", "points": 3, "seconds": 30.0})
    now = sweep_status(folder)
    assert (now.finished, now.left, now.running) == (12, 12, 1)
    states = folder.states()
    seconds = (30.0 + states["0"]["seconds"]) / 15
    assert now.seconds == pytest.approx(seconds)
    assert now.remaining == pytest.approx(12 * seconds)
    path = folder.path / "state" / "1.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"at": time.time() - 1000}))
    assert sweep_status(folder).running == 0
    path.write_text("{")
    (next(bundle_paths(folder.bundles))).write_bytes(b"")
    now = sweep_status(folder)
    assert len(now.damaged) == 1
    assert now.left > 12


def test_a_failed_point_is_trained_again_and_a_part_of_a_batch_is_recognised(tmp_path, monkeypatch):
    sweep = sweep_from_mapping({"base": BASE, "seeds": 16})
    folder = SweepFolder.create(tmp_path / "shared", sweep, 1)
    assert [len(batch) for batch in folder.batches(0)] == [2] * 8
    real = runs.compute

    def unlucky(specs, **options):
        outcomes = real(specs, **options)
        return [
            runs.RunOutcome(runs.failure(spec, ValueError("no"))) if spec.seed in (3, 4, 5) else outcome
            for spec, outcome in zip(specs, outcomes, strict=True)
        ]

    with monkeypatch.context() as patch:
        patch.setattr(runs, "compute", unlucky)
        run_task(folder, 0)
    assert (sweep_status(folder).finished, sweep_status(folder).failed) == (13, 3)
    assert run_task(folder, 0) == 3
    assert run_task(folder, 0) == 0
    assert (sweep_status(folder).finished, sweep_status(folder).failed) == (16, 0)
    assert gather(folder.bundles, tmp_path / "runs.sqlite").conflicts == ()
    with Store(tmp_path / "runs.sqlite") as store:
        assert len(store.run_ids("finished")) == 16


LONG = sweep_from_mapping({"base": {**BASE, "steps": 20_000, "recording": {"every": 500}, "snapshots": 2}, "seeds": 2})
WORK = "import sys; from firstlight.sweeps import *; run_task(open_folder(sys.argv[1]), 0, checkpoint_seconds=0.05)"


def start(folder) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", WORK, str(folder.path)], stderr=subprocess.DEVNULL)


def checkpoints(folder) -> list:
    return list(folder.checkpoints.glob("*/*/*.safetensors"))


def test_a_killed_task_resumes_from_its_checkpoint_to_the_same_bits(tmp_path):
    folder = SweepFolder.create(tmp_path / "shared", LONG, 1, keep_weights=True)
    process = start(folder)
    deadline = time.monotonic() + 120
    while not checkpoints(folder):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert checkpoints(folder)
    assert not list(folder.bundles.glob("*/*")) or len(list(folder.bundles.glob("*/*"))) < 2
    run_task(folder, 0)
    bundled = {
        run.record.id: run.record.result_digest for path in bundle_paths(folder.bundles) for run in read_bundle(path)
    }
    whole = runs.run_many(LONG.expand(), store=tmp_path / "whole.sqlite", progress="off")
    assert bundled == {record.id: record.result_digest for record in whole}
    assert not checkpoints(folder)


def test_a_signal_leaves_a_checkpoint_and_a_cancellation_stops_the_task(tmp_path, monkeypatch):
    folder = SweepFolder.create(tmp_path / "shared", LONG, 1)
    monkeypatch.setattr(_task, "_REPORT_SECONDS", 0.05)
    folder.cancel()
    with pytest.raises(TaskInterrupted, match="was cancelled"):
        run_task(folder, 0)
    folder.allow()
    real = folder.report

    def cancel_meanwhile(name, state):
        real(name, state)
        if state["state"] == "running" and checkpoints(folder):
            folder.cancel()

    monkeypatch.setattr(folder, "report", cancel_meanwhile)
    with pytest.raises(TaskInterrupted, match="was cancelled"):
        run_task(folder, 0, checkpoint_seconds=0.0)
    assert interrupts.requested() is None
    assert checkpoints(folder)
    assert folder.states()["0"]["state"] == "interrupted"
    assert sweep_status(folder).cancelled
    monkeypatch.undo()
    folder.allow()
    assert run_task(folder, 0) >= 1
    assert sweep_status(folder).left == 0


class Death(BaseException):
    """Ends a task as kill -9 does: nothing is cleaned up."""


def test_a_batch_that_kills_its_task_is_split_and_its_guilty_point_fails_alone(tmp_path, monkeypatch):
    sweep = sweep_from_mapping({"base": BASE, "seeds": 16})
    folder = SweepFolder.create(tmp_path / "shared", sweep, 1)
    real = runs.compute

    def deadly(specs, **options):
        if any(spec.seed == 5 for spec in specs):
            raise Death
        return real(specs, **options)

    deaths = 0
    with monkeypatch.context() as patch:
        patch.setattr(runs, "compute", deadly)
        patch.setattr(Attempts, "__exit__", lambda self, *_: None)
        while deaths < 12:
            try:
                run_task(folder, 0)
                break
            except Death:
                deaths += 1
    assert deaths == 5  # twice with its neighbour, three times alone
    status = sweep_status(folder)
    assert (status.finished, status.failed, status.left) == (15, 1, 0)
    records = [run.record for path in bundle_paths(folder.bundles) for run in read_bundle(path)]
    (failed,) = [record for record in records if record.status == "failed"]
    assert failed.spec.seed == 5
    assert "the task died 3 times while it trained this point alone" in failed.message
    assert run_task(folder, 0) == 1
    assert sweep_status(folder).failed == 0


def test_a_death_after_a_new_checkpoint_does_not_count(tmp_path):
    Attempts(tmp_path).__enter__()
    assert Attempts(tmp_path).deaths == 1
    Attempts(tmp_path).__enter__()
    (tmp_path / "lanes").mkdir()
    (tmp_path / "lanes" / "lane-0-seed-0.safetensors").write_bytes(b"1")
    assert Attempts(tmp_path).deaths == 0
    with pytest.raises(KeyboardInterrupt), Attempts(tmp_path):
        raise KeyboardInterrupt
    assert Attempts(tmp_path).deaths == 0
    (tmp_path / "attempt.json").write_text("[]")
    assert Attempts(tmp_path).deaths == 0


def test_force_is_refused_where_bundles_would_answer_for_it(tmp_path):
    (tmp_path / "driven" / "runs").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"bundles are never replaced and .*driven has some; give a new folder"):
        run_sweep(SWEEP, bundles=tmp_path / "driven", force=True)


def test_a_report_from_a_clock_that_is_ahead_does_not_run_for_ever(folder, monkeypatch):
    folder.report("0", {"state": "running"})
    assert folder.states()["0"]["running"]
    now = time.time()
    for skew in (-600, 600):
        monkeypatch.setattr(time, "time", lambda skew=skew: now + skew)
        assert not folder.states()["0"]["running"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="mounts a disk, which needs root")
def test_a_full_disk_and_a_read_only_folder_stop_a_task_in_words(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk], capture_output=True, text=True)
    if mount.returncode:
        pytest.skip(f"needs the right to mount: {mount.stderr.strip()}")
    try:
        sweep = sweep_from_mapping({"base": BASE, "seeds": 16})
        folder = SweepFolder.create(disk / "shared", sweep, 1)
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        (disk / "ballast").write_bytes(b"\0" * (free - 40_000))
        with pytest.raises(FolderError, match=r"cannot write into .* \(No space left on device\); all bundles"):
            run_task(folder, 0)
        written = [read_header(path) for path in bundle_paths(folder.bundles)]
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with pytest.raises(FolderError, match=r"cannot write into .* \(Read-only file system\)"):
            run_task(folder, 0)
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        (disk / "ballast").unlink()
        assert run_task(folder, 0) == 16 - sum(map(len, written))
        assert sweep_status(folder).finished == 16
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_signal_to_a_task_of_the_command_line_ends_it_with_143(tmp_path):
    folder = SweepFolder.create(tmp_path / "shared", LONG, 1)
    words = [sys.executable, "-m", "firstlight.cli", "sweeps", "work", str(folder.path), "--task", "0"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not list(folder.checkpoints.glob("*/attempt.json")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    error = process.communicate(timeout=120)[1]
    assert process.returncode == 143
    assert "checkpoints are in" in error
