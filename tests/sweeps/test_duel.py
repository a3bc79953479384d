"""Duels: equal compute, tuned rates, exact intervals, and a store from which they resume."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from firstlight import flow, report, runs
from firstlight.records import DuelRecord, RunSpec, SpecError, Store
from firstlight.sweeps import Duel, run_duel
from firstlight.sweeps._duel._interval import median_interval
from firstlight.sweeps._duel._tuning import next_place, score
from firstlight.sweeps._duel._width import bisect_width, theorem_8

SPEC = {
    "task": {"group": "Z5", "split": {"fraction": 0.8}},
    "model": {"width": 64},
    "optimizer": {"weight_decay": 1e-3},
    "recording": {"every": 5},
    "steps": 120,
}
BASE = RunSpec.model_validate(SPEC)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 11, 20])
def test_the_interval_holds_the_median_as_often_as_it_says(n):
    random = np.random.default_rng(0)
    draws = random.exponential(size=(4000, n))
    intervals = [median_interval(list(row)) for row in draws]
    covered = np.mean([found.low <= math.log(2) <= found.high for found in intervals])
    stated = intervals[0].confidence
    # Three standard errors of a share of 4000 draws.
    assert abs(covered - stated) <= 3 * math.sqrt(max(stated * (1 - stated), 1e-3) / 4000)
    if n >= 5:
        assert stated >= 0.9
    for found, row in zip(intervals[:50], draws[:50], strict=True):
        assert found.median == np.median(row)


def test_the_confidence_is_that_of_the_binomial_distribution():
    for n in (5, 9, 14):
        times = list(range(n))
        found = median_interval(times)
        k = times.index(int(found.low)) + 1
        assert found.high == times[n - k]
        assert abs(found.confidence - (binom.cdf(n - k, n, 0.5) - binom.cdf(k - 1, n, 0.5))) < 1e-12
        # One place further inside would fall below 90 %.
        assert 1 - 2 * binom.cdf(k, n, 0.5) < 0.9


def test_runs_that_never_generalise_count_as_the_latest():
    assert median_interval([None, 3, None]).median == math.inf
    assert median_interval([None, 3, 4]).median == 4
    with pytest.raises(ValueError, match="at least one run"):
        median_interval([])


def test_every_optimizer_has_the_same_compute_and_the_same_number_of_tuning_points():
    duel = Duel(BASE, rates=4, decays=(1e-3, 1e-2))
    spent = {name: duel.steps(name) * duel.flops(name) for name in duel.optimizers}
    budget = max(spent.values())
    for name in duel.optimizers:
        assert budget - spent[name] <= duel.flops(name) * (1 + 1e-9)
        assert [spec.optimizer.weight_decay for spec in duel.tuning_specs(name, 0.1)] == [1e-3, 1e-2]
        seeds = {spec.seed for spec in duel.tuning_specs(name, 0.1)}
        assert not seeds & set(range(duel.seeds))
    assert duel.steps("muon") < duel.steps("sgd")
    for spec in duel.tuning_specs("muon", 0.1):
        assert spec.optimizer.name == "muon"
        assert not flow.is_coupled(spec.optimizer)


@pytest.mark.parametrize("optimum", [-2.2, -0.3, 0.0, 0.45, 1.5, 2.8])
def test_the_search_for_a_rate_closes_in_on_the_best(optimum):
    scores = {}
    for _ in range(8):
        place = next_place(scores)
        assert place not in scores
        scores[place] = abs(place - optimum)
    best = min(scores, key=scores.get)
    assert min(scores) < best < max(scores)
    assert abs(best - optimum) <= 0.25


def test_the_search_walks_on_while_it_gets_better():
    scores = {}
    for _ in range(5):
        place = next_place(scores)
        scores[place] = -place
    assert sorted(scores) == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_the_flops_of_a_step_count_its_matrix_products():
    spec = RunSpec.model_validate({**SPEC, "optimizer": {"name": "sgd"}})
    n, K, M = 20, 64, 5
    products = 2 * 3 * n * K * M
    assert products < runs.step_flops(spec) < products + 10 * (10 * K + K * M)


def test_a_duel_compares_resumes_and_makes_a_page(tmp_path):
    duel, path = Duel(BASE, ("adam", "sgd"), rates=2, seeds=3, widths=(4, 16)), tmp_path / "runs.sqlite"
    moments = []
    record = run_duel(duel, path, progress=moments.append)
    assert isinstance(record, DuelRecord)
    assert [entry.optimizer for entry in record.entries] == ["adam", "sgd"]
    done = [moment.done for moment in moments]
    assert done == sorted(done)
    assert moments[-1].done <= moments[-1].total
    with Store(path) as store:
        ids = {run.id: run.created for run in store.runs()}
    again = run_duel(duel, path)
    with Store(path) as store:
        assert {run.id: run.created for run in store.runs()} == ids
    assert again.entries == record.entries
    adam = record.entries[0]
    times = [math.inf if time is None else time for time in adam.generalised_at]
    assert adam.median == (None if np.median(times) == math.inf else np.median(times))
    assert len(adam.tuning) == len(record.entries[1].tuning) == 2
    best = min(adam.tuning, key=score)
    assert best.learning_rate == adam.learning_rate
    page = report.render(record, papers={})
    assert "Theorem 8" in page
    assert "Adam, SGD: Z5" in page
    assert DuelRecord.from_json(record.to_json()) == record


def test_a_killed_duel_trains_only_what_is_left(tmp_path, monkeypatch):
    duel, path, trained = Duel(BASE, ("adam", "sgd"), rates=1, seeds=2), tmp_path / "runs.sqlite", []
    original = runs.run_many

    def stops(specs, **options):
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(len(specs))
        return original(specs, **options)

    monkeypatch.setattr(runs, "run_many", stops)
    with pytest.raises(KeyboardInterrupt):
        run_duel(duel, path)
    monkeypatch.setattr(runs, "run_many", original)
    with Store(path) as store:
        before = {run.id: run.created for run in store.runs()}
    assert len(before) == 3
    run_duel(duel, path)
    with Store(path) as store:
        after = {run.id: run.created for run in store.runs()}
    assert before.items() <= after.items()
    assert len(after) == 6


def test_the_critical_width_lies_between_neighbours_of_the_lattice():
    lattice = Duel(BASE, ("adam", "sgd"), widths=(8, 128)).width_lattice()
    assert lattice[0] == 8
    assert lattice[-1] == 128
    assert all(1.3 < b / a < 1.5 for a, b in pairwise(lattice))
    for critical in range(1, 140, 7):
        tested = []

        def succeeds(width, critical=critical, tested=tested):
            tested.append(width)
            return float(width >= critical)

        found = bisect_width(lattice, succeeds)
        expected = next((width for width in lattice if width >= critical), None)
        assert found.succeeds == expected
        assert len(tested) <= 2 + math.log2(len(lattice))
        assert len(set(tested)) == len(tested)


def test_theorem_8_is_the_coupon_problem_and_muon_needs_fewer():
    spec = RunSpec.model_validate({"task": {"group": "Z23"}})
    L = 11
    assert abs(theorem_8(spec, "adam") - L * sum(1 / i for i in range(1, L + 1))) < 1e-6
    assert L <= theorem_8(spec, "muon") < theorem_8(spec, "adam")
    assert theorem_8(RunSpec.model_validate({"model": {"kind": "transformer"}}), "adam") is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"optimizers": ("adam", "adamm")}, "unknown optimizer 'adamm'; did you mean 'adam'"),
        ({"optimizers": ("adam",)}, "at least two different names; got adam"),
        ({"optimizers": ("adam", "adam")}, "at least two different names"),
        ({"rates": 0}, "rates: must be at least 1; got 0"),
        ({"seeds": 0}, "seeds: must be at least 1"),
        ({"decays": (-1.0,)}, "decays: must be at least 0; got -1"),
        ({"widths": (16, 4)}, "low < high; got 16,4"),
    ],
)
def test_a_duel_that_cannot_be_run_is_refused(fields, message):
    with pytest.raises(SpecError, match=message):
        Duel(BASE, **{"optimizers": ("adam", "sgd"), **fields})


def test_a_duel_needs_held_out_rows():
    with pytest.raises(SpecError, match="held-out rows"):
        Duel(RunSpec.model_validate({"task": {"split": {"fraction": 1.0}}}), ("adam", "sgd"))
