"""A sweep on the command line: one table, one exit code, and a way to go on."""

import csv

import pytest

from firstlight import sweeps
from firstlight.cli import exits

SWEEP = """
seeds = 2
[base]
steps = 20
[base.task]
group = "Z5"
[base.model]
width = 16
[grid]
optimizer.learning_rate = [0.001, 0.01]
"""


@pytest.fixture
def sweep(folder):
    path = folder / "sweep.toml"
    path.write_text(SWEEP)
    return path


def test_a_sweep_runs_every_point_once(cli, sweep, folder):
    done = cli("sweep", sweep, "--jobs", 1, "--csv", "points.csv")
    assert done.code == exits.OK
    assert "4 points: 4 finished" in done.out
    with (folder / "points.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["optimizer.learning_rate"], row["seed"]) for row in rows] == [
        ("0.001", "0"),
        ("0.001", "1"),
        ("0.01", "0"),
        ("0.01", "1"),
    ]
    again = cli("sweep", sweep, "--json").json
    assert [row["id"] for row in again] == [row["id"] for row in rows]
    assert len(cli("runs", "list", "--json").json) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "model.widht=3"], "error: model.widht: unknown field (got 3); did you mean model.width?"),
        (["--jobs", 0], "error: jobs must be at least 1, got 0"),
    ],
)
def test_a_sweep_that_means_nothing_is_refused(cli, sweep, words, message):
    done = cli("sweep", sweep, *words)
    assert done.code == exits.USER_ERROR
    assert done.err.startswith(message)
    assert done.err.count("\n") == 1


def test_an_interrupted_sweep_and_a_lost_cluster_say_what_to_do(cli, sweep, monkeypatch):
    def stop(*args, **options):
        raise sweeps.SweepInterrupted(3, 4, True)

    monkeypatch.setattr(sweeps, "run_sweep", stop)
    done = cli("sweep", sweep)
    assert done.code == exits.INTERRUPTED
    assert "3 of 4 points are in .firstlight/store.sqlite; the same command does the rest" in done.err

    def lose(*args, **options):
        raise sweeps.ClusterError("no Dask scheduler answers")

    monkeypatch.setattr(sweeps, "run_sweep", lose)
    done = cli("sweep", sweep, "--cluster", "tcp://127.0.0.1:1")
    assert (done.code, done.err) == (exits.USER_ERROR, "error: --cluster: no Dask scheduler answers\n")
