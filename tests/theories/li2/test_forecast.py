"""Forecasts as values: boundaries from ascents, JSON, HTML, figures, and forecasts from the rows of a run."""

import json
import time

import numpy as np
import pandas as pd
import pytest

from firstlight import groups, plots, runs
from firstlight.claims.beyond.checks import forecast_fit, forecast_settings
from firstlight.records import RunRecord, RunSpec, Table
from firstlight.theories import li2
from firstlight.theories.li2 import _own_boundary
from firstlight.theories.li2._boundary import locate_boundary
from firstlight.theories.li2._calibration import below, stored
from firstlight.theories.li2._process import Process

SPEC = RunSpec.model_validate(
    {
        "task": {"group": "Z23", "split": {"fraction": 0.6}},
        "model": {"width": 256},
        "optimizer": {"learning_rate": 2e-3, "weight_decay": 1e-3},
        "steps": 2000,
    }
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "cache"))
    _own_boundary._remembered.cache_clear()


def test_a_boundary_agrees_with_a_finer_bisection_and_is_kept_by_the_digest_of_the_table(tmp_path):
    mine = groups.from_table(groups.dihedral(3).table[::1], name="mine")
    notes = []
    boundary = li2.own_boundary(mine, lambda fraction, note: notes.append(note))
    p50 = np.log(locate_boundary(mine, range(100, 160), True, 16, 8))
    apart = abs(np.log(boundary.p50) - p50.mean())
    assert apart <= 4 * np.hypot(boundary.error, p50.std(ddof=1) / np.sqrt(len(p50)))
    assert "once; then kept in the cache folder" in notes[0]
    (file,) = (tmp_path / "cache" / "boundaries").iterdir()
    assert file.stem == mine.digest
    notes.clear()
    assert li2.own_boundary(mine, lambda fraction, note: notes.append(note)) == boundary
    assert not notes
    file.write_text('{"version": 1, "order": 6}')
    assert li2.own_boundary(mine, lambda fraction, note: None) == boundary  # damaged, and computed again


def test_the_shipped_boundaries_are_those_that_ascents_find():
    group = groups.parse("Q8")
    again = _own_boundary.compute_boundary(group, lambda fraction, note: None)
    assert li2.own_boundary(group).p50 == pytest.approx(again.p50, rel=0.05)
    assert list(li2.own_boundary(group).survival) == list(again.survival)


def test_a_warm_forecast_takes_less_than_a_tenth_of_a_second():
    li2.predict(SPEC)
    seconds = []
    for _ in range(5):
        start = time.process_time()
        li2.predict(SPEC)
        seconds.append(time.process_time() - start)
    assert np.median(seconds) < 0.1


def test_a_forecast_is_json_html_and_a_figure():
    forecast = li2.predict(SPEC)
    values = json.loads(forecast.to_json())
    assert values["group"] == "Z23"
    assert values["generalises"]["low"] < values["generalises"]["median"] < values["generalises"]["high"]
    never = li2.predict("Z23", n=60, K=256, eta=0.1)
    assert json.loads(never.to_json())["generalises"]["median"] == "never"
    assert "epochs to generalise" in forecast._repr_html_()
    assert len(repr(forecast)) < 120
    for shown in (forecast, never):
        assert plots.svg(shown.figure_data()).startswith("<svg")
    ranks = [irrep.rank for irrep in li2.predict("S4", n=400, K=300, eta=0.1).irreps]
    assert ranks == [1, 2, 3, 3]  # E* = 12, 6, 4, 4


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": {"kind": "deep"}}, "two-layer networks"),
        ({"optimizer": {"name": "sgd"}}, "the optimizer is SGD"),
        ({"optimizer": {"name": "muon"}}, "the optimizer is Muon"),
        ({"task": {"split": {"fraction": 1.0}}}, "no held-out pairs"),
    ],
)
def test_what_is_not_covered_says_so(changes, words):
    forecast = li2.predict(RunSpec.model_validate(changes))
    assert not forecast.covered
    assert words in forecast.why
    assert "not covered" in repr(forecast)
    json.loads(forecast.to_json())


def test_a_shorter_horizon_is_less_likely():
    chances = [li2.predict(SPEC.model_copy(update={"steps": steps})).probability for steps in (50, 200, 4000)]
    assert chances[0] < chances[1] < chances[2]


