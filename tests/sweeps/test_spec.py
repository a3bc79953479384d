"""A sweep says what it means, in TOML, JSON and Python, and its mistakes in one line each."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from firstlight.records import RunSpec, SpecError, run_id
from firstlight.sweeps import Sweep, load_sweep, sweep_from_mapping

TOML = """
name = "a phase diagram"
seeds = [3, 5]

[base]
steps = 50
model.width = 8

[grid]
task.group = ["Z5", "Z7"]
"task.split.fraction" = [0.5, 0.6, 0.7]

[[points]]
optimizer.learning_rate = 0.01

[[points]]
optimizer.name = "sgd"
optimizer.layer_rates = { W = 0.5 }
"""


def problems(mapping: dict) -> tuple[str, ...]:
    with pytest.raises(SpecError) as caught:
        sweep_from_mapping(mapping).expand()
    return caught.value.problems


def test_every_combination_once(tmp_path):
    (tmp_path / "sweep.toml").write_text(TOML)
    sweep = load_sweep(tmp_path / "sweep.toml")
    specs = sweep.expand()
    assert len({run_id(spec) for spec in specs}) == len(specs) == 2 * 2 * 3 * 2
    seen = {(s.optimizer.name, s.optimizer.learning_rate, s.task.group, s.task.split.fraction, s.seed) for s in specs}
    assert seen == {
        (name, rate, group, fraction, seed)
        for name, rate in (("adam", 0.01), ("sgd", 0.001))
        for group in ("Z5", "Z7")
        for fraction in (0.5, 0.6, 0.7)
        for seed in (3, 5)
    }
    assert all((spec.steps, spec.model.width) == (50, 8) for spec in specs)
    assert specs[-1].optimizer.layer_rates == {"W": 0.5}
    fields = ("optimizer.learning_rate", "optimizer.name", "optimizer.layer_rates")
    assert sweep.fields == (*fields, "task.group", "task.split.fraction")
    as_json = tmp_path / "sweep.json"
    as_json.write_text(json.dumps(sweep.model_dump(mode="json")))
    assert load_sweep(as_json) == sweep


def test_the_base_may_be_a_file_and_be_overridden(tmp_path):
    (tmp_path / "base.toml").write_text("steps = 7")
    (tmp_path / "sweep.toml").write_text('base = "base.toml"\nseeds = 2')
    sweep = load_sweep(tmp_path / "sweep.toml", overrides=["model.width=9"])
    assert [(s.steps, s.model.width, s.seed) for s in sweep.expand()] == [(7, 9, 0), (7, 9, 1)]


def test_numbers_of_numpy_and_points_that_are_the_same_run():
    sweep = Sweep(grid={"optimizer.learning_rate": np.array([0.1, 0.001]), "seed": range(2)}, points=({}, {}))
    assert len(sweep.expand()) == 4
    assert Sweep().expand() == [RunSpec()]
    deep = Sweep(points=({"model.kind": "deep", "model.widths": [8, 8]}, {"model.width": 4})).expand()
    assert [spec.model.kind for spec in deep] == ["deep", "two_layer"]


def test_mistakes_are_one_line_each_and_found_before_anything_runs(tmp_path):
    grid = {"task.group": ["Z5", "ZZ"], "task.split.fraction": [0.5, 2], "optimizer.lerning_rate": [1]}
    said = problems({"grid": grid, "seeds": 2})
    assert said[0] == (
        "optimizer.lerning_rate: unknown field (got 1); did you mean optimizer.learning_rate? (in 8 of 8 points)"
    )
    assert any(line.startswith("task.split.fraction: got 2") and "(in 4 of 8 points)" in line for line in said)
    assert not any("\n" in line for line in said)
    unknown = problems({"grid": {"task.group": ["Z5", "ZZ"]}})
    assert unknown[0].startswith("task.group: unknown group 'ZZ'")
    assert "steps needs a list of values" in problems({"grid": {"steps": 5}})[0]
    assert "varies either in grid or in points" in problems({"grid": {"steps": [1]}, "points": [{"steps": 2}]})[0]
    assert "not both" in problems({"grid": {"seed": [1]}, "seeds": 3})[0]
    assert "seeds must differ" in problems({"seeds": [1, 1]})[0]
    assert "seeds" in problems({"seeds": -1})[0]
    stop = [{"observable": "test_acuracy", "at_least": 0.9}]
    typo = problems({"base": {"task": {"group": "Z5"}, "model": {"width": 4}, "stop": stop}, "seeds": 3})
    assert "did you mean 'test_accuracy'" in typo[0]
    assert typo[0].endswith("(in 3 of 3 points)")
    assert "null is not a value" in problems({"points": [{"optimizer.batch_size": None}]})[0]
    assert "base.steps: got -1" in problems({"base": {"steps": -1}})[0]
    (tmp_path / "broken.toml").write_text("seeds = [")
    with pytest.raises(SpecError, match=r"broken\.toml: is not valid TOML"):
        load_sweep(tmp_path / "broken.toml")
    with pytest.raises(SpecError, match=r"a sweep is a \.toml or a \.json file; got \.yaml"):
        load_sweep(tmp_path / "sweep.yaml")


def test_the_examples_of_the_page_are_sweeps():
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text()
    sizes = [
        len(sweep_from_mapping(tomllib.loads(block.partition("```")[0])).expand())
        for block in page.split("```toml\n")[1:]
    ]
    assert sizes == [4 * 5 * 5, 2 * 2]
