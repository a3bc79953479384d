"""Training: the same bits alone and together, whole and resumed; every ending has a status."""

import functools
import os
import signal
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight import flow, models, tasks
from firstlight.flow import CheckpointError, Loss, Optimizer, Recording, Schedule, Stop, _driver, _lanes, _program
from firstlight.flow import _train as _train_module
from tests.tolerances import rounding

TASK = tasks.group_task("Z7")
MAKE = functools.partial(models.TwoLayer.init, inputs=14, width=24, outputs=7)
ADAM = Optimizer(name="adam", learning_rate=1e-2, weight_decay=1e-3)


def _split(seed: int) -> tasks.Split:
    return TASK.split(fraction=0.7, seed=seed)


def _train(**options) -> flow.Trajectory:
    defaults = {"steps": 40, "seeds": (0,), "optimizer": ADAM, "progress": "off"}
    return flow.train(MAKE, _split, **(defaults | options))


def _same_bits(a, b) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


def test_follows_full_batch_gradient_descent_written_out() -> None:
    optimizer = Optimizer(name="sgd", learning_rate=0.05, weight_decay=0.01)
    run = _train(steps=25, optimizer=optimizer, dtype="float64")
    split = _split(0)
    with jax.enable_x64(True):
        model = MAKE(jax.random.key(0))
        W, V = np.asarray(model.W, float), np.asarray(model.V, float)
    X, Y = np.asarray(split.train_inputs.dense(), float), np.eye(7)[split.train_targets]
    P = np.eye(7) - 1 / 7
    for _ in range(25):
        H = X @ W
        R = (H**2 @ V - Y) @ P
        G = 2 * R / len(Y)
        dV, dW = (H**2).T @ G, X.T @ (G @ V.T * 2 * H)
        W, V = W - 0.05 * (dW + 0.01 * W), V - 0.05 * (dV + 0.01 * V)
    np.testing.assert_allclose(run.models[0].W, W, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(run.models[0].V, V, rtol=1e-10, atol=1e-12)


def test_a_lane_alone_is_the_lane_among_others() -> None:
    together = _train(seeds=(0, 1, 2))
    for seed in (0, 1, 2):
        alone = _train(seeds=(seed,))
        assert _same_bits(alone.models[0], together.models[seed])
        assert alone.lanes[0].rows == together.lanes[seed].rows


def test_stacking_by_vmap_gives_the_same_runs_to_rounding() -> None:
    threads, stacked = _train(seeds=(0, 1, 2)), _train(seeds=(0, 1, 2), batching="vmap")
    for a, b in zip(threads.models, stacked.models, strict=True):
        # A sum over the rows in each of 40 steps.
        error = rounding(np.abs(b.W).max(), 40 * len(_split(0).train_targets), np.float32)
        np.testing.assert_allclose(a.W, b.W, rtol=0, atol=error)
    alone = _train(seeds=(1,), batching="vmap")
    assert _same_bits(alone.models[0], stacked.models[1])


def test_recording_does_not_change_the_run() -> None:
    sparse, dense = _train(recording=Recording(every=40)), _train(recording=Recording(every=1))
    assert _same_bits(sparse.models[0], dense.models[0])
    assert len(dense.frame) == 41
    assert list(sparse.frame["step"]) == [0, 40]


@pytest.mark.parametrize("batching", ["threads", "vmap"])
@pytest.mark.parametrize("batch_size", [None, 8])
def test_resume_is_bit_identical(tmp_path, batching: str, batch_size: int | None) -> None:
    optimizer = ADAM.model_copy(update={"batch_size": batch_size})
    options = {"seeds": (0, 3), "optimizer": optimizer, "batching": batching, "snapshots": (10,)}
    whole = _train(**options)
    _train(**options | {"steps": 17, "snapshots": (10,)}, checkpoint=tmp_path)
    resumed = _train(**options, checkpoint=tmp_path, resume=True)
    for a, b in zip(whole.lanes, resumed.lanes, strict=True):
        assert _same_bits(a.model, b.model)
        assert _same_bits(a.snapshots[10], b.snapshots[10])
        assert a.rows == b.rows


def test_ctrl_c_leaves_a_checkpoint_that_continues_to_the_same_end(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(_driver, "_CHUNK_SECONDS", 1e-4)
    whole = _train(steps=3000, recording=Recording(every=500))
    pressed = threading.Event()

    def press_ctrl_c(progress: flow.Progress) -> None:
        if progress.step >= 500 and not pressed.is_set():
            pressed.set()
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(flow.TrainingInterrupted, match="resume=True continues") as caught:
        _train(steps=3000, recording=Recording(every=500), checkpoint=tmp_path, progress=press_ctrl_c)
    assert caught.value.trajectory.status == "interrupted"
    assert 500 <= caught.value.trajectory.lanes[0].step < 3000
    resumed = _train(steps=3000, recording=Recording(every=500), checkpoint=tmp_path, resume=True)
    assert resumed.status == "finished"
    assert _same_bits(whole.models[0], resumed.models[0])
    assert whole.lanes[0].rows == resumed.lanes[0].rows


def test_a_checkpoint_of_another_run_is_refused(tmp_path) -> None:
    _train(checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match=r"belongs to another run: its optimizer is .*learning_rate"):
        _train(checkpoint=tmp_path, resume=True, optimizer=Optimizer(learning_rate=0.5))
    with pytest.raises(CheckpointError, match="another run: its initial weights"):
        flow.train(
            functools.partial(MAKE, scale=0.5), _split, steps=40, optimizer=ADAM, checkpoint=tmp_path, resume=True
        )
    with pytest.raises(CheckpointError, match="another run: its observables"):
        _train(checkpoint=tmp_path, resume=True, observables=(flow.standard, flow.norms))
    (path,) = tmp_path.iterdir()
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(CheckpointError, match="is not a checkpoint of this run: a whole safetensors file is required"):
        _train(checkpoint=tmp_path, resume=True)


def test_a_diverging_run_says_when_and_keeps_the_last_finite_weights() -> None:
    run = _train(optimizer=Optimizer(name="sgd", learning_rate=1e3), seeds=(0, 1), steps=60)
    assert run.status == "diverged"
    for lane in run.lanes:
        assert 0 < lane.step < 60
        assert "the loss was not finite at epoch" in lane.message
        split = _split(lane.seed)
        last_loss = flow.objective(flow.outputs(lane.model, split.train_inputs), split.train_targets, Loss())
        assert np.isfinite(last_loss)
        assert last_loss > lane.frame["train_loss"].iloc[0]
        assert np.isfinite(lane.frame["train_loss"]).all()


def test_a_diverging_lane_does_not_stop_the_others_under_vmap() -> None:
    split, model = _split(0), MAKE(jax.random.key(0))
    lanes = [flow.Lane(i, model, split, Optimizer(name="sgd", learning_rate=r)) for i, r in enumerate((1e3, 1e-2))]
    run = flow.train_lanes(lanes, loss=Loss(), steps=60, batching="vmap", progress="off")
    assert [lane.status for lane in run.lanes] == ["diverged", "finished"]
    assert run.lanes[1].step == 60


def test_stop_rules_end_each_lane_at_its_own_step() -> None:
    rule = Stop(observable="train_loss", at_most=0.3)
    run = _train(seeds=(0, 1, 2), stop=(rule,), steps=400, recording=Recording(every=1))
    for lane in run.lanes:
        losses = lane.frame["train_loss"].to_numpy()
        assert losses[-1] <= 0.3 < losses[:-1].min()
        assert lane.message == f"train_loss ≤ 0.3 at epoch {lane.step}"
    with pytest.raises(ValueError, match="stop rule on 'accuracy'"):
        _train(stop=(Stop(observable="accuracy", at_least=1.0),))


def test_a_stalled_run_stops_at_the_step_of_its_rule() -> None:
    rule = Stop(observable="test_loss", stalled=0.3, after=20)
    options = {"seeds": (0, 1), "steps": 400, "recording": Recording(every=10)}
    whole, run = _train(**options), _train(stop=(rule,), **options)
    for lane, full in zip(run.lanes, whole.lanes, strict=True):
        rows = list(full.rows)
        expected = next((row["step"] for i, row in enumerate(rows) if rule.met(rows[: i + 1])), 400)
        assert (lane.step, lane.rows) == (expected, tuple(rows[: len(lane.rows)]))
        assert expected < 400
        assert lane.message == f"test_loss stalled at epoch {lane.step}"


def test_observables_see_gradients_and_the_previous_step() -> None:
    def probe(ctx: flow.Context) -> dict:
        moved = ctx.model.W - ctx.previous.W
        return {"moved": (moved**2).sum(), "slope": (ctx.gradients.W**2).sum(), "W": ctx.model.W}

    run = _train(
        optimizer=Optimizer(name="sgd", learning_rate=0.1),
        observables=(flow.standard, probe, flow.norms),
        recording=Recording(every=1),
        steps=5,
        dtype="float64",
    )
    frame, lane = run.frame, run.lanes[0]
    assert frame["moved"][0] == 0
    np.testing.assert_allclose(frame["moved"][1:], 0.01 * frame["slope"][:-1], rtol=1e-9)
    assert lane.arrays["W"].shape == (6, 14, 24)
    np.testing.assert_allclose(np.linalg.norm(lane.arrays["W"], axis=(1, 2)), frame["norm.W"], rtol=1e-12)


def test_gram_training_follows_dense_training() -> None:
    full = TASK.split(fraction=1.0)
    kwargs = {"steps": 30, "optimizer": ADAM, "dtype": "float64", "progress": "off"}
    for projection in ("outputs", "samples"):
        loss = Loss(projection=projection)
        gram = flow.train(MAKE, full, method="gram", loss=loss, **kwargs)
        dense = flow.train(MAKE, full, method="dense", loss=loss, **kwargs)
        np.testing.assert_allclose(gram.models[0].W, dense.models[0].W, rtol=1e-7, atol=1e-10)
    with pytest.raises(ValueError, match="method='gram' needs the full table"):
        _train(method="gram")


def test_gram_training_in_single_precision_passes_its_own_cancellation_floor() -> None:
    wide = functools.partial(models.TwoLayer.init, inputs=14, width=64, outputs=7)
    fast = {"optimizer": Optimizer(learning_rate=1e-2), "recording": Recording(every=400), "progress": "off"}
    run = flow.train(wide, TASK.split(fraction=1.0), method="gram", steps=400, **fast)
    assert run.frame["train_loss"].iloc[-1] < 1e-10  # Gram sums alone stop near 1e-6


def test_mini_batches_visit_every_row_once_an_epoch_in_a_new_order() -> None:
    split, model = TASK.split(count=40, seed=0), MAKE(jax.random.key(0))
    optimizer = Optimizer(name="sgd", batch_size=8)
    lane = flow.Lane(0, model, split, optimizer)
    plan, data = _lanes.make_plan([lane], Loss(), (), "dense", False), _lanes.lane_data(lane, 10, "float32")
    batches = [np.asarray(_program._batch(plan, data, jnp.int32(s))[0].rows) for s in range(10)]
    rows = sorted(map(tuple, np.asarray(split.train_inputs.rows)))
    for epoch in (batches[:5], batches[5:]):
        assert sorted(map(tuple, np.concatenate(epoch))) == rows
    assert not np.array_equal(batches[0], batches[5])


def test_accuracy_does_not_depend_on_what_the_loss_cannot_see() -> None:
    """P₁⊥ leaves a constant per output free: the accuracy is that of the outputs with the training mean restored."""
    loss = Loss(projection="samples", reduction="sum", factor=0.5)
    run = flow.train(MAKE, _split, steps=40, optimizer=ADAM, loss=loss, dtype="float64", progress="off")
    split, model = _split(0), run.models[0]
    for half, inputs, targets in (
        ("train", split.train_inputs, split.train_targets),
        ("test", split.test_inputs, split.test_targets),
    ):
        outputs = np.asarray(inputs.dense(), float) @ np.asarray(model.W, float)
        train = np.asarray(split.train_inputs.dense(), float) @ np.asarray(model.W, float)
        o, of_train = (np.asarray(x**2 @ np.asarray(model.V, float)) for x in (outputs, train))
        right = np.argmax(o - of_train.mean(0) + np.eye(7)[np.asarray(split.train_targets)].mean(0), axis=1)
        assert run.frame[f"{half}_accuracy"].iloc[-1] == pytest.approx(np.mean(right == np.asarray(targets)))


def test_adam_depends_on_the_ratio_of_loss_decay_and_epsilon_only() -> None:
    """½ sum over n samples is n/2 times the mean: with n/2 times the decay and Adam's ε it has the same steps."""
    n, steps, half_sum = len(_split(0).train_inputs), 40, Loss(projection="samples", reduction="sum", factor=0.5)
    optimizer = ADAM.model_copy(update={"epsilon": 1e-2})  # the size of the gradients, so that ε matters

    def weights(loss: Loss, **changes: float) -> np.ndarray:
        changed = optimizer.model_copy(update=changes)
        run = flow.train(MAKE, _split, optimizer=changed, loss=loss, steps=steps, dtype="float64", progress="off")
        return np.asarray(run.models[0].W, float)

    W = weights(Loss(projection="samples"))
    scaled = {"weight_decay": n * optimizer.weight_decay / 2, "epsilon": n * optimizer.epsilon / 2}
    # A gradient adds n terms below 1, and a step rate·g/(√v + ε) passes on at most rate/ε of its rounding error.
    close = steps * optimizer.learning_rate / optimizer.epsilon * rounding(1.0, n)
    np.testing.assert_allclose(weights(half_sum, **scaled), W, rtol=0, atol=close)
    for name in scaled:  # each of the two alone moves the weights by far more
        others = {key: value for key, value in scaled.items() if key != name}
        assert np.abs(weights(half_sum, **others) - W).max() > 1e6 * close, name


def test_a_schedule_anneals_to_nothing() -> None:
    still = Schedule(shape="linear", final=0.0)
    run = _train(
        optimizer=Optimizer(name="sgd", learning_rate=0.1, schedule=still),
        observables=(flow.standard, flow.norms),
        recording=Recording(every=1),
    )
    moved = run.frame["step_norm.W"].to_numpy()[1:]
    assert moved[-1] < 0.2 * moved[0]


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="steps must be positive, got 0"):
        _train(steps=0)
    with pytest.raises(ValueError, match="at least one seed"):
        _train(seeds=())
    with pytest.raises(ValueError, match="seeds must differ"):
        _train(seeds=(1, 1))
    with pytest.raises(ValueError, match=r"snapshots must be recorded steps; \[3\]"):
        _train(snapshots=(3,))
    wrong = functools.partial(models.TwoLayer.init, inputs=10, width=8, outputs=7)
    with pytest.raises(ValueError, match="inputs of dimension 10, the task Z7 14"):
        flow.train(wrong, _split, steps=1)


def test_misspelled_options_and_misfits_are_refused() -> None:
    narrow = functools.partial(models.TwoLayer.init, inputs=14, width=8, outputs=5)
    with pytest.raises(ValueError, match="outputs of dimension 5, the task Z7 7"):
        flow.train(narrow, _split, steps=1)
    with pytest.raises(ValueError, match=r"method must be one of auto, dense, gram; got 'gramm'\. did you mean 'gram'"):
        _train_module._check_choice("method", "gramm", ("auto", "dense", "gram"))
    with pytest.raises(ValueError, match="at least one lane"):
        flow.train_lanes([], loss=Loss(), steps=1)
    other = MAKE(jax.random.key(0), activation="relu")
    lanes = [flow.Lane(i, m, _split(0), ADAM) for i, m in enumerate((MAKE(jax.random.key(0)), other))]
    with pytest.raises(ValueError, match="share one model structure"):
        flow.train_lanes(lanes, loss=Loss(), steps=1)


def test_lanes_of_one_seed_stay_apart() -> None:
    lanes = [flow.Lane(0, MAKE(jax.random.key(0)), _split(0), Optimizer(learning_rate=r)) for r in (1e-1, 1e-5)]
    run = flow.train_lanes(lanes, loss=Loss(), steps=40, progress="off")
    first = run.first("train_accuracy", 0.9)
    assert first[0] <= 40
    assert np.isnan(first[1])
    assert run.frame.groupby("lane").size().tolist() == [5, 5]


def test_trajectory_tells_its_story() -> None:
    run = _train(seeds=(0, 1))
    assert list(run.frame.columns[:3]) == ["lane", "seed", "step"]
    assert set(run.frame["seed"]) == {0, 1}
    assert "2 runs" in repr(run)
    assert "<table" in run._repr_html_()
    assert run.first("train_accuracy", 0.0).tolist() == [0, 0]
    with pytest.raises(ValueError, match="no observable 'acc'"):
        run.first("acc", 0.5)
