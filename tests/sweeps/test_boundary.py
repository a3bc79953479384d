"""Boundaries by bisection, against boundaries known beforehand and against the grid that they replace."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight import runs
from firstlight.records import RunRecord, RunSpec, SpecError, Stop, Table, figure, first_row, run_id
from firstlight.sweeps import (
    BoundaryError,
    Sweep,
    SweepInterrupted,
    SweepProgress,
    boundary,
    default_stall,
    estimate_boundary,
)
from firstlight.sweeps._boundary._plan import lattice
from firstlight.sweeps._boundary._result import half_point
from firstlight.sweeps._boundary._search import Search

FRACTION = "task.split.fraction"
TINY = {
    "task": {"group": "Z7"},
    "model": {"width": 64},
    "optimizer": {"learning_rate": 0.02, "weight_decay": 1e-3},
    "steps": 300,
    "recording": {"every": 10},
}


def simulated(success: Callable[[RunSpec], bool], log: list[RunSpec] | None = None):
    """An executor that trains nothing: a run ends with test accuracy 1 if `success` says so, else with 0.1."""

    def execute(specs: Sequence[RunSpec]) -> Iterator[RunRecord]:
        for spec in specs:
            if log is not None:
                log.append(spec)
            accuracy = 1.0 if success(spec) else 0.1
            table = Table([0, 50], {"test_accuracy": [0.0, accuracy], "train_accuracy": [0.1, 1.0]})
            yield RunRecord(spec=spec, status="finished", steps=50, table=table)

    return execute


def drawn(spec: RunSpec) -> float:
    """The hidden boundary of a group and seed."""
    centre = {"Z5": 0.55, "Z7": 0.45}[spec.task.group]
    return centre + 0.05 * float(np.random.default_rng(spec.seed).normal())


@given(st.integers(2, 400), st.data())
def test_a_search_finds_the_boundary_in_logarithmically_many_tests(size, data):
    boundary_place = data.draw(st.integers(0, size))
    start = data.draw(st.none() | st.integers(-3, size + 3))
    search = Search(size, start, data.draw(st.integers(1, 8)))
    while (place := search.next) is not None:
        assert search.left >= 1
        assert place not in search.outcomes
        search = search.record(place, place >= boundary_place)
    assert (search.low, search.high, search.left) == (boundary_place - 1, boundary_place, 0)
    # Bisection needs ⌈log₂(size + 1)⌉ tests; doubling strides from a guess at most twice that, and the guess itself.
    assert len(search.outcomes) <= (1 if start is None else 2) * math.ceil(math.log2(size + 1)) + (start is not None)


def test_a_search_from_a_good_guess_takes_two_tests():
    search = Search(1000, start=500)
    for place, success in ((500, False), (501, True)):
        assert search.next == place
        search = search.record(place, success)
    assert search.done


def test_p50_is_the_median_of_the_hidden_boundaries():
    seeds, precision = range(9), 0.01
    result = boundary(
        TINY, FRACTION, (0.1, 0.9), groups=["Z5", "Z7"], seeds=9, precision=precision,
        executor=simulated(lambda spec: spec.task.split.fraction >= drawn(spec)), progress="off",
    )  # fmt: skip
    for row in result.boundaries.to_dict("records"):
        hidden = [drawn(RunSpec.model_validate({"task": {"group": row["task.group"]}, "seed": s})) for s in seeds]
        assert abs(row["p50"] - np.median(hidden)) <= precision / 2 + 1e-9
        assert abs(row["spread"] - np.std(hidden, ddof=1)) <= precision
        assert row["low"] < row["p50"] < row["high"]
        assert (row["seeds"], row["censored"]) == (9, 0)
    brackets = result.brackets
    assert np.allclose(brackets["high"] - brackets["low"], precision)
    for row in brackets.to_dict("records"):
        hidden = drawn(RunSpec.model_validate({"task": {"group": row["task.group"]}, "seed": row["seed"]}))
        assert row["low"] < hidden <= row["high"]
    assert result.boundaries["runs"].sum() == len(result.frame) == len(result.records)
    assert result.steps == 50 * len(result.frame) == result.boundaries["steps"].sum()
    shown = result.figure_data()
    for series in figure.unpack_series(shown):
        assert (np.diff(series.y) >= 0).all()
        assert series.y[-1] == 1.0
    assert "Z7" in result._repr_html_()


def test_other_seeds_start_at_the_boundary_of_the_first():
    log: list[RunSpec] = []
    execute = simulated(lambda spec: spec.task.split.fraction >= 0.333, log)
    result = boundary(TINY, FRACTION, (0.1, 0.9), seeds=4, precision=0.01, executor=execute, progress="off")
    assert result.brackets["runs"].tolist()[1:] == [2, 2, 2]
    assert result.brackets["runs"].tolist()[0] == pytest.approx(math.log2(81), abs=1)
    assert len({run_id(spec) for spec in log}) == len(log)


def test_the_interval_covers_p50_as_often_as_it_says():
    rng, trials, covered, width = np.random.default_rng(0), 1000, 0, 0.01
    for _ in range(trials):
        place = np.floor(rng.normal(0.5, 0.03, size=5) / width)
        estimate = half_point(place * width, (place + 1) * width)
        covered += estimate["low"] <= 0.5 <= estimate["high"]
    # 95 % nominal; four standard deviations of a binomial count below it.
    assert covered / trials >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / trials)


def test_a_log_axis_gives_relative_precision():
    result = boundary(
        TINY, "optimizer.weight_decay", (1e-5, 1e-1), seeds=3, precision=0.2, axis="log", rising=False,
        executor=simulated(lambda spec: spec.optimizer.weight_decay <= 2e-3), progress="off",
    )  # fmt: skip
    row = result.boundaries.iloc[0]
    assert row["p50"] == pytest.approx(2e-3, rel=0.1)
    brackets = result.brackets
    assert (brackets["high"] / brackets["low"] <= 1.2 + 1e-5).all()
    assert (brackets["low"] <= 2e-3).all()
    assert (brackets["high"] > 2e-3).all()


@pytest.mark.parametrize(
    ("succeeds", "rising", "direction"),
    [(False, True, "above"), (True, True, "below"), (False, False, "below"), (True, False, "above")],
)
def test_a_boundary_outside_the_bracket_is_censored_with_its_direction(succeeds, rising, direction):
    execute = simulated(lambda spec: succeeds)
    options = {"seeds": 3, "precision": 0.1, "rising": rising, "executor": execute, "progress": "off"}
    result = boundary(TINY, FRACTION, (0.3, 0.8), **options)
    assert set(result.brackets["censored"]) == {direction}
    row = result.boundaries.iloc[0]
    assert math.isnan(row["p50"])
    assert row["censored"] == 3
    assert (row["low"], row["high"]) == ((0.8, math.inf) if direction == "above" else (-math.inf, 0.3))


def test_a_minority_of_censored_seeds_leaves_a_median():
    execute = simulated(lambda spec: spec.task.split.fraction >= (0.5 if spec.seed else 2.0))
    result = boundary(TINY, FRACTION, (0.3, 0.8), seeds=3, precision=0.1, executor=execute, progress="off")
    row = result.boundaries.iloc[0]
    assert row["p50"] == pytest.approx(0.45)
    assert row["censored"] == 1


def test_a_search_continues_after_an_interruption_with_the_same_result(tmp_path):
    succeeds = lambda spec: spec.task.split.fraction >= drawn(spec)  # noqa: E731
    options = {"groups": ["Z5", "Z7"], "seeds": 4, "precision": 0.02, "progress": "off"}
    whole = boundary(TINY, FRACTION, (0.1, 0.9), executor=simulated(succeeds), **options)
    log: list[RunSpec] = []

    def interrupted(spec: RunSpec) -> bool:
        if len(log) % 7 == 0:
            raise KeyboardInterrupt
        return succeeds(spec)

    store = tmp_path / "runs.sqlite"
    stops = []
    for _ in range(20):
        try:
            resumed = boundary(TINY, FRACTION, (0.1, 0.9), store=store, executor=simulated(interrupted, log), **options)
            break
        except SweepInterrupted as stopped:
            stops.append(str(stopped))
    assert stops
    assert all("run it again with the same store" in stop for stop in stops)
    assert resumed.frame.equals(whole.frame)
    assert resumed.boundaries.equals(whole.boundaries)
    # Only the runs that were interrupted ran twice.
    assert len(log) <= len(whole.frame) + 20
    read = boundary(TINY, FRACTION, (0.1, 0.9), store=store, run=False, **options)
    assert read.boundaries.equals(whole.boundaries)


def test_reading_an_unfinished_search_counts_the_seeds_that_are_done(tmp_path):
    store, options = tmp_path / "runs.sqlite", {"precision": 0.05, "progress": "off"}
    execute = simulated(lambda spec: spec.task.split.fraction >= 0.4)
    boundary(TINY, FRACTION, (0.1, 0.9), seeds=2, store=store, executor=execute, **options)
    read = boundary(TINY, FRACTION, (0.1, 0.9), seeds=5, store=store, run=False, **options)
    assert read.boundaries["seeds"].tolist() == [2]
    assert read.brackets["done"].tolist() == [True, True, False, False, False]
    with pytest.raises(ValueError, match="run=False reads the store, but store is None"):
        boundary(TINY, FRACTION, (0.1, 0.9), run=False)


def test_progress_counts_runs_and_ends_at_its_total():
    moments: list[SweepProgress] = []
    execute = simulated(lambda spec: spec.task.split.fraction >= 0.4)
    result = boundary(TINY, FRACTION, (0.1, 0.9), seeds=3, executor=execute, progress=moments.append)
    assert [moment.done for moment in moments] == list(range(1, len(result.frame) + 1))
    assert moments[-1].total == len(result.frame)
    assert moments[-1].remaining == 0


def test_a_run_that_fails_is_no_outcome():
    def execute(specs: Sequence[RunSpec]) -> Iterator[RunRecord]:
        for spec in specs:
            yield runs.failure(spec, RuntimeError("no memory"))

    with pytest.raises(BoundaryError, match=r"seed 0 at task\.group = Z5 failed: RuntimeError: no memory"):
        boundary(TINY, FRACTION, (0.1, 0.9), groups=["Z5"], executor=execute, progress="off")
    with pytest.raises(BoundaryError, match="returned no record for 1 of 1 runs"):
        boundary(TINY, FRACTION, (0.1, 0.9), executor=lambda specs: (), progress="off")


@pytest.mark.parametrize(
    ("field", "bounds", "options", "message"),
    [
        ("task.split.fractoin", (0.1, 0.9), {}, "did you mean"),
        ("task.group", (0.1, 0.9), {}, "task.group"),
        ("seed", (0, 9), {}, "choose another field"),
        ("model.bias", (0.1, 0.9), {}, "model.bias"),
        (FRACTION, (0.9, 0.1), {}, "the low end must be below the high end, got 0.9 and 0.1"),
        (FRACTION, (0.5, 0.5), {}, "the low end must be below the high end"),
        (FRACTION, (0.1, 1.5), {}, "task.split.fraction"),
        (FRACTION, (0.1, 1.0), {}, "test_accuracy"),
        (FRACTION, (0.1, 0.9), {"precision": 0.0}, "precision must be a positive number"),
        (FRACTION, (0.1, 0.9), {"precision": 1e-9}, "at most 100,000 are allowed"),
        (FRACTION, (0.1, 0.9), {"seeds": 0}, "seeds must be a positive number"),
        (FRACTION, (0.1, 0.9), {"seeds": [1, 1]}, "different seeds"),
        (FRACTION, (0.1, 0.9), {"groups": ["Z5", "Z5"]}, "differ from each other"),
        (FRACTION, (0.1, 0.9), {"groups": ["Z0"]}, "group"),
        (FRACTION, (0.1, 0.9), {"points": [{FRACTION: 0.5}]}, "cannot also be set by a point"),
        (FRACTION, (0.1, 0.9), {"success": Stop(observable="acc", at_least=1)}, "acc"),
        (FRACTION, (0.1, 0.9), {"success": default_stall(10)}, "success must be a level"),
        ("optimizer.weight_decay", (0.0, 0.9), {"axis": "log"}, "log axis needs positive ends"),
    ],
)
def test_a_wrong_argument_says_what_is_required(field, bounds, options, message):
    with pytest.raises((ValueError, SpecError), match=message):
        boundary(TINY, field, bounds, executor=simulated(lambda spec: True), **options)


def test_whole_fields_have_whole_values():
    spec = RunSpec()
    assert lattice(spec, "model.width", 10, 12, 0.5) == (10, 11, 12)
    assert lattice(spec, "optimizer.learning_rate", 1, 2, 0.5) == (1.0, 1.5, 2.0)
    values = lattice(spec, FRACTION, 0.1, 0.9, 0.01)
    assert len(values) == 81
    assert len(lattice(spec, FRACTION, 0.1, 0.8, 0.01, "log")) == 1 + math.ceil(math.log(8) / math.log(1.01))


def test_a_trained_boundary_is_that_of_the_grid(tmp_path):
    base = {**TINY, "task": {"group": "Z11"}, "model": {"width": 128}, "steps": 1200, "recording": {"every": 25}}
    base["optimizer"] = {"learning_rate": 0.01, "weight_decay": 1e-3}
    store, options = tmp_path / "runs.sqlite", {"seeds": 2, "precision": 0.15, "progress": "off"}
    result = boundary(base, FRACTION, (0.4, 0.85), store=store, **options)
    values = lattice(RunSpec(), FRACTION, 0.4, 0.85, 0.15)
    grid = Sweep(base=RunSpec.model_validate(base), grid={FRACTION: values}, seeds=2).expand()
    records = [outcome.record for outcome in runs.compute(grid, progress="off", keep_weights=False)]
    learned = {
        (spec.task.split.fraction, spec.seed): first_row(record.table, "test_accuracy") is not None
        for spec, record in zip(grid, records, strict=True)
    }
    for row in result.brackets.to_dict("records"):
        # A crossing of the full grid, where every run takes all its steps; there may be several.
        assert (learned[row["low"], row["seed"]], learned[row["high"], row["seed"]]) == (False, True)
    again = boundary(base, FRACTION, (0.4, 0.85), store=store, run=False, **options)
    assert again.frame.equals(result.frame)
    assert all(not record.weights for record in result.records.values())
    assert set(result.frame["outcome"]) <= {"success", "stalled", "steps"}


def test_an_estimate_has_a_row_per_point():
    table = estimate_boundary(TINY, FRACTION, (0.2, 0.9), groups=["Z5", "Z7"], seeds=3, measure=True)
    assert table["task.group"].tolist() == ["Z5", "Z7"]
    assert (table["runs"] >= 8).all()
    assert (table["steps"] > 0).all()
    assert (table["core_hours"] < 1).all()
