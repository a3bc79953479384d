"""What is the same run, here and on every machine, now and later."""

import zipfile

import numpy as np
import pytest

from firstlight.records import (
    ArraysTask,
    DeepModel,
    GroupTask,
    Optimizer,
    Recording,
    RunRecord,
    RunSpec,
    SpecError,
    SplitSpec,
    Stop,
    digest_arrays,
    run_id,
)

# Computed once and for all. One that changes makes every stored run a stranger: raise SPEC_VERSION instead.
GOLDEN = [
    (RunSpec(), "143757514795575a8afbe7efe6b3add5e8d230c9b5839329d1dbf3f12168c74d"),
    (RunSpec(name="a label is no difference"), "143757514795575a8afbe7efe6b3add5e8d230c9b5839329d1dbf3f12168c74d"),
    (
        RunSpec(
            task=GroupTask(group="S5", template=(0.5, -0.0), split=SplitSpec(count=600, stratified=True)),
            model=DeepModel(widths=(64, 64), residual=True),
            optimizer=Optimizer(name="adamw", learning_rate=1e-2, layer_rates={"V": 0.1, "W": 1e-7}),
            recording=Recording(points=50),
            stop=(Stop(observable="test.accuracy", at_least=0.99),),
            steps=20_000,
            seed=12,
        ),
        "755da4690bd50f38369c2c8d9a3bbc68338bcd149596b91dede7b5c3947f1378",
    ),
    (
        RunSpec(task=ArraysTask(path="anywhere.npz", digest="ab" * 32)),
        "e89bbc2c4bafcce2e0b1319732d2564dfeec2a09bc0eaba0dcfe0328b169e9c7",
    ),
]


@pytest.mark.parametrize(("spec", "expected"), GOLDEN, ids=["defaults", "named", "rich", "arrays"])
def test_ids_are_what_they_always_were(spec, expected):
    assert run_id(spec) == expected


def test_only_what_differs_from_the_defaults_counts():
    assert run_id(RunSpec(model={"kind": "two_layer", "width": 2048}, seed=0)) == run_id(RunSpec())
    assert run_id(RunSpec(optimizer=Optimizer(learning_rate=0.1))) == run_id(
        RunSpec(optimizer=Optimizer(learning_rate=float("0.1000")))
    )
    assert run_id(RunSpec(task=GroupTask(split=SplitSpec(fraction=0.5)))) != run_id(RunSpec())


def test_arrays_count_by_content_wherever_they_lie(tmp_path):
    x, y = np.random.default_rng(0).normal(size=(5, 3)), np.arange(5)
    np.savez(tmp_path / "a.npz", X=x, y=y)
    np.savez_compressed(tmp_path / "b.npz", y=y, X=np.asfortranarray(x))
    np.savez(tmp_path / "c.npz", X=x, y=y[::-1])
    ids = {name: run_id(RunSpec(task=ArraysTask(path=str(tmp_path / f"{name}.npz")))) for name in "abc"}
    assert ids["a"] == ids["b"] != ids["c"]
    pinned = RunRecord(spec=RunSpec(task=ArraysTask(path=str(tmp_path / "a.npz"))), status="finished").spec
    (tmp_path / "a.npz").unlink()
    assert run_id(pinned) == ids["a"]
    assert pinned.task.digest == digest_arrays({"X": x, "y": y})


def test_names_types_and_shapes_of_arrays_count():
    a = np.zeros(4)
    digests = [
        digest_arrays(arrays)
        for arrays in (
            {"a": a},
            {"b": a},
            {"a": a.astype("f4")},
            {"a": a.reshape(2, 2)},
            {"a": a, "b": a},
            {"a": a[:0]},
            {},
        )
    ]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("kind", ["missing", "garbage", "pickled", "single", "truncated"])
def test_unreadable_arrays_are_refused_and_never_unpickled(tmp_path, kind):
    file = tmp_path / "data.npz"
    if kind == "garbage":
        file.write_bytes(b"PK\x03\x04 and then nothing of sense")
    elif kind == "pickled":
        np.savez(file, X=np.array([print], dtype=object))
    elif kind == "single":
        with file.open("wb") as stream:
            np.save(stream, np.zeros(3))
    elif kind == "truncated":
        np.savez(file, X=np.zeros(1000))
        file.write_bytes(file.read_bytes()[:-200])
        assert not zipfile.is_zipfile(file)
    said = r"task.path: cannot read .*give an .npz file with arrays X and y"
    if kind == "missing":
        said = r"task.path: there is no file .*data.npz' here; give its folder with --data or FIRSTLIGHT_DATA"
    with pytest.raises(SpecError, match=said):
        run_id(RunSpec(task=ArraysTask(path=str(file))))
