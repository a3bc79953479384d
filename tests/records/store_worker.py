"""A program that writes or reads a store, to be started, watched and killed by the tests."""

import functools
import sys
import time
from pathlib import Path

import numpy as np

from firstlight.records import GroupTask, RunRecord, RunSpec, Store, Table

STEPS = 40


def spec(seed: int) -> RunSpec:
    """Even seeds are streamed, odd ones written whole."""
    return RunSpec(task=GroupTask(group="Z23"), steps=STEPS, seed=seed)


def advance(state: np.ndarray) -> np.ndarray:
    """One step of a chaotic map: any bit lost on the way shows."""
    return 3.9 * state * (1 - state)


def observe(state: np.ndarray) -> dict[str, float | np.ndarray]:
    return {"mean": float(state.mean()), "state": state}


def train(store: Store, seed: int) -> RunRecord:
    """Run from the beginning, in place of what a killed process left."""
    with store.open_run(spec(seed)) as run:
        state = np.linspace(0.1, 0.9, 5) + seed * 1e-6
        for step in range(STEPS + 1):
            run.append(step, observe(state))
            if step % 3 == 0:
                run.commit()
            last, state = state, advance(state)
        return run.finish(weights={"final": {"state": last}})


@functools.cache
def whole(seed: int) -> tuple[RunRecord, dict[str, dict[str, np.ndarray]]]:
    """The same run as one record."""
    state, rows = np.linspace(0.1, 0.9, 5) + seed * 1e-6, []
    for step in range(STEPS + 1):
        rows.append((step, observe(state)))
        last, state = state, advance(state)
    record = RunRecord(spec=spec(seed), status="finished", steps=STEPS, table=Table.from_rows(rows))
    return record, {"final": {"state": last}}


def write(path: Path, runs: int) -> None:
    """Write the runs that are missing, saying after each that it is written."""
    with Store(path, "rw") as store:
        for seed in range(runs):
            if store.run_status(spec(seed)) == "finished":
                continue
            if seed % 2:
                store.put_run(*whole(seed))
            else:
                train(store, seed)
            print(seed, flush=True)


def read(path: Path, runs: int) -> None:
    """Read until all runs are there, all with a new connection, then the latest with the old; say how often."""
    expected = {seed: whole(seed)[0].table for seed in range(runs)}
    reads, done = 0, 0
    while done < runs:
        time.sleep(0.1)
        with Store(path) as store:
            records = store.runs()
            finished = [record for record in records if record.status == "finished"]
            assert len(finished) >= done, "a finished run has disappeared"
            done, reads = len(finished), reads + 1
            for record in [*records, *(store.get_run(id) for _ in range(5) for id in store.run_ids()[-3:])]:
                require_whole(record, expected[record.spec.seed])
            if finished:
                weights = store.weights(finished[-1].id)["state"]
                assert np.array_equal(weights, expected[finished[-1].spec.seed]["state"][-1])
    print(reads)


def require_whole(record: RunRecord, complete: Table) -> None:
    """A finished run is complete; one in progress is the beginning of it."""
    rows = len(record.table)
    assert record.status != "finished" or rows == len(complete), f"run {record.spec.seed} is torn"
    for name, column in record.table.columns.items():
        assert np.array_equal(column, complete[name][:rows]), f"run {record.spec.seed} is torn before row {rows}"


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
