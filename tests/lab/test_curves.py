"""Curves that the server remembers: complete, thinned, read from their last row on."""

import asyncio

import numpy as np

from firstlight.lab._curves import REMEMBERED, Curves
from firstlight.lab._reading import Reading
from firstlight.records import RunRecord, Store, Table, run_id
from tests.lab.conftest import spec


def test_a_growing_run_is_read_once_and_ends_as_its_table(places, monkeypatch):
    wanted, firsts, rows_from = spec(40), [], Store.rows_from

    def noting(store, run, first=0):
        firsts.append(first)
        return rows_from(store, run, first)

    monkeypatch.setattr(Store, "rows_from", noting)
    with Store(places.store, "rw") as store, store.open_run(wanted) as run:
        reading = Reading(places.store)
        curves = Curves(reading)

        def now():
            return asyncio.run(curves.of(run_id(wanted)))

        for step in range(10):
            run.append(step, {"train_loss": 1 / (1 + step), "hidden": 3.0, "array": np.ones(4)})
        run.commit()
        total, columns = now()
        assert (total, columns["step"]) == (10, list(range(10)))
        assert columns.keys() == {"step", "train_loss"}
        for step in range(10, 25):
            run.append(step, {"train_loss": 1 / (1 + step), "test_loss": 2.0})
        run.commit()
        total, columns = now()
        assert total == 25
        assert columns["train_loss"] == [1 / (1 + step) for step in range(25)]
        assert columns["test_loss"] == [None] * 10 + [2.0] * 15
        assert now() == (total, columns)
        assert firsts == [0, 10, 25]
        run.finish("finished")
        assert now() == (total, columns)
        assert now()[0] == 25
        assert firsts == [0, 10, 25]
        reading.close()


def test_a_hundred_thousand_rows_are_thinned_with_their_jump(places):
    n = 100_000
    accuracy = np.where(np.arange(n) == 70_123, 0.0, 1.0)
    record = RunRecord(
        spec=spec(n), status="finished", table=Table(np.arange(n), {"train_accuracy": accuracy, "train_loss": accuracy})
    )
    with Store(places.store, "rw") as store:
        store.put_run(record)
    reading = Reading(places.store)
    total, columns = asyncio.run(Curves(reading).of(record.id))
    assert total == n
    assert len(columns["step"]) <= 1200
    assert columns["train_accuracy"][columns["step"].index(70_123)] == 0.0
    reading.close()


def test_a_long_run_in_progress_is_shortened_in_memory_and_keeps_its_jumps(places, monkeypatch):
    from firstlight.lab import _curves

    monkeypatch.setattr(_curves, "MOST_ROWS", 200)
    wanted = spec(2000)
    with Store(places.store, "rw") as store, store.open_run(wanted) as run:
        reading = Reading(places.store)
        curves = Curves(reading)
        for start in range(0, 2000, 100):
            for step in range(start, start + 100):
                run.append(step, {"train_loss": 5.0 if step == 333 else 1 / (1 + step)})
            run.commit()
            total, columns = asyncio.run(curves.of(run_id(wanted), 100))
            assert total == start + 100
            assert len(curves._known[run_id(wanted)].steps) <= 200
        assert columns["train_loss"][columns["step"].index(333)] == 5.0
        assert columns["step"][-1] == 1999
        reading.close()


def test_only_a_few_runs_stay_in_memory(places):
    ids = []
    with Store(places.store, "rw") as store:
        for seed in range(REMEMBERED + 3):
            record = RunRecord(spec=spec(5, seed=seed), status="finished", table=Table([0], {"train_loss": [1.0]}))
            store.put_run(record)
            ids.append(record.id)
    reading = Reading(places.store)
    curves = Curves(reading)
    for id in ids:
        asyncio.run(curves.of(id))
    assert list(curves._known) == ids[-REMEMBERED:]
    reading.close()
