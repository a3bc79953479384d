"""A sweep on the command line: one table, one exit code, and a way to go on."""

import csv

import pytest

from firstlight import sweeps
from firstlight.cli import _exits as exits

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


def test_an_array_job_takes_no_word_that_it_would_ignore(cli, sweep, folder):
    done = cli("sweep", sweep, "--slurm", "--bundles", "shared", "--csv", "points.csv", "--jobs", 2)
    assert done.code == exits.USER_ERROR
    assert "takes no --jobs and no --csv" in done.err
    assert not (folder / "shared").exists()


def test_an_interrupted_sweep_and_a_lost_cluster_say_what_to_do(cli, sweep, monkeypatch):
    def stop(*args, **options):
        raise sweeps.SweepInterrupted(3, 4, True)

    monkeypatch.setattr(sweeps, "run_sweep", stop)
    done = cli("sweep", sweep)
    assert done.code == exits.INTERRUPTED
    assert "3 of 4 points are in .firstlight/store.sqlite; the same command does the rest" in done.err
    forced = cli("sweep", sweep, "--force").err
    assert "3 of 4 points were trained and are in .firstlight/store.sqlite; the same command trains all" in forced

    def lose(*args, **options):
        raise sweeps.ClusterError("no Dask scheduler answers")

    monkeypatch.setattr(sweeps, "run_sweep", lose)
    done = cli("sweep", sweep, "--cluster", "tcp://127.0.0.1:1")
    assert (done.code, done.err) == (exits.USER_ERROR, "error: --cluster: no Dask scheduler answers\n")


def test_a_dry_sweep_prints_what_the_whole_would_take(cli, sweep, folder):
    shown = cli("sweep", sweep, "--dry-run", "--jobs", 2)
    assert shown.code == exits.OK
    assert "4 to run, 0 in the store" in shown.out
    assert "2 workers of 40" in shown.out
    assert cli("sweep", sweep, "--dry-run", "--json", "--jobs", 1).json["workers"] == 1
    assert [path.name for path in folder.iterdir()] == ["sweep.toml"]


def test_workers_that_do_not_fit_beside_each_other_are_refused(cli, sweep, folder, monkeypatch):
    monkeypatch.setattr("firstlight.sweeps._estimate.available_memory", lambda: 500_000_000)
    refused = cli("sweep", sweep, "--jobs", 2, "--dry-run")
    assert refused.code == exits.USER_ERROR
    assert (
        "jobs: 2 workers need about 800 MB of memory (400 MB each); 500 MB are available. Use --jobs 1" in refused.err
    )
    assert cli("sweep", sweep, "--jobs", 2, "--dry-run", "--allow-large").code == exits.OK
    monkeypatch.setattr("firstlight.runs._limits.available_memory", lambda: 1000)
    assert "error: model.width: the run needs about" in cli("sweep", sweep, "--dry-run").err


@pytest.mark.parametrize(("change", "message"), [("seeds = 1000000000", "seeds: a sweep has at most 1,000,000 points")])
def test_a_sweep_without_number_is_refused(cli, folder, change, message):
    (folder / "many.toml").write_text(change)
    refused = cli("sweep", "many.toml")
    assert refused.code == exits.USER_ERROR
    assert message in refused.err
