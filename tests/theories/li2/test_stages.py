"""Stages on real runs with and without weight decay, quadratic and relu, and on made-up histories."""

import functools
import runpy
from pathlib import Path

import numpy as np
import pytest

from firstlight import plots, runs
from firstlight.records import RunSpec, Table
from firstlight.theories import li2

SEEDS = {"quadratic": 2, "relu": 1}


@functools.cache
def trained(activation):
    fraction, steps = {"quadratic": (0.6, 220), "relu": (0.7, 320)}[activation]
    specs = [
        RunSpec.model_validate(
            {
                "task": {"group": "Z23", "split": {"fraction": fraction}},
                "model": {"width": 256, "activation": activation},
                "optimizer": {"learning_rate": 2e-3, "weight_decay": decay},
                "steps": steps,
                "recording": {"every": 4},
                "lenses": ["li2"],
                "seed": seed,
            }
        )
        for decay in (1e-3, 0.0)
        for seed in range(SEEDS[activation])
    ]
    outcomes = runs.compute(specs, progress="off", keep_weights=False)
    return [outcome.record for outcome in outcomes]


@pytest.mark.parametrize("activation", ["quadratic", "relu"])
def test_runs_with_decay_go_through_three_stages_and_those_without_stall(activation):
    records, n = trained(activation), SEEDS[activation]
    for record in records[:n]:
        marked = li2.stages(record)
        assert marked.grokked
        assert marked.confidence > 0.9
        assert [stage.name for stage in marked.stages] == ["lazy", "independent", "interactive"]
        assert all(a.end == b.start for a, b in zip(marked.stages, marked.stages[1:], strict=False))
        assert marked["lazy"].end == marked.memorised_at == record.summary["memorised_at"]
        assert marked["interactive"].end == marked.generalised_at == record.summary["generalised_at"]
        # What has been said of the stages can be seen in the columns themselves.
        table, at = (
            record.table,
            {stage.name: int(np.searchsorted(record.table.step, stage.end)) for stage in marked.stages},
        )
        peak = table.step[np.argmax(table["li2.G_F"])]
        assert marked["lazy"].start < marked["lazy"].end < peak <= marked["independent"].end + 20
        assert table["li2.purity"][at["interactive"]] > table["li2.purity"][at["independent"]] + 0.1
        assert table["li2.ridge"][at["interactive"]] == pytest.approx(record.summary["li2"]["decay_ridge"], rel=0.2)
    for record in records[n:]:
        marked = li2.stages(record)
        assert not marked.grokked
        assert "did not generalise" in marked.verdict
        assert [stage.name for stage in marked.stages] == ["lazy", "independent", "stalled"]
        assert abs(record.table["li2.alignment"][-1]) < 0.2
        assert record.summary["li2"]["story"].startswith("Li₂: no grokking: memorised at epoch")


def test_the_lens_draws_a_run(tmp_path):
    record = trained("quadratic")[0]
    shown = li2.LENSES[0].figure_data(record)
    assert [figure.kind for figure in shown] == ["panels", "panels"]
    for i, figure in enumerate(shown):
        plots.save(figure, tmp_path / f"{i}.svg")
    assert "III interactive" in str(shown[0].meta)


def history(train, test, **columns):
    n = len(train)
    base = {f"li2.{name}": np.zeros(n) for name in ("G_F", "alignment", "repulsion", "ridge", "step_V")}
    base |= {"train_accuracy": np.array(train), "test_accuracy": np.array(test)}
    return Table(10 * np.arange(n), base | {f"li2.{k}": np.array(v) for k, v in columns.items()})


