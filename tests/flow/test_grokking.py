"""The run everything is about: Z71 memorises, waits and generalises with weight decay, and never without."""

import jax
import pytest

from firstlight import flow, models, tasks
from firstlight.flow import Loss, Optimizer, Recording


@pytest.mark.slow
def test_z71_groks_with_weight_decay_and_not_without() -> None:
    split = tasks.group_task("Z71").split(fraction=0.4, seed=0)
    model = models.TwoLayer.init(jax.random.key(0), inputs=142, width=2048, outputs=71)
    lanes = [flow.Lane(i, model, split, Optimizer(weight_decay=wd)) for i, wd in enumerate((2e-4, 0.0))]
    run = flow.train_lanes(lanes, loss=Loss(), steps=200, recording=Recording(every=20), progress="off")
    memorised, generalised = run.first("train_accuracy", 0.999), run.first("test_accuracy", 0.99)
    assert memorised[0] <= 40
    assert 60 < generalised[0] <= 160
    without = run.lanes[1].frame
    assert without["train_accuracy"].iloc[-1] == 1.0
    assert without["test_accuracy"].max() < 0.1
