"""A sweep on processes of this machine: complete, once, the same bits, whatever happens to a worker."""

import contextlib
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from firstlight import runs
from firstlight.records import Store
from firstlight.sweeps import Sweep, SweepInterrupted, collect_sweep, run_sweep, sweep_from_mapping
from firstlight.sweeps._batches import cut
from firstlight.sweeps._local import LocalPool

BASE = {
    "task": {"group": "Z5", "split": {"fraction": 0.8}},
    "model": {"width": 16},
    "optimizer": {"learning_rate": 0.01},
    "steps": 40,
}
SWEEP = sweep_from_mapping({"base": BASE, "grid": {"optimizer.weight_decay": [0, 0.01]}, "seeds": 4})


def pretending(deadly=None, seconds=0.0):
    """A worker that pretends to train, and for which one point is the end; made here, it travels by value."""

    def worker(specs):
        import os
        import time

        from firstlight.records import RunRecord
        from firstlight.runs import RunOutcome

        time.sleep(seconds)
        if any((spec.seed, spec.optimizer.weight_decay) == deadly for spec in specs):
            os._exit(23)
        return [RunOutcome(RunRecord(spec=spec, status="finished", steps=spec.seed)) for spec in specs]

    return worker


def workers() -> list[str]:
    commands = []
    for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
        with contextlib.suppress(OSError):
            commands.append(Path(f"/proc/{pid}/cmdline").read_text())
    return [line for line in commands if "LokyProcess" in line]


def test_a_point_that_kills_its_worker_fails_alone_and_may_try_again(tmp_path):
    path = tmp_path / "runs.sqlite"
    moments = []
    result = run_sweep(SWEEP, path, jobs=1, progress=moments.append, worker=pretending(deadly=(2, 0.0)))
    bad = result.frame[result.frame.status != "finished"]
    assert [(row.seed, row["optimizer.weight_decay"]) for _, row in bad.iterrows()] == [(2, 0)]
    assert bad.iloc[0].message.startswith("WorkerDied: the worker process died (EXIT(23)) while running this point")
    assert [moment.done for moment in moments] == list(range(1, 9))
    assert (moments[-1].bad, moments[-1].remaining) == (1, 0.0)
    assert repr(collect_sweep(SWEEP, path)) == "SweepResult(8 points: 7 finished, 1 failed)"
    ran = []
    again = run_sweep(SWEEP, path, jobs=1, progress=lambda m: ran.append(m.record.spec.seed), worker=pretending())
    assert ran == [2]
    assert set(again.frame.status) == {"finished"}
    with Store(path) as store:
        assert sorted(store.run_ids()) == sorted(record.id for record in again.records)
    run_sweep(SWEEP, path, progress=ran.append)
    assert ran == [2], "a finished sweep ran again"


def test_a_worker_that_dies_with_nothing_to_do_is_replaced(tmp_path):
    first, *_ = cut(SWEEP.expand(), 1)
    pool = LocalPool(1, pretending())
    try:
        pool.start(first)
        ((_, outcomes),) = ended(pool)
        (process,) = pool._seats[0].executor._processes.values()
        os.kill(process.pid, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while pool._seats[0].executor._flags.broken is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        pool.start(first)
        ((_, again),) = ended(pool)
    finally:
        pool.close()
    assert [outcome.record.id for outcome in again] == [outcome.record.id for outcome in outcomes]


def ended(pool: LocalPool) -> list:
    while not (results := pool.ended(1.0)):
        pass
    return results


def test_workers_compute_the_bits_of_this_process(tmp_path):
    path = tmp_path / "runs.sqlite"
    result = run_sweep(SWEEP, path, jobs=1, keep_weights=True, progress="off")
    frame = result.frame
    for i, mine in enumerate(runs.run_many(list(result.specs), store=tmp_path / "mine.sqlite", progress="off")):
        assert mine.result_digest == result.records[i].result_digest
        expected = mine.summary["memorised_at"]
        assert frame.memorised_at[i] == expected or (expected is None and np.isnan(frame.memorised_at[i]))
        assert frame["final.test_loss"][i] == mine.table["test_loss"][-1]
    assert set(runs.load_model(result.records[0], path).W.shape) == {10, 16}


def test_ctrl_c_keeps_what_is_done_and_leaves_no_process(tmp_path):
    path = tmp_path / "runs.sqlite"
    seen = []

    def stop(moment) -> None:
        seen.extend(workers())
        if moment.done == 1:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(SweepInterrupted, match="of 8 points done; run it again with the same store"):
        run_sweep(SWEEP, path, jobs=1, progress=stop, worker=pretending(seconds=0.2))
    with Store(path) as store:
        assert 1 <= len(store.run_ids("finished")) < 8
    deadline = time.monotonic() + 10
    while workers() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert seen
    assert not workers()


def test_the_frame_shows_missing_points_and_fields_of_other_kinds(tmp_path):
    sweep = Sweep(points=({"model.width": 8}, {"model.kind": "deep", "model.widths": [4, 4]}), seeds=2)
    with Store(tmp_path / "runs.sqlite", "rw") as store:
        frame = collect_sweep(sweep, store).frame
    assert frame["status"].tolist() == ["missing"] * 4
    assert frame["model.kind"].tolist() == ["two_layer"] * 2 + ["deep"] * 2
    assert frame["model.widths"].tolist() == [None, None, (4, 4), (4, 4)]
    with pytest.raises(ValueError, match="jobs must be at least 1, got 0"):
        run_sweep(sweep, jobs=0)
