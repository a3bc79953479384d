"""`python -m tools.simulate`: a sweep of many points through the real scheduling code, with simulated workers.

Nothing is trained. The points, the batches, the loop between driver and workers, the plan of an array job with its
task files, and the division into tasks are the real ones. The workers are simulated on a clock of their own: each point
costs what was recorded for points of its size, workers die, are preempted and fail, in seeded random order.
"""

import argparse
import heapq
import json
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass

from firstlight.records import RunRecord, RunSpec
from firstlight.runs import RunOutcome
from firstlight.sweeps import SweepFolder, sweep_from_mapping
from firstlight.sweeps._affinity import Affinity
from firstlight.sweeps._batches import Batch, Waiting, cut
from firstlight.sweeps._drive import outcomes
from firstlight.sweeps._pool import Pool, Result, WorkerDied

SECONDS_PER_POINT = {"Z7": 0.038, "Z11": 0.043, "Z13": 0.042, "Z17": 0.065, "Z23": 0.119}
"""Recorded processor seconds of a point: 400 steps at width 256, half of the data, in batches of eight."""

COMPILE_SECONDS = 1.0
"""Recorded processor seconds to compile one of these programs."""


def sweep_of(points: int):
    """Return a sweep with this many points, a multiple of 2000: 5 groups, 40 fractions, 10 decays, and seeds."""
    fractions = [round(0.2 + 0.015 * k, 3) for k in range(40)]
    return sweep_from_mapping(
        {
            "base": {"steps": 400, "model": {"width": 256}},
            "grid": {
                "task.group": list(SECONDS_PER_POINT),
                "task.split.fraction": fractions,
                "optimizer.weight_decay": [0.0002 * k for k in range(10)],
            },
            "seeds": max(points // 2000, 1),
        }
    )


@dataclass
class Odds:
    """How often things go wrong.

    **Attributes:**

    - `death`: chance that the worker of a batch dies.
    - `failure`: chance that a batch raises.
    - `preemption`: chance that a batch is stopped halfway and starts again later.
    """

    death: float = 0.003
    failure: float = 0.001
    preemption: float = 0.01


class SimulatedPool(Pool):
    """Workers on a clock of their own.

    **Arguments:**

    - `size`: number of workers.
    - `odds`: what goes wrong.
    - `seed`: of the random events.
    """

    patience = 2

    def __init__(self, size: int, odds: Odds, seed: int = 0) -> None:
        self._size, self._odds, self._random = size, odds, random.Random(seed)
        self._running: list[tuple[float, int, Batch, Result, str]] = []
        self._free = dict.fromkeys(f"worker-{number}" for number in range(size))
        self._compiled: dict[str, set[str]] = {worker: set() for worker in self._free}
        self._affinity, self._next = Affinity(), ""
        self._count = 0
        self.clock = self.worked = 0.0
        self.events: Counter[str] = Counter()

    workers = property(lambda self: self._size)
    room = property(lambda self: self._size - len(self._running))
    busy = property(lambda self: len(self._running))
    suspects = property(lambda self: max(self._size // 4, 1))

    def choose(self, waiting: Waiting) -> Batch | None:
        self._next, batch = self._affinity.choose(waiting, list(self._free))
        return batch

    def start(self, batch: Batch) -> None:
        self._count += 1
        worker, self._next = self._next or next(iter(self._free)), ""
        del self._free[worker]
        seconds = sum(SECONDS_PER_POINT[spec.task.group] for spec in batch.specs)
        if batch.key not in self._compiled[worker]:
            self._compiled[worker].add(batch.key)
            seconds += COMPILE_SECONDS
            self.events["compilations"] += 1
        result: Result = [_outcome(spec) for spec in batch.specs]
        draw = self._random.random()
        if draw < self._odds.death:
            result, seconds = WorkerDied("it was killed"), seconds * self._random.random()
            self.events["deaths"] += 1
        elif draw < self._odds.death + self._odds.failure:
            result = RuntimeError("it raised")
            self.events["failures"] += 1
        elif draw < self._odds.death + self._odds.failure + self._odds.preemption:
            seconds += 60.0  # back in the queue, then from the checkpoint
            self.events["preemptions"] += 1
        self.worked += seconds
        heapq.heappush(self._running, (self.clock + seconds, self._count, batch, result, worker))

    def ended(self, seconds: float) -> list[tuple[Batch, Result]]:
        self.clock, _, batch, result, worker = heapq.heappop(self._running)
        self._free[worker] = None
        if isinstance(result, WorkerDied):
            self._compiled[worker].clear()
        return [(batch, result)]

    def close(self) -> None:
        pass


def _outcome(spec: RunSpec) -> RunOutcome:
    # One record for all: what a point holds is no part of scheduling it.
    return RunOutcome(_RECORD)


_RECORD = RunRecord(spec=RunSpec(), status="finished")


def simulate(points: int, workers: int, tasks: int, odds: Odds) -> dict[str, float]:
    """Schedule a sweep; return wall seconds, processor milliseconds per point and memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, start = time.perf_counter(), time.process_time()
    sweep = sweep_of(points)
    specs = sweep.expand()
    expanded = time.process_time()
    batches = cut(specs, workers)
    pool = SimulatedPool(workers, odds)
    statuses: Counter[str] = Counter()
    for outcome in outcomes(batches, pool):
        statuses[outcome.record.status] += 1  # type: ignore[union-attr]
    driven = time.process_time()
    with tempfile.TemporaryDirectory() as place:
        folder = SweepFolder.create(f"{place}/shared", specs, tasks)
        planned = time.process_time()
        seen = sum(len(batch) for task in range(folder.plan().tasks) for batch in folder.batches(task))
        read = time.process_time()
        size = sum(path.stat().st_size for path in folder.path.rglob("*") if path.is_file())
    count = len(specs)
    if sum(statuses.values()) != count or seen != count:
        raise RuntimeError(f"{count} points, but {sum(statuses.values())} outcomes and {seen} in tasks")
    return {
        "points": count,
        "batches": len(batches),
        "programs": len({batch.key for batch in batches}),
        "workers": workers,
        **{name: pool.events[name] for name in ("compilations", "deaths", "failures", "preemptions")},
        "failed_points": statuses["failed"],
        "simulated_hours": round(pool.clock / 3600, 2),
        "utilisation": round(pool.worked / (pool.clock * workers), 3),
        "wall_seconds": round(time.perf_counter() - wall, 1),
        "expand_ms_per_point": round((expanded - start) * 1e3 / count, 4),
        "drive_ms_per_point": round((driven - expanded) * 1e3 / count, 4),
        "plan_ms_per_point": round((planned - driven) * 1e3 / count, 4),
        "read_tasks_ms_per_point": round((read - planned) * 1e3 / count, 4),
        "memory_bytes_per_point": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / count),
        "memory_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "plan_bytes_per_point": round(size / count, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.simulate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000, help="a multiple of 2000")
    parser.add_argument("--workers", type=int, default=512)
    parser.add_argument("--tasks", type=int, default=1000)
    given = parser.parse_args()
    print(f"simulating {given.points:,} points; a million take some minutes", file=sys.stderr)
    print(json.dumps(simulate(given.points, given.workers, given.tasks, Odds()), indent=2))


if __name__ == "__main__":
    main()
