"""Gathering: what is in the bundles is in the store once, whatever happens to the files, the disk or the gatherer."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from firstlight import _interrupts as interrupts
from firstlight.records import RunRecord, RunSpec, Store, StoreError, Table, check_store, run_id
from firstlight.records._bundle import BundledRun, bundle_paths, write_bundle
from firstlight.sweeps import _gather as module
from firstlight.sweeps import gather, scatter_bundles
from tests.records.full_disk import limited


def run(seed: int, value: float = 1.0, *, status: str = "finished", seconds: float = 0.5) -> BundledRun:
    table = Table([0, 10], {"loss": [2.0, value]})
    record = RunRecord(spec=RunSpec(seed=seed), status=status, steps=10, seconds=seconds, table=table)
    return BundledRun(record, {"final": {"W": np.full((4, 3), float(seed))}})


@pytest.fixture
def bundles(tmp_path):
    for seed in range(12):
        write_bundle(tmp_path / "runs", [run(seed)])
    write_bundle(tmp_path / "runs", [run(seed) for seed in range(12, 20)])
    return tmp_path / "runs"


def seeds(path) -> list[int]:
    assert check_store(path).ok
    with Store(path) as store:
        return sorted(record.spec.seed for record in store.runs())


def test_gathering_again_adds_only_what_is_new(bundles, tmp_path):
    path = tmp_path / "runs.sqlite"
    report = gather(bundles, path)
    assert (report.added, report.known, str(report)) == (20, 0, "20 runs added, 0 known already")
    write_bundle(bundles, [run(20)])
    report = gather(bundles, path)
    assert (report.added, report.known, report.conflicts, report.damaged) == (1, 20, (), ())
    assert seeds(path) == list(range(21))
    with Store(path) as store:
        assert store.weights(RunSpec(seed=13))["W"].tolist() == run(13).weights["final"]["W"].tolist()


def test_a_duplicate_with_equal_numbers_is_known_and_one_with_others_is_reported(bundles, tmp_path):
    write_bundle(bundles, [run(3, seconds=9.0), run(4, seconds=9.0)])  # the same numbers in another batch
    write_bundle(bundles, [run(5, 7.0)])
    path = tmp_path / "runs.sqlite"
    for _ in range(2):
        report = gather(bundles, path)
        assert len(report.conflicts) == 1
        assert "has other numbers (finished, 10 steps) than the one kept (finished, 10 steps)" in report.conflicts[0]
    assert seeds(path) == list(range(20))
    with Store(path) as store:
        assert store.get_run(RunSpec(seed=5)).table["loss"].tolist() == [2.0, 1.0]


def test_weights_alone_are_no_conflict_and_are_added_to_a_run_without_them(bundles, tmp_path):
    gather(bundles, tmp_path / "heavy.sqlite")
    scatter_bundles(tmp_path / "heavy.sqlite", tmp_path / "light", weights=False)
    report = gather(tmp_path / "light", tmp_path / "heavy.sqlite")
    assert (report.added, report.known, report.conflicts) == (0, 20, ())
    path = tmp_path / "light.sqlite"
    assert gather(tmp_path / "light", path).added == 20
    for _ in range(2):
        report = gather(bundles, path)
        assert (report.added, report.known, report.conflicts) == (0, 20, ())
    assert seeds(path) == list(range(20))
    with Store(path) as store:
        assert store.weights(RunSpec(seed=13))["W"].tolist() == run(13).weights["final"]["W"].tolist()


def test_a_run_under_the_id_of_another_spec_is_damage(tmp_path):
    honest = run(1).record
    forged = RunRecord.model_validate({**dict(honest), "id": run_id(RunSpec(seed=7)), "spec_version": 0})
    write_bundle(tmp_path / "runs", [BundledRun(forged, {})])  # all of its digests are right
    report = gather(tmp_path / "runs", tmp_path / "runs.sqlite")
    assert (report.added, len(report.damaged)) == (0, 1)
    assert "is not that of its spec" in report.damaged[0]


def test_a_failed_run_gives_way_to_a_finished_one_and_never_the_other_way(tmp_path):
    bundles, path = tmp_path / "runs", tmp_path / "runs.sqlite"
    write_bundle(bundles, [run(1, status="failed"), run(2)])
    assert gather(bundles, path).added == 2
    write_bundle(bundles, [run(1)])
    write_bundle(bundles, [run(2, status="failed")])
    report = gather(bundles, path)
    assert (report.added, report.conflicts) == (1, ())
    with Store(path) as store:
        assert [store.run_status(RunSpec(seed=seed)) for seed in (1, 2)] == ["finished", "finished"]


def test_damaged_and_forged_files_are_reported_and_stay_and_the_rest_is_gathered(bundles, tmp_path):
    first, second, *_ = bundle_paths(bundles)
    first.write_bytes(first.read_bytes()[:300])
    content = bytearray(second.read_bytes())
    content[-5] ^= 1  # in the weights
    second.write_bytes(bytes(content))
    report = gather(bundles, tmp_path / "runs.sqlite")
    assert len(report.damaged) == 2
    assert all("is not a whole bundle of runs" in line for line in report.damaged)
    assert first.exists()
    assert second.exists()
    assert len(seeds(tmp_path / "runs.sqlite")) == report.added
    assert str(report).endswith("2 files damaged")


def test_an_interrupted_gathering_keeps_whole_transactions_and_goes_on(bundles, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 3)
    path = tmp_path / "runs.sqlite"

    def stop(done: int, total: int) -> None:
        if done >= 6:
            interrupts.note(signal.SIGTERM)

    try:
        with pytest.raises(KeyboardInterrupt):
            gather(bundles, path, progress=stop)
    finally:
        interrupts.forget()
    before = len(seeds(path))
    assert 6 <= before < 20
    assert gather(bundles, path).added == 20 - before
    assert seeds(path) == list(range(20))


def test_a_second_gatherer_waits_or_says_who_is_first(bundles, tmp_path):
    path = tmp_path / "runs.sqlite"
    reports = []
    with Store(path, "rw"):
        with pytest.raises(StoreError, match=r"is being written by process .*--wait SECONDS"):
            gather(bundles, path)
        patient = threading.Thread(target=lambda: reports.append(gather(bundles, path, wait=30)))
        patient.start()
        time.sleep(0.3)
    patient.join()
    assert reports[0].added == 20
    assert seeds(path) == list(range(20))


GATHER = "import sys; from firstlight.sweeps import gather; print(gather(sys.argv[1], sys.argv[2], wait=60).added)"


def test_two_gatherers_at_once_add_every_run_once(bundles, tmp_path):
    path = tmp_path / "runs.sqlite"
    words = [sys.executable, "-c", GATHER, str(bundles), str(path)]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(2)]
    added = [int(process.communicate(timeout=120)[0]) for process in both]
    assert sum(added) == 20
    assert seeds(path) == list(range(20))


def test_a_full_disk_is_one_line_and_nothing_gathered_is_lost(bundles, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 2)
    path = tmp_path / "runs.sqlite"
    with limited(120_000), pytest.raises(StoreError, match=r"record was not written|nothing was written|full|large"):
        gather(bundles, path)
    before = seeds(path) if path.exists() else []
    assert len(before) < 20
    assert gather(bundles, path).added == 20 - len(before)
    assert seeds(path) == list(range(20))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="mounts a folder, which needs root")
def test_bundles_on_a_read_only_filesystem_are_gathered(bundles, tmp_path):
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    mount = subprocess.run(["mount", "--bind", "-o", "ro", bundles, mounted], capture_output=True, text=True)
    if mount.returncode:
        pytest.skip(f"needs the right to mount: {mount.stderr.strip()}")
    try:
        assert gather(mounted, tmp_path / "runs.sqlite").added == 20
        write = subprocess.run(["touch", mounted / "x"], capture_output=True)
        assert write.returncode
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_what_is_scattered_is_gathered_to_the_same_records(bundles, tmp_path):
    gather(bundles, tmp_path / "a.sqlite")
    with Store(tmp_path / "a.sqlite", "rw") as store:
        store.put_run(run(99, status="failed").record)
    assert scatter_bundles(tmp_path / "a.sqlite", tmp_path / "again") == 20
    assert scatter_bundles(tmp_path / "a.sqlite", tmp_path / "again") == 20
    assert gather(tmp_path / "again", tmp_path / "b.sqlite").added == 20
    with Store(tmp_path / "a.sqlite") as a, Store(tmp_path / "b.sqlite") as b:
        assert {r.id: r.digest for r in b.runs()} == {r.id: r.digest for r in a.runs("finished")}
    assert scatter_bundles(tmp_path / "a.sqlite", tmp_path / "light", weights=False) == 20
    sizes = [sum(path.stat().st_size for path in bundle_paths(tmp_path / name)) for name in ("again", "light")]
    assert sizes[1] < sizes[0]