def test_constants_are_those_of_the_fitted_lists():
    constants = stored()
    runs = forecast_fit.fitted_runs()
    widen = {name: constants[name]["widen"] for name in ("outcome", "epochs")}
    fitted = forecast_fit.fit(runs, forecast_fit.stored_shapes(constants), widen)
    assert fitted["runs"] == constants["runs"] == len(runs)
    np.testing.assert_allclose(fitted["memorising"]["mean"], constants["memorising"]["mean"], rtol=1e-3, atol=1e-3)
    # Four digits are stored; an input of 0.01 deviations may lie on the other side of a rounding.
    np.testing.assert_allclose(fitted["inputs"]["points"], constants["inputs"]["points"], rtol=1e-3, atol=1e-3)
    for name in ("outcome", "epochs"):
        assert fitted[name]["rows"] == constants[name]["rows"]
        assert fitted[name]["kernel"] == constants[name]["kernel"]
        process = Process.read(constants["inputs"], constants[name])
        targets = np.array(forecast_fit._inputs_and_targets(runs)[1][name])
        mine = process.along([forecast_fit.inputs_of(setting) for setting, _ in runs[::50]])
        theirs = Process.read(fitted["inputs"], fitted[name]).along([forecast_fit.inputs_of(s) for s, _ in runs[::50]])
        # A point on the edge between two roundings moves by 1e-3 of a deviation at most, of which a mean feels less.
        np.testing.assert_allclose(mine, theirs, atol=0.02 * targets.std())


def test_no_group_is_forecast_from_its_own_runs_in_the_intervals():
    runs = forecast_fit.fitted_runs()
    paper = runs[-len(forecast_fit.PAPER) :]
    chosen = [r for r in runs[: -len(paper)] if r[0].group in ("Z23", "D8", "S4", "Dic5", "Z31", "Q16")] + paper
    constants = forecast_fit.fit(chosen, forecast_fit.stored_shapes(stored()))
    rows = forecast_fit.left_out(chosen, constants)
    row = next(row for row in rows if row.setting.group == "D8")
    process = Process.read(constants["inputs"], constants["epochs"])
    known = [chosen[i][0] for i in constants["epochs"]["rows"]]
    others = np.array([setting.group != "D8" for setting in known])
    noise = np.array([process.noise[setting.optimizer == "adamw"] for setting in known])[others]
    targets = np.array(forecast_fit._inputs_and_targets(chosen)[1]["epochs"])[others]
    points, x = process.points[others], process.at(forecast_fit.inputs_of(row.setting))[None]
    K = process.kernel(points, points) + np.diag(noise)
    mean = process.level + process.kernel(x, points)[0] @ np.linalg.solve(K, targets - process.level)
    # Weights are stored with eight digits; their errors add up at random over the runs.
    size = np.abs(process.weights).max() * process.kernel(x, points).max() * np.sqrt(len(points))
    assert row.log_time == pytest.approx(mean, abs=8 * 1e-8 * size)
    widen = forecast_fit.widening(rows)
    for name, factor in zip(("adam", "adamw"), widen["epochs"], strict=True):
        timed = [r for r in rows if r.time and r.driven and r.chance >= 0.5 and r.setting.optimizer == name]
        inside = [abs(np.log(r.time) - r.log_time) <= 1.2816 * factor * r.deviation * (1 + 1e-3) for r in timed]
        assert 0.8 <= np.mean(inside) <= 0.8 + 2 / len(timed)
    likelihood = lambda rows, factor: sum(  # noqa: E731
        np.log(below(0.0, (-1 if r.time is not None else 1) * r.score, factor)) for r in rows
    )
    for name, factor in zip(("adam", "adamw"), widen["outcome"], strict=True):
        mine = [r for r in rows if r.setting.optimizer == name]
        assert likelihood(mine, factor) >= max(likelihood(mine, factor * f) for f in (0.8, 0.95, 1.05, 1.25)) - 1e-3


def test_scores_rise_with_accuracy_and_fall_with_time():
    setting = forecast_settings.load("first")[0]
    outcome = lambda epoch, accuracy: {"generalised": epoch, "test_accuracy": accuracy}  # noqa: E731
    ordered = [outcome(None, 0.02), outcome(None, 0.5), outcome(None, 0.98), outcome(2000.0, 1.0), outcome(50.0, 1.0)]
    scores = [forecast_fit.score(setting, row) for row in ordered]
    assert scores == sorted(scores)
    assert scores[2] < 0 < scores[3]
    assert scores[4] == pytest.approx(np.log(8 / (50 * setting.rate)))


