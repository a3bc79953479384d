"""The loop that hands out batches, against workers that die and raise as they please."""

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from firstlight import runs
from firstlight.records import RunRecord, RunSpec
from firstlight.sweeps._batches import Batch, cut
from firstlight.sweeps._drive import drive
from firstlight.sweeps._pool import Pool, WorkerDied


class Unreliable(Pool):
    """A pool in memory: points in `deadly` kill the worker, those in `raising` raise, and others may be hit too."""

    def __init__(self, size: int, patience: int, deadly: set, raising: set, innocent: int, seed: int) -> None:
        self.size, self.patience, self.deadly, self.raising = size, patience, deadly, raising
        self.innocent, self.random, self.running = innocent, random.Random(seed), []
        self.most_suspects = 0

    workers = property(lambda self: self.size)
    room = property(lambda self: self.size - len(self.running))
    busy = property(lambda self: len(self.running))

    def start(self, batch: Batch) -> None:
        assert self.room
        self.running.append(batch)
        self.most_suspects = max(self.most_suspects, sum(b.suspect for b in self.running))

    def ended(self, seconds: float) -> list:
        batch = self.running.pop(self.random.randrange(len(self.running)))
        seeds = {spec.seed for spec in batch.specs}
        if seeds & self.deadly:
            return [(batch, WorkerDied("it died"))]
        if self.innocent and self.random.random() < 0.3 and len(batch) > 1:
            self.innocent -= 1
            return [(batch, WorkerDied("it was switched off"))]
        if seeds & self.raising:
            return [(batch, ZeroDivisionError("by zero"))]
        return [(batch, [runs.RunOutcome(RunRecord(spec=spec, status="finished")) for spec in batch.specs])]

    def close(self) -> None:
        pass


@given(
    points=st.integers(1, 30),
    size=st.integers(1, 4),
    patience=st.integers(1, 2),
    deadly=st.sets(st.integers(0, 29), max_size=4),
    raising=st.sets(st.integers(0, 29), max_size=4),
    innocent=st.integers(0, 5),
    seed=st.integers(0, 99),
)
def test_every_point_ends_once_and_only_the_guilty_fail(points, size, patience, deadly, raising, innocent, seed):
    specs = [RunSpec(seed=s, steps=10 + s % 3) for s in range(points)]
    pool = Unreliable(size, patience, deadly, raising, innocent, seed)
    records = []
    drive(cut(specs, size), pool, lambda outcome: records.append(outcome.record))
    assert Counter(r.spec.seed for r in records) == Counter(range(points))
    failed = {r.spec.seed for r in records if r.status == "failed"}
    assert failed == {s for s in deadly | raising if s < points}
    assert pool.most_suspects <= 1
    for record in records:
        if record.spec.seed in deadly:
            assert record.message.startswith("WorkerDied: it died while running this point alone")
        elif record.status == "failed":
            assert record.message.startswith("ZeroDivisionError: by zero")


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6), workers=st.integers(0, 8))
def test_batches_are_a_partition_that_shares_programs(sizes, workers):
    specs = [RunSpec(seed=s, steps=steps + 1) for steps, size in enumerate(sizes) for s in range(size)]
    batches = cut(specs, workers)
    assert Counter(spec.model_dump_json() for b in batches for spec in b.specs) == Counter(
        spec.model_dump_json() for spec in specs
    )
    assert all({runs.batch_key(spec) for spec in batch.specs} == {batch.key} for batch in batches)
    if len(specs) >= 16 * max(workers, 1):
        assert len(batches) >= 4 * workers
