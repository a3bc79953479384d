"""What `run` and `run_many` promise about the store: nothing twice, nothing lost, the same bits."""

import errno
import signal
import threading
import time

import numpy as np
import pytest

from firstlight import flow, runs
from firstlight.flow import _checkpoint
from firstlight.records import RunSpec, SpecError, Store, spec_from_mapping
from firstlight.runs import _lenses

SPEC = spec_from_mapping(
    {
        "task": {"group": "Z5", "split": {"fraction": 0.8}},
        "model": {"width": 16},
        "optimizer": {"learning_rate": 0.01},
        "steps": 40,
        "snapshots": 3,
    }
)


def seeded(*seeds: int, **changes) -> list[RunSpec]:
    return [SPEC.model_copy(update={"seed": seed, **changes}) for seed in seeds]


LONG = {"steps": 20_000, "recording": flow.Recording(every=100)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.sqlite"


def leftovers(path) -> list[str]:
    return [p.name for p in path.parent.glob("*.checkpoints/*")]


def test_a_run_is_the_engine_s_run(path):
    record = runs.run(SPEC, store=path, progress="off")
    resolved = runs.resolve(SPEC)
    direct = flow.train(
        resolved.model,
        resolved.split,
        loss=SPEC.loss,
        optimizer=SPEC.optimizer,
        steps=SPEC.steps,
        recording=SPEC.recording,
        progress="off",
    ).lanes[0]
    assert (record.status, record.steps) == ("finished", 40)
    np.testing.assert_array_equal(record.table.step, direct.frame["step"])
    for name in ("train_loss", "test_loss", "train_accuracy", "test_accuracy"):
        np.testing.assert_array_equal(record.table[name], direct.frame[name])
    np.testing.assert_array_equal(runs.load_model(record, path).W, direct.model.W)
    np.testing.assert_array_equal(runs.load_model(record.id[:10], path, step=0).V, resolved.model.V)
    assert sorted(record.weights) == ["final", "step-0", "step-20", "step-40"]
    assert not leftovers(path)


def test_what_is_over_is_not_run_again_unless_asked(path):
    first = runs.run(SPEC, store=path, progress="off")
    seen = []
    assert runs.run(SPEC, store=path, on_record=seen.append).digest == first.digest
    assert not seen
    again = runs.run(SPEC, store=path, progress="off", force=True, on_record=seen.append)
    assert [row["step"] for row in seen] == [0, 10, 20, 30, 40]
    assert (again.result_digest, again.created > first.created) == (first.result_digest, True)
    renamed = SPEC.model_copy(update={"name": "another label"})
    assert runs.run(renamed, store=path).digest == again.digest


def test_a_forced_run_that_is_cut_short_leaves_the_finished_record(path):
    first = runs.run(SPEC, store=path, progress="off")
    with pytest.raises(flow.TrainingInterrupted):
        runs.run(SPEC, store=path, progress="off", force=True, on_record=ctrl_c_at(20))
    with Store(path) as store:
        assert store.get_run(SPEC).result_digest == first.result_digest


def ctrl_c() -> None:
    """Press it, and give the main thread time to notice before this one is done."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    time.sleep(0.3)


def ctrl_c_at(step: int):
    def on_record(row: dict) -> None:
        if row["step"] == step:
            ctrl_c()

    return on_record


def test_ctrl_c_keeps_what_was_done_and_the_rest_follows_bit_for_bit(path):
    spec = SPEC.model_copy(update=LONG)
    with pytest.raises(flow.TrainingInterrupted):
        runs.run(spec, store=path, progress="off", on_record=ctrl_c_at(1000))
    with Store(path) as store:
        partial = store.get_run(spec)
    assert partial.status == "interrupted"
    assert 1000 <= partial.steps < 20_000
    assert partial.table.step[-1] >= 1000
    assert partial.summary["story"].startswith(f"Z5: interrupted at epoch {partial.steps} of 20000")
    assert leftovers(path) == [partial.id]
    later = []
    whole = runs.run(spec, store=path, progress="off", on_record=lambda row: later.append(row["step"]))
    assert whole.status == "finished", whole.message
    assert later[0] > partial.table.step[-1]
    assert whole.seconds > partial.seconds
    assert whole.result_digest == runs.run(spec, store=path.with_name("other.sqlite"), progress="off").result_digest
    assert not leftovers(path)


def test_many_runs_are_each_the_run_alone_and_resume_though_some_are_over(path):
    specs = [*seeded(0, 1), *seeded(2, 3, 4, **LONG)]
    alone = [runs.run(spec, store=path.with_name("alone.sqlite"), progress="off") for spec in specs]

    def stop(place: int, row: dict) -> None:
        if place == 3 and row["step"] == 500:
            ctrl_c()

    with pytest.raises(flow.TrainingInterrupted):
        runs.run_many(specs, store=path, progress="off", on_record=stop)
    with Store(path) as store:
        assert [store.run_status(spec) for spec in specs[:2]] == ["finished", "finished"]
        done = [spec for spec in specs if store.run_status(spec) == "finished"]
    rows = []
    order = [*specs[:2], specs[3], specs[4], specs[2], specs[0]]
    records = runs.run_many(order, store=path, progress="off", on_record=lambda *row: rows.append(row))
    assert [r.result_digest for r in records] == [alone[i].result_digest for i in (0, 1, 3, 4, 2, 0)]
    assert len(done) < len(specs)
    assert min(row["step"] for place, row in rows if place == 2) > 500, "the run started again"
    assert not leftovers(path)
    with Store(path) as store:
        assert len(store.run_ids()) == len(specs)


def test_a_checkpoint_that_is_no_use_costs_time_only(path):
    spec = SPEC.model_copy(update=LONG)
    with pytest.raises(flow.TrainingInterrupted):
        runs.run(spec, store=path, progress="off", on_record=ctrl_c_at(100))
    (file,) = path.parent.glob("*.checkpoints/*/*.safetensors")
    file.write_bytes(file.read_bytes()[:100])
    with pytest.warns(UserWarning, match="The run starts again from the beginning"):
        record = runs.run(spec, store=path, progress="off")
    assert record.status == "finished"


def test_a_checkpoint_that_cannot_be_written_neither_fails_the_run_nor_loses_its_rows(path, monkeypatch):
    def full(*_) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    spec = SPEC.model_copy(update=LONG)
    with monkeypatch.context() as patch:
        patch.setattr(_checkpoint, "write_atomically", full)
        words = r"checkpoint .* cannot be written \(No space left on device\); the run continues"
        with pytest.warns(UserWarning, match=words), pytest.raises(flow.TrainingInterrupted):
            runs.run(spec, store=path, progress="off", on_record=ctrl_c_at(1000), checkpoint_seconds=0.0)
    with Store(path) as store:
        assert store.run_status(spec) == "interrupted"
        assert store.get_run(spec).steps >= 1000
    record = runs.run(spec, store=path, progress="off")
    calm = runs.run(spec, store=path.with_name("calm.sqlite"), progress="off")
    assert record.result_digest == calm.result_digest


def test_divergence_and_failure_are_records(path, monkeypatch):
    hot = SPEC.model_copy(update={"optimizer": flow.Optimizer(name="sgd", learning_rate=1e9)})
    record = runs.run(hot, store=path, progress="off")
    assert record.status == "diverged"
    assert "diverged at epoch" in record.summary["story"]
    assert all(np.isfinite(array).all() for array in store_weights(path, record).values())

    def raises(ctx: flow.Context) -> dict:
        raise ZeroDivisionError("no such quantity")

    bad = flow.Lens("bad", "one that raises", observables=(raises,))
    monkeypatch.setattr(_lenses, "_collected", lambda: {"bad": bad})
    failed = runs.run(SPEC.model_copy(update={"lenses": ("bad",)}), store=path, progress="off")
    assert failed.status == "failed"
    assert failed.message == "ZeroDivisionError: no such quantity"
    assert failed.traceback.startswith("Traceback")
    assert "in raises" in failed.traceback
    assert failed.summary["story"] == "Z5: failed after 0 epochs: ZeroDivisionError: no such quantity."
    wrong = spec_from_mapping({"task": {"group": "Zz"}})
    with pytest.raises(SpecError, match="unknown group"):
        runs.run(wrong, store=path)
    good, unknown = runs.run_many([*seeded(0), wrong], store=path, progress="off")
    assert (good.status, unknown.status) == ("finished", "failed")
    assert unknown.message.startswith("task.group: unknown group 'Zz'")


def store_weights(path, record) -> dict:
    with Store(path) as store:
        return store.weights(record.id)


def test_readers_see_a_run_while_it_goes(path):
    seen = []

    def look(row: dict) -> None:
        if row["step"] == 19_000:
            with Store(path) as store:
                seen.append((store.run_status(spec), len(store.get_run(spec).table)))

    spec = SPEC.model_copy(update=LONG)
    runs.run(spec, store=path, progress="off", on_record=look)
    assert seen[0][0] == "interrupted"
    assert seen[0][1] >= 64
