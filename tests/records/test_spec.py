"""Specs from files, mappings and overrides; what a wrong one says."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.records import (
    ArraysTask,
    DeepModel,
    GroupTask,
    Loss,
    Optimizer,
    ParityTask,
    Recording,
    RunSpec,
    SpecError,
    SplitSpec,
    Stop,
    TwoLayerModel,
    apply_overrides,
    changed_fields,
    dump_toml,
    load_spec,
    run_id,
    spec_from_mapping,
)

positive = st.floats(1e-12, 1e12)
splits = st.one_of(
    st.builds(SplitSpec, fraction=st.floats(0.01, 1), stratified=st.booleans()),
    st.builds(SplitSpec, count=st.integers(1, 100)),
)
tasks = st.one_of(
    st.builds(
        GroupTask,
        group=st.sampled_from(["Z71", "S4", "D6"]),
        template=st.none() | st.lists(st.floats(-1e9, 1e9), max_size=3).map(tuple),
        split=splits,
    ),
    st.builds(ParityTask, dimension=st.integers(5, 60), degree=st.integers(1, 5), split=splits),
    st.builds(ArraysTask, path=st.text(), digest=st.text("0123456789abcdef", min_size=64, max_size=64)),
)
models = st.one_of(
    st.builds(TwoLayerModel, width=st.integers(1, 9999), scale=positive, bias=st.booleans()),
    st.builds(DeepModel, widths=st.lists(st.integers(1, 999), min_size=1, max_size=3).map(tuple)),
)
optimizers = st.builds(
    Optimizer,
    name=st.sampled_from(["sgd", "adam", "adamw", "muon"]),
    learning_rate=positive,
    layer_rates=st.dictionaries(st.text(min_size=1), st.floats(0, 10), max_size=2),
    batch_size=st.none() | st.integers(1, 500),
)
stops = st.builds(Stop, observable=st.text(), at_least=st.floats(-1e9, 1e9))
specs = st.builds(
    RunSpec,
    name=st.text(),
    task=tasks,
    model=models,
    loss=st.builds(Loss, factor=positive),
    optimizer=optimizers,
    recording=st.builds(Recording, points=st.integers(1, 99)) | st.builds(Recording, every=st.integers(1, 99)),
    stop=st.lists(stops, max_size=2).map(tuple),
    lenses=st.lists(st.text(), max_size=2).map(tuple),
    seed=st.integers(0, 2**32 - 1),
)


@given(spec=specs)
def test_every_way_out_leads_back_in(spec, tmp_path_factory):
    assert RunSpec.model_validate_json(spec.model_dump_json()) == spec
    assert spec_from_mapping(changed_fields(spec)) == spec
    assert spec_from_mapping(json.loads(json.dumps(spec.model_dump()))) == spec
    folder = tmp_path_factory.mktemp("specs")
    for full in (False, True):
        file = folder / "spec.toml"
        file.write_text(dump_toml(spec, full=full), encoding="utf-8", newline="")
        assert load_spec(file) == spec


@given(specs, specs)
def test_two_specs_have_one_id_only_when_they_are_one_run(a, b):
    def unlabelled(spec):
        task = spec.task.model_copy(update={"path": ""}) if isinstance(spec.task, ArraysTask) else spec.task
        return spec.model_copy(update={"name": "", "task": task})

    assert (run_id(a) == run_id(b)) == (unlabelled(a) == unlabelled(b))
    assert run_id(a) == run_id(RunSpec.model_validate(a.model_dump()))


WRONG = [
    ({"steps": -5}, "steps: got -5; allowed is a whole number > 0"),
    ({"steps": "500"}, 'steps: got "500"; allowed is a whole number > 0'),
    ({"steps": True}, "steps: got true; allowed is a whole number > 0"),
    ({"seed": 2**40}, "seed: got 1099511627776; allowed is a whole number ≥ 0 and < 4294967296"),
    (
        {"optimizer": {"lerning_rate": 0.1}},
        "optimizer.lerning_rate: unknown field (got 0.1); did you mean optimizer.learning_rate?",
    ),
    ({"lr": 0.1}, "lr: unknown field (got 0.1); did you mean optimizer.learning_rate?"),
    ({"task": {"frac": 0.4}}, "task.frac: unknown field (got 0.4); did you mean task.split.fraction?"),
    (
        {"optimizer": {"name": "adamm"}},
        'optimizer.name: got "adamm"; allowed is one of "sgd", "adam", "adamw", "muon"; did you mean "adam"?',
    ),
    (
        {"task": {"kind": "grup"}},
        'task.kind: got "grup"; allowed is one of "group", "parity", "arrays"; did you mean "group"?',
    ),
    (
        {"task": {"kind": "parity", "group": "S3"}},
        'task.group: unknown field (got "S3"); it belongs to task.kind = "group", and this is "parity"',
    ),
    ({"task": {"kind": "arrays"}}, "task.path: missing; give text"),
    ({"task": 5}, 'task: got 5; allowed is a table with kind = "group", "parity" or "arrays"'),
    (
        {"task": {"split": {"fraction": 1.5}}},
        "task.split.fraction: got 1.5; allowed is a finite number > 0 and ≤ 1, or left out",
    ),
    (
        {"task": {"split": {"fraction": 0.5, "count": 3}}},
        'task.split: give either fraction or count, not both (got {"fraction": 0.5, "count": 3})',
    ),
    (
        {"task": {"kind": "parity", "degree": 99}},
        'task: degree must be at most dimension = 50 (got {"kind": "parity", "degree": 99})',
    ),
    ({"model": {"kind": "deep", "widths": [3, 0]}}, "model.widths[1]: got 0; allowed is a whole number > 0"),
    ({"stop": [{"at_least": 1}]}, "stop[0].observable: missing; give text"),
    ({"optimizer": {"layer_rates": {"W": -1}}}, "optimizer.layer_rates.W: got -1; allowed is a finite number ≥ 0"),
    ({"zz": 1}, "zz: unknown field (got 1); the fields here are name, task, model, loss,"),
]


@pytest.mark.parametrize(("values", "message"), WRONG, ids=[message.split(":")[0] for _, message in WRONG])
def test_a_wrong_field_is_one_line_that_says_what_is_allowed(values, message):
    with pytest.raises(SpecError) as caught:
        spec_from_mapping(values)
    assert len(caught.value.problems) == 1
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(message)


def test_every_problem_has_its_line():
    with pytest.raises(SpecError) as caught:
        spec_from_mapping({"steps": 0, "modle": {}, "loss": {"kind": "mae"}})
    assert {line.split(":")[0] for line in caught.value.problems} == {"steps", "modle", "loss.kind"}


def test_numbers_may_come_from_numpy_or_in_exponents():
    spec = RunSpec(steps=np.int64(7), seed=np.uint32(3), optimizer=Optimizer(learning_rate=np.float32(0.5)))
    assert spec == spec_from_mapping({"steps": 7.0, "seed": 3, "optimizer": {"learning_rate": 0.5}})
    assert apply_overrides({}, ["steps=1e3"]).steps == 1000


OVERRIDES = [
    (["optimizer.learning_rate=1e-2"], {"optimizer": {"learning_rate": 0.01}}),
    (["task.group=Z23", "seed=4"], {"task": {"group": "Z23"}, "seed": 4}),
    (["task.kind=parity", "task.degree=3"], {"task": {"kind": "parity", "degree": 3}}),
    (["model.kind=deep", "model.widths=64, 32"], {"model": {"kind": "deep", "widths": [64, 32]}}),
    (["model.kind=deep", "model.widths=[64]"], {"model": {"kind": "deep", "widths": [64]}}),
    (["name=42"], {"name": "42"}),
    (["name="], {}),
    (["name=2026-01-01"], {"name": "2026-01-01"}),
    (["lenses=li2,agf"], {"lenses": ["li2", "agf"]}),
    (["model.bias=true"], {"model": {"bias": True}}),
    (["task.split.count=9"], {"task": {"split": {"count": 9}}}),
    (["task.split.stratified=true"], {"task": {"split": {"fraction": 0.4, "stratified": True}}}),
    (["recording.points=5"], {"recording": {"points": 5}}),
    (["optimizer.layer_rates.W=0.5"], {"optimizer": {"layer_rates": {"W": 0.5}}}),
    (
        ['stop=[{observable="test.accuracy", at_least=0.99}]'],
        {"stop": [{"observable": "test.accuracy", "at_least": 0.99}]},
    ),
]


@pytest.mark.parametrize(("overrides", "values"), OVERRIDES, ids=[o[0] for o, _ in OVERRIDES])
def test_overrides_say_what_a_mapping_would(overrides, values):
    assert apply_overrides(RunSpec(), overrides) == apply_overrides({}, overrides) == spec_from_mapping(values)


def test_an_override_replaces_its_alternative_and_what_lies_in_lists():
    spec = RunSpec(
        task=GroupTask(split=SplitSpec(count=30)),
        stop=(Stop(observable="loss", at_most=0.1),),
        recording=Recording(every=3),
    )
    changed = apply_overrides(spec, ["task.split.fraction=0.5", "stop.0.at_most=0.2", "recording.points=9"])
    assert changed.task.split == SplitSpec(fraction=0.5)
    assert changed.stop[0].at_most == 0.2
    assert changed.recording == Recording(points=9)


def test_another_kind_keeps_no_defaults_of_the_old_but_refuses_what_was_set():
    assert apply_overrides(RunSpec(), ["task.kind=parity"]).task == ParityTask()
    with pytest.raises(SpecError, match=r'task.group: .* belongs to task.kind = "group"'):
        apply_overrides(RunSpec(task=GroupTask(group="S4")), ["task.kind=parity"])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["steps"], "override 'steps': write it as field=value"),
        (["steps.deep=3"], "steps: got"),
        (["optimiser.name=sgd"], "optimiser: unknown field .* did you mean optimizer?"),
        (["task.split.fraction=0.5", "task.split.count=3"], "task.split: give either fraction or count, not both"),
        (["stop=[{observable='x', at_most=1}]", "stop.4.at_most=2"], "stop.4: there is no item 4; the list has 1"),
    ],
)
def test_a_wrong_override_is_explained(overrides, message):
    with pytest.raises(SpecError, match=message):
        apply_overrides(RunSpec(), overrides)


def test_an_error_comes_back_whole_from_a_worker():
    error = SpecError(["steps: got 0", "seed: got -1"])
    assert pickle.loads(pickle.dumps(error)).problems == error.problems


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("spec.yaml", "steps: 3", "a spec is a .toml or a .json file; got .yaml"),
        ("spec.toml", "steps = = 3", "is not valid TOML: .* line 1"),
        ("spec.json", "[1]", "a spec is a table of fields; got list"),
        ("spec.json", '{"steps": ', "is not valid JSON: .* line 1"),
        ("spec.toml", b"name = '\xff'", "is not valid TOML"),
        ("spec.toml", "steps = 0", "spec.toml: steps: got 0; allowed is a whole number > 0"),
        ("spec.toml", None, "cannot be read .No such file"),
    ],
)
def test_a_file_that_is_not_a_spec_is_named(tmp_path, name, content, message):
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SpecError, match=message):
        load_spec(file)


def _falling(rates, memorised=0):
    loss, rows = 1.0, []
    for step, rate in enumerate(rates):
        loss *= 1 - rate
        rows.append({"step": step, "test_loss": loss, "train_accuracy": float(step >= memorised)})
    return rows


def test_a_stall_is_a_loss_that_did_not_fall_in_the_second_half():
    rule = Stop(observable="test_loss", stalled=0.05)
    falling, flat = [0.01] * 30, [0.0] * 30
    stops = [step for step in range(1, 60) if rule.met(_falling((falling + flat)[: step + 1]))]
    # Step 24 is the first from which the loss falls by less than 5 % (0.99⁵ = 0.951), so t/2 > 23 decides.
    # Until step 11 the second half has too few steps for a fall of 5 %.
    assert stops == [*range(1, 12), *range(47, 60)]
    late = rule.model_copy(update={"after": 12})
    assert not any(late.met(_falling(falling[: step + 1])) for step in range(1, 30))
    assert rule.met(_falling([-0.01] * 40))


def test_a_stall_counts_only_after_memorisation():
    rule = Stop(observable="test_loss", stalled=0.05)
    assert not rule.met(_falling([0.0] * 41, memorised=21))
    assert rule.met(_falling([0.0] * 41, memorised=20))


def test_a_stop_rule_has_a_single_criterion():
    for fields in ({}, {"at_least": 1, "stalled": 0.1}, {"at_most": 1, "at_least": 0}):
        with pytest.raises(ValueError, match="give exactly one of at_least, at_most and stalled"):
            Stop(observable="x", **fields)
    with pytest.raises(ValueError, match="after belongs to stalled"):
        Stop(observable="x", at_least=1.0, after=5)
    spec = RunSpec(stop=(Stop(observable="loss", at_most=0.1),))
    changed = apply_overrides(spec, ["stop.0.stalled=0.2"])
    assert (changed.stop[0].stalled, changed.stop[0].at_most) == (0.2, None)


def test_a_preset_is_changed_by_the_fields_beside_it():
    spec = spec_from_mapping({"preset": "nanda", "task": {"split": {"count": 50}}, "optimizer": {"weight_decay": 0.5}})
    assert (spec.task.group, spec.task.split.count, spec.task.split.fraction) == ("Z113", 50, None)
    assert (spec.optimizer.name, spec.optimizer.weight_decay, spec.optimizer.beta2) == ("adamw", 0.5, 0.98)
    assert spec_from_mapping({"preset": "power"}).optimizer.batch_size == 512
    other = spec_from_mapping({"preset": "nanda", "model": {"kind": "two_layer", "width": 8}})
    assert (other.model.kind, other.model.activation) == ("two_layer", "quadratic")


def test_a_preset_leaves_no_trace_in_the_spec_and_its_file(tmp_path):
    spec = spec_from_mapping({"preset": "nanda", "steps": 7})
    file = tmp_path / "spec.toml"
    file.write_text(dump_toml(spec), encoding="utf-8")
    assert "preset" not in file.read_text(encoding="utf-8")
    assert load_spec(file) == spec
    assert apply_overrides({"preset": "nanda"}, ["steps=7"]) == spec


@pytest.mark.parametrize("name", ["nandaa", 3, None])
def test_an_unknown_preset_is_named(name):
    with pytest.raises(SpecError, match=r"^preset: unknown preset .*The presets are nanda, power$"):
        spec_from_mapping({"preset": name})


def test_a_transformer_whose_width_is_no_multiple_of_its_heads_is_refused():
    with pytest.raises(SpecError, match=r"model: width must be divisible by heads.*got width 130 and heads 4"):
        spec_from_mapping({"model": {"kind": "transformer", "width": 130}})
