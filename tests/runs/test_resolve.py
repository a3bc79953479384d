"""A spec becomes objects, or one line that says what is wrong with it."""

import numpy as np
import pytest

from firstlight import runs
from firstlight.records import RunSpec, SpecError, digest_arrays, spec_from_mapping


def one_line(spec: dict, **options) -> str:
    with pytest.raises(SpecError) as caught:
        runs.resolve(spec_from_mapping(spec), **options)
    assert len(caught.value.problems) == 1
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_every_kind_of_task_and_model(tmp_path):
    np.savez(tmp_path / "mine.npz", X=np.random.default_rng(0).normal(size=(20, 6)), y=np.arange(20) % 2)
    deep = {"kind": "deep", "widths": [6, 6], "residual": True, "bias": True, "activation": "tanh"}
    tasks = {
        "group": {"group": "S3", "encoding": "summed"},
        "parity": {"kind": "parity", "dimension": 6, "samples": 30},
        "arrays": {"kind": "arrays", "path": str(tmp_path / "mine.npz")},
    }
    shapes = {"group": (6, 6), "parity": (6, 2), "arrays": (6, 2)}
    for kind, model in (("group", {"width": 6}), ("parity", deep), ("arrays", {"width": 6})):
        run = runs.resolve(spec_from_mapping({"task": tasks[kind], "model": model}))
        assert (run.task.inputs.dim, run.task.outputs) == shapes[kind]
        weights = run.model.weights if model is deep else (run.model.W, run.model.V)
        assert (weights[0].shape[0], weights[-1].shape[1]) == shapes[kind]


def test_the_seed_draws_data_noise_and_weights():
    spec = spec_from_mapping({"task": {"group": "Z5", "label_noise": 0.2}, "model": {"width": 16}})
    first, again, other = (runs.resolve(spec.model_copy(update={"seed": seed})) for seed in (0, 0, 1))
    for look in (lambda r: r.split.train, lambda r: r.task.targets, lambda r: np.asarray(r.model.W)):
        np.testing.assert_array_equal(look(first), look(again))
        assert (look(first) != look(other)).any()


def test_names_that_mean_nothing_are_one_line_with_a_guess():
    assert "task.group: unknown group 'Zz7'" in one_line({"task": {"group": "Zz7"}})
    assert "did you mean 'relu'?" in one_line({"model": {"activation": "rleu"}})
    assert 'lenses[0]: unknown lens "nroms"; did you mean "norms"?' in one_line({"lenses": ["nroms"]})
    assert one_line({"task": {"group": "Z3", "split": {"fraction": 0.01}}}).startswith("task.split: fraction 0.01")
    assert "task: the template encoding" in one_line({"task": {"group": "Z3", "encoding": "template"}})
    loss = {"kind": "cross_entropy", "projection": "samples"}
    assert one_line({"loss": loss}).startswith("loss: cross_entropy has no projection over samples")
    with pytest.raises(SpecError) as caught:
        runs.check(spec_from_mapping({"task": {"group": "?"}, "model": {"activation": "?"}}))
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        "task.group",
        "model.activation",
    ]


def test_stop_rules_and_rates_name_what_the_run_has():
    def stop(name: str, **more) -> dict:
        small = {"task": {"group": "Z5"}, "model": {"width": 4}}
        return {**small, **more, "stop": [{"observable": name, "at_most": 0.1}]}

    for good in (stop("test_accuracy"), stop("norm.W", lenses=["norms"]), stop("train_loss", task={"group": "Z3"})):
        runs.resolve(spec_from_mapping(good))
    assert "'norm.W'; it has test_accuracy" in one_line(stop("norm.W"))
    assert "did you mean 'norm.W'?" in one_line(stop("norm.w", lenses=["norms"]))
    full = {"group": "Z5", "split": {"fraction": 1.0}}
    assert one_line(stop("test_accuracy", task=full)).endswith("it has train_accuracy, train_loss")
    deep = {"model": {"kind": "deep", "widths": [4], "bias": True}, "optimizer": {"layer_rates": {"weight.1": 0.1}}}
    assert one_line(deep).startswith("optimizer.layer_rates.weight.1: this model has no parameter 'weight.1'; did you")
    with pytest.raises(SpecError, match="this run records no number"):
        runs.run(spec_from_mapping(stop("los")), progress="off")


def test_arrays_come_from_the_data_folder_and_are_those_of_the_digest(tmp_path, monkeypatch):
    np.savez(tmp_path / "mine.npz", X=np.eye(6), y=np.arange(6) % 2)
    model = {"width": 6}
    task = {"kind": "arrays", "path": "mine.npz", "split": {"count": 4}}
    assert "give its folder with --data or FIRSTLIGHT_DATA" in one_line({"task": task, "model": model})
    by_argument = runs.resolve(spec_from_mapping({"task": task, "model": model}), data=tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    monkeypatch.setenv("FIRSTLIGHT_DATA", f"~/{tmp_path.name}")
    by_variable = runs.resolve(spec_from_mapping({"task": task, "model": model}))
    assert by_argument.id == by_variable.id
    assert by_variable.spec.task.digest == digest_arrays(tmp_path / "mine.npz")
    np.savez(tmp_path / "mine.npz", X=2 * np.eye(6), y=np.arange(6) % 2)
    with pytest.raises(SpecError, match=r"task\.digest: the arrays in 'mine.npz' have digest"):
        runs.resolve(by_variable.spec)
    np.savez(tmp_path / "mine.npz", X=np.eye(6))
    assert "must hold X and y; it lacks y" in one_line({"task": task, "model": model})


def test_snapshots_are_spread_over_recorded_steps():
    def steps(count: int, **recording) -> tuple[int, ...]:
        spec = {"steps": 100, "snapshots": count, "recording": recording}
        return runs.snapshot_steps(RunSpec.model_validate(spec))

    assert steps(0, every=10) == ()
    assert steps(1, every=10) == (0,)
    assert steps(3, every=10) == (0, 50, 100)
    assert steps(99, every=50) == (0, 50, 100)
    assert steps(3, points=3) == (0, 10, 100)