@pytest.mark.parametrize(
    ("train", "test", "grokked", "said"),
    [
        ([0.1, 0.5, 0.8], [0.0, 0.0, 0.0], False, "the training set was not learned"),
        ([0.1, 1.0, 1.0, 1.0], [0.1, 0.1, 0.1, 0.1], False, "did not generalise (test accuracy is 0.10"),
        ([0.1, 1.0, 1.0, 1.0], [0.1, 0.1, 0.3, 0.6], False, "still rising"),
        ([0.1, 0.5, 1.0, 1.0], [0.1, 0.5, 0.98, 1.0], False, "without delay"),
        ([0.1, 1.0, 1.0, 1.0, 1.0], [0.1, 0.1, 0.1, 0.4, 1.0], True, "memorised at step 10, generalised at step 40"),
        ([0.1, 1.0, 1.0, 1.0, 1.0, 1.0], [0.1, 0.1, 0.1, 0.1, 1.0, 0.1], False, "generalised and fell back"),
        ([0.1, 1.0, 1.0, 1.0, 1.0, 1.0], [0.1, 0.1, 0.1, 0.1, 1.0, 0.95], True, "generalised at step 40"),
        ([0.1, 1.0, 1.0, 1.0], [0.1, 0.1, 0.3, 1.0], False, "a delay is not resolved: memorised by step 10"),
    ],
)
def test_the_verdict_names_what_happened(train, test, grokked, said):
    marked = li2.stages(history(train, test))
    assert marked.grokked is grokked
    assert said in marked.verdict
    assert 0 < marked.confidence <= 1


def test_the_boundary_is_the_median_of_three_signs():
    ones = [0.1, 1, 1, 1, 1, 1, 1, 1]
    marked = li2.stages(
        history(
            ones,
            [0, 0, 0, 0, 0, 0, 0.5, 1],
            repulsion=[0.9, 0.0, 0.1, 0.6, 0.9, 0.9, 0.9, 0.9],
            alignment=[0.0, 0.9, 0.9, 0.9, 0.4, 0.3, 0.3, 0.3],
            ridge=[0.0, 1.0, 1.0, 1.0, 1.0, 0.2, 0.1, 0.1],
            G_F=[1, 2, 4, 3, 2, 1, 1, 1],
        )
    )
    assert (marked["independent"].start, marked["independent"].end) == (10, 40)
    assert "boundary between steps 30 and 50" in marked["interactive"].evidence
    with pytest.raises(KeyError, match="no stage 'stalled' in this run"):
        marked["stalled"]


ENDED = {
    "repulsion": [0.9, 0.0, 0.1, 0.9, 0.9, 0.9, 0.9, 0.9],
    "alignment": [0.0, 0.9, 0.9, 0.4, 0.4, 0.4, 0.4, 0.4],
    "ridge": [0.0, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.1],
}


@pytest.mark.parametrize(
    ("purity", "name"),
    [
        ([0.1, 0.2, 0.25, 0.28, 0.29, 0.30, 0.31, 0.32], "stalled"),
        ([0.1, 0.2, 0.25, 0.28, 0.35, 0.42, 0.50, 0.60], "interactive"),
    ],
)
def test_an_interactive_stage_needs_features_that_grow(purity, name):
    marked = li2.stages(history([0.1, *[1] * 7], [0] * 8, purity=purity, **ENDED))
    assert [stage.name for stage in marked.stages] == ["lazy", "independent", name]


def test_a_run_on_all_pairs_is_said_to_have_no_test_rows():
    purity = [0.1, 0.2, 0.5, 0.8, 0.9, 0.9, 0.9, 0.9]
    gone = ENDED | {"alignment": [0.0, 0.9, 0.9, 0.1, 0.0, 0.0, 0.0, 0.0]}
    table = history([0.1, *[1] * 7], [0] * 8, purity=purity, **gone)
    known = {name: column for name, column in table.columns.items() if name != "test_accuracy"}
    marked = li2.stages(Table(table.step, known))
    assert not marked.grokked
    assert "there are no test rows to generalise to" in marked.verdict
    assert "stalled" not in marked
    assert "no test rows" in marked["interactive"].evidence


def test_a_run_without_the_lens_is_refused():
    with pytest.raises(ValueError, match=r'through the lens "li2".*li2.G_F'):
        li2.stages(Table([0, 1], {"train_accuracy": [0.0, 1.0]}))


def test_the_example_groks_s4(capsys):
    runpy.run_path(str(Path(__file__).parents[3] / "examples" / "li2_stages.py"))
    printed = capsys.readouterr().out
    assert "expect grokking through three stages" in printed
    assert "Li₂: grokking: memorised at epoch" in printed
    assert "interactive, epochs" in printed
