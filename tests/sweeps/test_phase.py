"""Phase diagrams: the border is that of the full grid, found with few runs, by any executor."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from firstlight.records import FigureData, RunRecord, RunSpec, Store, Table, run_id
from firstlight.sweeps import (
    BoundaryError,
    PoolExecutor,
    SlurmError,
    SlurmExecutor,
    SweepInterrupted,
    boundary,
    phase_diagram,
    run_task,
)
from firstlight.sweeps._phase._cells import Refinement
from firstlight.sweeps._wilson import wilson

FIELDS = ("task.split.fraction", "optimizer.weight_decay")
BOUNDS = ((0.1, 0.9), (1e-4, 1e-1))
TINY = {"task": {"group": "Z7"}, "model": {"width": 16}, "steps": 30, "recording": {"every": 10}}
OPTIONS = {"precision": (0.05, 0.6), "axes": ("linear", "log")}


def simulated(success, log=None):
    def execute(specs):
        for spec in specs:
            if log is not None:
                log.append(spec)
            accuracy = 1.0 if success(spec) else 0.1
            table = Table([0, 50], {"test_accuracy": [0.0, accuracy], "train_accuracy": [0.1, 1.0]})
            yield RunRecord(spec=spec, status="finished", steps=50, table=table)

    return execute


def generalises(spec: RunSpec) -> bool:
    """A curved border, with a seed that shifts it a little."""
    decay = math.log10(spec.optimizer.weight_decay)
    edge = 0.45 + 0.08 * (decay + 2.5) ** 2 + 0.004 * (spec.seed - 1)
    return spec.task.split.fraction > edge


@given(st.integers(2, 40), st.integers(2, 40), st.integers(1, 6), st.floats(0, 6.2), st.floats(-20, 60))
def test_a_straight_border_is_that_of_the_whole_grid(columns, rows, coarse, angle, offset):
    def outcome(place):
        return place[0] * math.cos(angle) + place[1] * math.sin(angle) > offset

    diagram = Refinement(columns, rows, coarse)
    tested = set()
    while places := diagram.wanted:
        assert not tested & set(places)
        tested |= set(places)
        diagram.record({place: outcome(place) for place in places})
    assert diagram.is_done
    grid = list(itertools.product(range(columns), range(rows)))
    whole = {
        (place, other)
        for place in grid
        for other in ((place[0] + 1, place[1]), (place[0], place[1] + 1))
        if other[0] < columns and other[1] < rows and outcome(place) != outcome(other)
    }
    found_border = set(diagram.border)
    assert found_border <= whole
    # A line that cuts off a corner of the border within a coarse cell can be missed; all else is there.
    if found_border and coarse == 1:
        return
    side = max(columns, rows) / coarse + 1
    assert len(whole - found_border) <= 2 * side * 2


def test_the_border_is_that_of_the_full_grid_with_a_fraction_of_its_runs():
    log = []
    diagram = phase_diagram(TINY, FIELDS, BOUNDS, executor=simulated(generalises, log), **OPTIONS)
    xs, ys = diagram.values
    middle = [(x, y) for y in ys for x in xs]
    share = {(x, y): sum(generalises(spec_at(x, y, seed)) for seed in range(3)) / 3 >= 0.5 for x, y in middle}
    whole = sum(share[a, y] != share[b, y] for y in ys for a, b in itertools.pairwise(xs))
    whole += sum(share[x, a] != share[x, b] for x in xs for a, b in itertools.pairwise(ys))
    assert len(diagram.border) == whole
    assert len({run_id(spec) for spec in log}) == len(log) == 3 * len(diagram.shares)
    assert diagram.tested < 0.75
    for _, row in diagram.boundary.iterrows():
        decay = math.log10(row["optimizer.weight_decay"])
        assert abs(row["task.split.fraction"] - (0.45 + 0.08 * (decay + 2.5) ** 2)) < 0.15
        assert row["task.split.fraction.error"] <= 0.025 + 1e-9
    figure = diagram.figure_data()
    assert isinstance(figure, FigureData)
    assert figure.arrays["rate"].shape == (len(ys), len(xs))
    assert "points," in repr(diagram)


def spec_at(x, y, seed):
    return RunSpec.model_validate(
        TINY | {"task": {"group": "Z7", "split": {"fraction": x}}, "optimizer": {"weight_decay": y}, "seed": seed}
    )


def test_finer_lattices_cost_in_proportion_to_the_border_not_to_the_area():
    counts = []
    for width in (0.04, 0.02, 0.01):
        log = []
        options = {"precision": (width, width * 9), "axes": ("linear", "log")}
        phase_diagram(TINY, FIELDS, BOUNDS, executor=simulated(generalises, log), seeds=1, **options)
        counts.append(len(log))
    assert counts[2] / counts[0] < 8  # sixteen times as many lattice points


def test_an_interrupted_search_goes_on_from_its_store(tmp_path):
    log = []

    def stopping(specs):
        for record in simulated(generalises, log)(specs):
            if len(log) == 40:
                raise KeyboardInterrupt
            yield record

    with pytest.raises(SweepInterrupted, match="run it again with the same store"):
        phase_diagram(TINY, FIELDS, BOUNDS, executor=stopping, store=tmp_path / "a.sqlite", **OPTIONS)
    again = []
    options = {**OPTIONS, "store": tmp_path / "a.sqlite"}
    diagram = phase_diagram(TINY, FIELDS, BOUNDS, executor=simulated(generalises, again), **options)
    assert not {run_id(s) for s in log[:39]} & {run_id(s) for s in again}
    calm = phase_diagram(TINY, FIELDS, BOUNDS, executor=simulated(generalises), **OPTIONS)
    assert diagram.border == calm.border
    with Store(tmp_path / "a.sqlite") as store:
        assert len(store.run_ids()) == 3 * len(diagram.shares)


def test_an_executor_that_loses_or_fails_a_run_is_an_error():
    def lossy(specs):
        yield from simulated(generalises)(specs[1:])

    with pytest.raises(BoundaryError, match="returned no record for 1 of"):
        phase_diagram(TINY, FIELDS, BOUNDS, executor=lossy, **OPTIONS)

    def failing(specs):
        yield RunRecord(spec=specs[0], status="failed", message="no memory")

    with pytest.raises(BoundaryError, match="the run of seed 0 failed: no memory"):
        phase_diagram(TINY, FIELDS, BOUNDS, executor=failing, **OPTIONS)
    with pytest.raises(ValueError, match="two different fields"):
        phase_diagram(TINY, (FIELDS[0], FIELDS[0]), BOUNDS, **OPTIONS)


@given(st.integers(1, 40), st.data())
def test_the_interval_of_a_share_is_wilsons(count, data):
    successes = data.draw(st.integers(0, count))
    reference = binomtest(successes, count).proportion_ci(method="wilson")
    np.testing.assert_allclose(wilson(successes, count), (reference.low, reference.high), atol=1e-6)


def by_tasks(folder, script) -> str:
    """Submit an array job to nobody: run its tasks here."""
    assert script.exists()
    for task in range(folder.plan().tasks):
        run_task(folder, task)
    return "1"


@pytest.mark.slow
def test_every_executor_finds_the_same_boundary(tmp_path):
    # Runs that differ in this field share a compiled program.
    base = TINY | {"steps": 200, "optimizer": {"weight_decay": 1e-3}}
    search = {"seeds": 2, "precision": 0.5, "axis": "log", "progress": "off"}
    field, bounds = "optimizer.learning_rate", (1e-4, 1e-1)
    here = boundary(base, field, bounds, **search)
    with PoolExecutor(jobs=1) as workers:
        local = boundary(base, field, bounds, executor=workers, store=tmp_path / "a.sqlite", **search)
    array = SlurmExecutor(tmp_path / "rounds", tasks=2, submit=by_tasks, states=lambda job: [], poll=0)
    jobs = boundary(base, field, bounds, executor=array, **search)
    columns = [field, "seed", "success", "steps", "id"]
    for other in (local, jobs):
        assert other.frame[columns].equals(here.frame[columns])
    again = boundary(base, field, bounds, executor=array, **search)
    assert again.frame[columns].equals(here.frame[columns])


def test_a_cancelled_array_job_is_not_submitted_again(tmp_path):
    submitted = []

    def cancelled(folder, script) -> str:
        submitted.append(folder)
        (folder.path / "cancel").touch()
        return "1"

    execute = SlurmExecutor(tmp_path, submit=cancelled, states=lambda job: [], poll=0)
    with pytest.raises(SlurmError, match=r"job 1 was cancelled from another terminal with 1 points left"):
        list(execute([spec_at(0.5, 0.01, 0)]))
    assert len(submitted) == 1


def test_an_array_job_that_never_delivers_is_given_up(tmp_path):
    submitted = []

    def lost(folder, script) -> str:
        submitted.append(folder)
        return str(len(submitted))

    execute = SlurmExecutor(tmp_path, submit=lost, states=lambda job: [], poll=0, attempts=2)
    with pytest.raises(SlurmError, match=r"job 2 ended 2 times with 1 points left; see the logs"):
        list(execute([spec_at(0.5, 0.01, 0)]))
