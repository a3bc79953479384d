"""What is said of a run is what its table shows."""

import numpy as np
import pytest

from firstlight import flow, runs
from firstlight.records import RunRecord, RunSpec, Table, TheoryVerdict, figure
from firstlight.runs import _lenses
from tests.tolerances import rounding

STEPS = [0, 10, 20, 30]


def story(*arguments, **columns) -> str:
    return runs.summarise(record(*arguments, **columns))["story"]


def record(status="finished", message="", spec=None, **columns) -> RunRecord:
    table = Table(STEPS, columns)
    return RunRecord(spec=spec or RunSpec(steps=30), status=status, steps=30, message=message, table=table)


@pytest.mark.parametrize(
    ("train", "test", "said"),
    [
        ([0, 1, 1, 1], [0, 0, 0.3, 1], "memorised at epoch 10, generalised at epoch 30, 20 epochs later"),
        ([0, 0.99, 1, 1], [0, 1, 1, 1], "memorised at epoch 10, generalised at epoch 10 ("),
        ([0, 1, 1, 1], [0, 0, 0.3, 0.2], "memorised at epoch 10 but did not generalise (test accuracy 0.200"),
        (
            [0, 0, 0, 0.5],
            [0, 0, 0, 0.1],
            "did not memorise (train accuracy 0.500 after 30 epochs) and did",
        ),
    ],
)
def test_the_story_of_accuracies(train, test, said):
    summary = runs.summarise(record(train_accuracy=train, test_accuracy=test))
    assert said in summary["story"]
    assert summary["final"] == {"train_accuracy": train[-1], "test_accuracy": test[-1]}
    for when, column in (("memorised_at", train), ("generalised_at", test)):
        reached = [step for step, value in zip(STEPS, column, strict=True) if value >= 0.99]
        assert summary[when] == (reached[0] if reached else None)


def test_the_story_without_classes_without_test_rows_and_of_bad_ends():
    loss = [4.0, 2.0, 1.0, 0.5]
    learned = [0, 1, 1, 1]
    assert "reached train loss 0.5 and test loss 0.5" in story(train_loss=loss, test_loss=loss)
    assert "memorised at epoch 10; there are no test rows" in story(train_accuracy=learned)
    diverged = story("diverged", "the loss was nan", train_accuracy=learned, test_accuracy=[0, 0, 0, 0])
    assert "diverged at epoch 30 (the loss was nan); until then it memorised" in diverged


def test_values_are_told_at_the_step_they_were_recorded_at():
    table = Table([0, 1], {"train_accuracy": [0.0, 0.1], "test_accuracy": [0.0, 0.0]})
    cut = RunRecord(spec=RunSpec(steps=9), status="interrupted", steps=7, table=table)
    said = runs.summarise(cut)["story"]
    assert said.startswith("Z71: interrupted at epoch 7 of 9; until then it did not memorise")
    assert "(train accuracy 0.100 after 1 epoch)" in said


def test_figures_show_the_table_and_mark_the_steps():
    both = {"train_accuracy": [0, 1, 1, 1], "test_accuracy": [0, 0, 0, 1], "train_loss": [1, 0.5, 0.2, 0.1]}
    (curves,) = runs.complete(record(**both)).figures
    accuracy, loss = figure.unpack_panels(curves)
    train, test = figure.unpack_series(accuracy)
    np.testing.assert_array_equal(train.x, STEPS)
    np.testing.assert_array_equal(test.y, both["test_accuracy"])
    assert dict(accuracy.meta["vertical"]) == {"memorised": 10, "generalised": 30}
    assert [s.label for s in figure.unpack_series(loss)] == ["train"]
    assert (loss.y.scale, accuracy.x.label) == ("log", "epoch")


def test_lenses_measure_summarise_and_draw():
    spec = RunSpec.model_validate({"task": {"group": "Z5"}, "model": {"width": 16}, "steps": 10, "lenses": ["norms"]})
    outcome = runs.compute([spec], progress="off")[0]
    seen = outcome.record
    for name in ("W", "V"):
        at_end = np.linalg.norm(outcome.weights["final"][name])
        error = rounding(1, outcome.weights["final"][name].size, np.float32)
        np.testing.assert_allclose(seen.table[f"norm.{name}"][-1], at_end, rtol=error)
        np.testing.assert_allclose(seen.summary["norms"]["last"][name], at_end, rtol=error)
    curves, norms = seen.figures
    drawn = (*figure.unpack_panels(curves), norms)
    assert [shown.title for shown in drawn] == ["Accuracy, Z5", "Loss, Z5", "Norms of the weights"]
    assert {shown.x.label for shown in drawn} == {"epoch"}


@pytest.mark.parametrize("part", ["summarise", "figure_data", "verdict"])
def test_a_lens_that_raises_does_not_cost_the_run(monkeypatch, part):
    def raises(record: RunRecord) -> dict:
        raise KeyError("E")

    monkeypatch.setattr(_lenses, "_collected", lambda: {"x": flow.Lens("x", "", **{part: raises})})
    completed = runs.complete(record(spec=RunSpec(lenses=("x",)), train_accuracy=[0, 1, 1, 1]))
    assert completed.summary["x"] == {"error": "KeyError: 'E'"}
    assert completed.summary["memorised_at"] == 10
    assert len(completed.figures) == 1


def test_a_lens_whose_verdict_raises_still_draws(monkeypatch):
    def raises(record: RunRecord) -> TheoryVerdict:
        raise KeyError("E")

    shown = figure.curves(
        [figure.Series("norm", STEPS, [1.0, 2.0, 3.0, 4.0])], x=figure.Axis("epoch"), y=figure.Axis("norm")
    )
    lens = flow.Lens("x", "", figure_data=lambda record: (shown,), verdict=raises)
    monkeypatch.setattr(_lenses, "_collected", lambda: {"x": lens})
    completed = runs.complete(record(spec=RunSpec(lenses=("x",)), train_accuracy=[0, 1, 1, 1]))
    assert completed.figures[-1] == shown
    assert completed.summary["x"] == {"error": "KeyError: 'E'"}


def test_a_record_keeps_the_verdict_of_each_theory_that_has_one(monkeypatch):
    verdict = TheoryVerdict(theory="x", predicted="epoch 20", measured="epoch 10", agrees="no", sentence="Too early.")
    lenses = {"x": flow.Lens("x", "", verdict=lambda record: verdict), "y": flow.Lens("y", "")}
    monkeypatch.setattr(_lenses, "_collected", lambda: lenses)
    completed = runs.complete(record(spec=RunSpec(lenses=("x", "y")), train_accuracy=[0, 1, 1, 1]))
    assert completed.verdicts == (verdict,)
    assert runs.complete(completed) == completed


def test_no_theory_is_judged_by_a_run_that_diverged(monkeypatch):
    verdict = TheoryVerdict(
        theory="x", predicted="epoch 20", measured="epoch 10", agrees="yes", sentence="As forecast."
    )
    monkeypatch.setattr(_lenses, "_collected", lambda: {"x": flow.Lens("x", "", verdict=lambda record: verdict)})
    diverged = record(spec=RunSpec(lenses=("x",)), status="diverged", train_accuracy=[0, 1, 1, 1])
    (judged,) = runs.complete(diverged).verdicts
    assert (judged.agrees, judged.predicted, judged.measured) == ("does not apply", "", "")
    assert "diverged" in judged.sentence
