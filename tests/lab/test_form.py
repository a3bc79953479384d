"""A form and its spec: messages beside the controls, limits, copies that give the same run."""

import subprocess
import sys

import pytest

from firstlight.lab._form import FIELDS, FormError, default_form, spec_of
from firstlight.records import apply_overrides, load_spec, run_id


@pytest.mark.parametrize(
    ("control", "text", "words"),
    [
        ("width", "0", "at least 1"),
        ("width", "1.5", "whole number"),
        ("width", "1e9", "whole number"),
        ("width", "99999999", "at most 16,384"),
        ("fraction", "0", "between 0 and 1"),
        ("fraction", "1", "between 0 and 1"),
        ("fraction", "-0.2", "between 0 and 1"),
        ("fraction", "nan", "between 0 and 1"),
        ("rate", "0", "more than 0"),
        ("rate", "abc", "must be a number"),
        ("decay", "-1", "at least 0"),
        ("decay", "inf", "at most 100"),
        ("steps", "0", "at least 1"),
        ("steps", "10000000", "at most 200,000"),
        ("seed", "-1", "at least 0"),
        ("optimizer", "lion", "choose one of adam"),
        ("model", "rnn", "choose one of two_layer, deep, embedding, transformer"),
    ],
)
def test_a_wrong_value_names_its_control(control, text, words):
    with pytest.raises(FormError) as error:
        spec_of({control: text})
    assert list(error.value.problems) == [control]
    assert words in error.value.problems[control]


def test_every_control_changes_the_run():
    others = {
        "group": "D5", "fraction": "0.5", "width": "64", "activation": "relu", "model": "deep", "optimizer": "sgd",
        "rate": "0.1", "decay": "0.01", "steps": "50", "seed": "7",
    }  # fmt: skip
    assert others.keys() == {field.name for field in FIELDS}
    ids = {run_id(spec_of(default_form() | {name: value})) for name, value in others.items()}
    assert len(ids | {run_id(spec_of(default_form()))}) == len(others) + 1


@pytest.mark.parametrize("model", ["two_layer", "deep", "embedding", "transformer"])
def test_hidden_units_are_those_of_every_model(model):
    from firstlight.lab._answers import setting

    answer = setting({"form": {"group": "Z5", "model": model, "width": "24", "activation": "relu"}, "data": ""})
    sizes = {"two_layer": "width", "deep": "widths", "embedding": "width", "transformer": "mlp"}
    assert answer["spec"]["model"][sizes[model]] in (24, [24, 24])
    assert answer["spec"]["snapshots"] == 40
    # The forecast was measured on two layers; for the others it says so instead of a number.
    assert answer["forecast"]["covered"] == (model == "two_layer")
    assert ("two-layer networks" in answer["forecast"].get("reason", "")) == (model != "two_layer")


def test_copies_mean_the_same_run(tmp_path):
    import shlex

    from firstlight.lab._answers import copies
    from firstlight.records import RunSpec

    spec = spec_of({"group": "Z3xZ7", "activation": "poly(1,0.5)", "seed": "4"})
    made = copies(spec.model_copy(update={"lenses": ("li2", "norms")}))
    (tmp_path / "spec.toml").write_text(made["toml"])
    from_toml = load_spec(tmp_path / "spec.toml")
    words = shlex.split(made["command"].partition("empty.toml --set")[2])
    overrides = [word for word in ["--set", *words] if word != "--set"]
    names: dict = {}
    exec(made["python"].replace("runs.run(spec)", "spec"), names)
    assert run_id(from_toml) == run_id(apply_overrides(RunSpec(), overrides)) == run_id(names["spec"])
    assert from_toml.lenses == ("li2", "norms")


def test_the_command_line_is_not_slower_for_the_lab():
    heavy = {"starlette", "uvicorn", "bokeh", "firstlight.lab"}
    code = f"import sys, firstlight, firstlight.cli._tree; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
