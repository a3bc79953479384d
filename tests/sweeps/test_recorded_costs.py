"""The cost of a sweep from earlier runs of its programs, without a sample."""

import pytest

from firstlight.records import RunRecord, RunSpec, Store
from firstlight.records._store._runs import stored_bytes
from firstlight.sweeps import estimate_sweep


def test_earlier_runs_of_a_program_give_its_cost(tmp_path):
    specs = [RunSpec(seed=seed) for seed in range(10)]
    plain = estimate_sweep(specs, 10, 1)
    assert (plain.sampled, plain.recorded) == (0, 0)
    with Store(tmp_path / "runs.sqlite", "rw") as store:
        assert estimate_sweep(specs, 10, 1, store=store) == plain
        times = {100: ("finished", 7.0), 101: ("finished", 5.0), 102: ("diverged", 6.0), 103: ("failed", 900.0)}
        for seed, (status, seconds) in times.items():
            store.put_run(RunRecord(spec=RunSpec(seed=seed), status=status, steps=10, seconds=seconds))
        elsewhere = {"machine": {"processor": "another"}, "status": "finished", "seconds": 800.0}
        store.put_run(RunRecord(spec=RunSpec(seed=104), **elsewhere))
        store.put_run(RunRecord(spec=RunSpec(seed=105, steps=3), status="finished", seconds=700.0))
        expected = estimate_sweep(specs, 10, 1, store=store)
        twice = estimate_sweep(specs * 2, 20, 1, store=store)
        size = stored_bytes(store.get_run(RunSpec(seed=102)))
    assert (expected.sampled, expected.recorded) == (0, 1)
    # The time to compile is in both; the median of the three comparable runs is 6 s.
    assert 3600 * (twice.core_hours - expected.core_hours) == pytest.approx(10 * 6.0)
    assert expected.disk == pytest.approx(10 * size)


def test_a_program_with_earlier_runs_is_not_sampled(tmp_path, monkeypatch):
    def never(spec, data):
        raise AssertionError("the cost of this program is known")

    monkeypatch.setattr("firstlight.sweeps._estimate.measure", never)
    with Store(tmp_path / "runs.sqlite", "rw") as store:
        store.put_run(RunRecord(spec=RunSpec(seed=1), status="finished", steps=10, seconds=50.0))
        expected = estimate_sweep([RunSpec(seed=seed) for seed in range(99)], 99, 2, sample=None, store=store)
    assert (expected.sampled, expected.recorded) == (0, 1)