def test_the_lists_are_those_that_the_seeds_draw():
    for name in forecast_settings.SEEDS:
        assert forecast_settings.draw(name) == forecast_settings.load(name)


def test_more_pairs_are_drawn_until_a_boundary_is_precise():
    boundary = _own_boundary.compute_boundary(groups.cyclic(8), lambda fraction, note: None)
    p50 = np.log(locate_boundary(groups.cyclic(8), range(100, 140), True, 16, 6))
    apart = abs(np.log(boundary.p50) - p50.mean())
    assert apart <= 4 * np.hypot(boundary.error, p50.std(ddof=1) / np.sqrt(len(p50)))
    assert boundary.error <= 0.02


def _rows(test, every=20):
    n = len(test)
    train = np.concatenate([[0.1], np.ones(n - 1)])
    return pd.DataFrame({"epoch": every * np.arange(n), "train_accuracy": train, "test_accuracy": test})


def test_a_run_that_has_ended_is_not_said_to_stand_still():
    rising = _rows(np.linspace(0.1, 0.95, 30))
    ended = li2.forecast(rising, steps=29 * 20)
    assert ended.probability == 0
    assert "the run has ended and did not generalise" in ended.story
    flat = li2.forecast(_rows(np.full(300, 0.05)), steps=6000)
    assert "test accuracy has stayed at 0.05 since" in flat.story


def test_rows_sharpen_the_forecast_and_announce_the_epoch():
    rising, flat = np.linspace(0, 0.9, 12), np.full(60, 0.05)
    rows = _rows(rising)
    near = li2.forecast(rows, SPEC)
    before = li2.predict(SPEC)
    assert near.seen == 220
    assert near.generalises.low >= 220
    assert near.generalises.high / near.generalises.low < before.generalises.high / before.generalises.low * 1.3
    far = li2.forecast(rows)  # curves alone
    assert far.outcome == "grokking"
    few = {**SPEC.model_dump(), "task": {"group": "Z23", "split": {"fraction": 0.2}}, "steps": 4000}
    lost = li2.forecast(_rows(flat, every=60), RunSpec.model_validate(few))
    assert lost.probability < 0.05
    assert "it will not generalise" in lost.story
    assert "too few training pairs" in lost.story
    done = li2.forecast(_rows([0.0, 0.5, 1.0]))
    assert done.story == "The run has generalised, at epoch 40."
    assert plots.svg(near.figure_data()).startswith("<svg")


def test_a_record_still_going_is_forecast():
    record = runs.run(SPEC.model_copy(update={"steps": 60, "model": SPEC.model}), progress="off")
    table = Table(record.table.step, {name: record.table[name] for name in record.table.columns})
    going = RunRecord(spec=SPEC, status="interrupted", steps=60, table=table)
    forecast = li2.forecast(going)
    assert forecast.seen == 60
    assert forecast.generalises.low >= 60
    assert 0 < forecast.probability < 1


def test_rows_that_are_no_curves_are_refused():
    with pytest.raises(ValueError, match="missing: \\['test_accuracy'\\]"):
        li2.forecast(pd.DataFrame({"train_accuracy": [0.5]}))
    with pytest.raises(ValueError, match="divide accuracies in per cent by 100"):
        li2.forecast(pd.DataFrame({"train_accuracy": [50.0], "test_accuracy": [10.0]}))
    with pytest.raises(ValueError, match="needs recorded rows with train_accuracy and test_accuracy"):
        li2.forecast(RunRecord(spec=SPEC, status="interrupted"))


def test_dead_units_and_vanished_norms_are_evidence():
    rows = _rows(np.full(40, 0.05), every=100).assign(norm_W=np.geomspace(10, 0.1, 40))
    W = np.zeros((46, 10))
    W[:, 0] = 1.0
    forecast = li2.forecast(rows, RunSpec.model_validate({**SPEC.model_dump(), "steps": 4000}), weights=W)
    assert forecast.probability < 0.05
    assert "90 % of the hidden units are dead" in forecast.story
    assert "norm_W has fallen to 1 % of its largest value" in forecast.story
